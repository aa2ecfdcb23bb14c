//! `latimer config`.

use std::path::Path;

use crate::program::TestDir;

#[test]
fn invalid_config_exits_with_code_2() {
    let dir = TestDir::new().with_file("latimer.toml", "[a2a]\nlisen_path = \"/x\"\n");
    for command in
        [&["config", "check"][..], &["config", "show"], &["serve"], &["serve", "--check"]]
    {
        let output = dir.run(command);
        assert_eq!(output.code, Some(2), "{command:?}");
        let want = "error: latimer.toml:2: unknown key `lisen_path` in `a2a`\n  \
                    hint: did you mean `listen_path`?\n";
        assert_eq!((output.stderr.as_str(), output.stdout.as_str()), (want, ""), "{command:?}");
    }
}

#[test]
fn each_config_error_is_printed_separately() {
    let output =
        TestDir::new().with_file("latimer.toml", "one = 1\ntwo = 2\n").run(&["config", "check"]);
    assert_eq!(output.stderr.matches("error: latimer.toml:").count(), 2, "{}", output.stderr);
}

#[test]
fn design_document_samples_pass_config_check() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../daemon/tests/samples");
    let dir = TestDir::new();
    for (name, warned) in [
        ("openfang-a2a.toml", false),
        ("cortex.json", true),
        ("mcp-several.toml", true),
        ("design.toml", true),
    ] {
        let path = samples.join(name);
        let output = dir.run(&["config", "check", "--config", path.to_str().unwrap()]);
        assert_eq!(output.code, Some(0), "{name}: {}", output.stderr);
        assert!(output.stdout.ends_with(": ok\n"), "{name}: {}", output.stdout);
        assert_eq!(output.stderr.starts_with("warning: "), warned, "{name}: {}", output.stderr);
    }
}

#[test]
fn unservable_config_warns_in_check_and_fails_to_serve() {
    let text = "listen = \"0.0.0.0:0\"\n[[agents]]\nname = \"a\"\nkind = \"echo\"\n";
    let dir = TestDir::new().with_file("latimer.toml", text);
    let checked = dir.run(&["config", "check"]);
    assert_eq!(checked.code, Some(0));
    assert!(
        checked.stderr.contains("`latimer serve` rejects this configuration"),
        "{}",
        checked.stderr
    );
    for command in [&["serve", "--check"][..], &["serve"]] {
        let output = dir.run(command);
        assert_eq!(output.code, Some(2), "{command:?}");
        assert!(output.stderr.contains("api_key"), "{command:?}: {}", output.stderr);
    }
    let output = dir.with_env_var("LATIMER__API_KEY", "sesame").run(&["serve", "--check"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "ok\n"));
}

#[test]
fn hash_key_prints_the_sha256_digest() {
    let dir = TestDir::new();
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    for input in ["abc", "abc\n", "abc\r\n"] {
        let output = dir.run_with_stdin(&["config", "hash-key"], input.as_bytes());
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (Some(0), &*format!("{digest}\n")),
            "{input:?}"
        );
    }
    for (input, want) in [
        (&b""[..], "the key is empty"),
        (b"\n", "the key is empty"),
        (b" abc", "hint: remove the surrounding spaces"),
        (b"abc \n", "hint: remove the surrounding spaces"),
        (b"\xff", "cannot read the key"),
    ] {
        let output = dir.run_with_stdin(&["config", "hash-key"], input);
        assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""), "{input:?}");
        assert!(output.stderr.contains(want), "{input:?}: {}", output.stderr);
    }
}

#[test]
fn config_show_prints_sources_and_hides_secrets() {
    let dir = TestDir::new()
        .with_file("latimer.toml", "api_key = \"sesame\"\n[store]\nkind = \"memory\"\n")
        .with_env_var("LATIMER__SERVER__DRAIN", "3s");
    let output = dir.run(&["config", "show"]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    for line in [
        "listen = \"127.0.0.1:50051\"  # default",
        "api_key = \"(hidden)\"  # latimer.toml:1",
        "store.kind = \"memory\"  # latimer.toml:3",
        "server.drain = \"3s\"  # environment LATIMER__SERVER__DRAIN",
    ] {
        assert!(output.stdout.lines().any(|it| it == line), "{line}\n{}", output.stdout);
    }
    assert!(!output.stdout.contains("sesame"));
    let output = dir.run(&["config", "show", "--output", "json"]);
    let settings: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(settings[0]["key"], "listen");
    assert_eq!(settings[0]["source"], "default");
}

#[test]
fn config_check_without_file_uses_defaults() {
    let output = TestDir::new().run(&["config", "check"]);
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(0), "no configuration file: defaults are used\n")
    );
}
