//! `latimer config`.

use std::path::Path;

use crate::program::Place;

#[test]
fn what_is_wrong_with_a_file_is_told_with_code_2() {
    let place = Place::new().file("latimer.toml", "[a2a]\nlisen_path = \"/x\"\n");
    for command in
        [&["config", "check"][..], &["config", "show"], &["serve"], &["serve", "--check"]]
    {
        let ran = place.run(command);
        assert_eq!(ran.code, Some(2), "{command:?}");
        let want = "error: latimer.toml:2: `a2a` has no key `lisen_path`\n  \
                    hint: did you mean `listen_path`?\n";
        assert_eq!((ran.errors.as_str(), ran.out.as_str()), (want, ""), "{command:?}");
    }
}

#[test]
fn every_problem_is_an_error_of_its_own() {
    let ran = Place::new().file("latimer.toml", "one = 1\ntwo = 2\n").run(&["config", "check"]);
    assert_eq!(ran.errors.matches("error: latimer.toml:").count(), 2, "{}", ran.errors);
}

#[test]
fn samples_of_the_founding_documents_check_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../daemon/tests/samples");
    let place = Place::new();
    for (name, warned) in [
        ("openfang-a2a.toml", false),
        ("cortex.json", true),
        ("mcp-several.toml", true),
        ("design.toml", true),
    ] {
        let path = folder.join(name);
        let ran = place.run(&["config", "check", "--config", path.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.errors);
        assert!(ran.out.ends_with(": ok\n"), "{name}: {}", ran.out);
        assert_eq!(ran.errors.starts_with("warning: "), warned, "{name}: {}", ran.errors);
    }
}

#[test]
fn what_cannot_be_served_is_a_warning_to_check_and_an_error_to_serve() {
    let text = "listen = \"0.0.0.0:0\"\n[[agents]]\nname = \"a\"\nkind = \"echo\"\n";
    let place = Place::new().file("latimer.toml", text);
    let checked = place.run(&["config", "check"]);
    assert_eq!(checked.code, Some(0));
    assert!(checked.errors.contains("`latimer serve` refuses this"), "{}", checked.errors);
    for command in [&["serve", "--check"][..], &["serve"]] {
        let ran = place.run(command);
        assert_eq!(ran.code, Some(2), "{command:?}");
        assert!(ran.errors.contains("api_key"), "{command:?}: {}", ran.errors);
    }
    let ran = place.variable("LATIMER__API_KEY", "sesame").run(&["serve", "--check"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "ok\n"));
}

#[test]
fn a_key_is_hashed_as_the_server_knows_it() {
    let place = Place::new();
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    for input in ["abc", "abc\n", "abc\r\n"] {
        let ran = place.run_with(&["config", "hash-key"], input.as_bytes());
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), &*format!("{digest}\n")), "{input:?}");
    }
    for input in [&b""[..], b"\n", b" abc", b"abc \n", b"\xff"] {
        let ran = place.run_with(&["config", "hash-key"], input);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{input:?}");
    }
}

#[test]
fn values_are_shown_with_where_they_come_from_and_without_secrets() {
    let place = Place::new()
        .file("latimer.toml", "api_key = \"sesame\"\n[store]\nkind = \"memory\"\n")
        .variable("LATIMER__SERVER__DRAIN", "3s");
    let ran = place.run(&["config", "show"]);
    assert_eq!((ran.code, ran.errors.as_str()), (Some(0), ""));
    for line in [
        "listen = \"127.0.0.1:50051\"  # default",
        "api_key = \"(hidden)\"  # latimer.toml:1",
        "store.kind = \"memory\"  # latimer.toml:3",
        "server.drain = \"3s\"  # environment LATIMER__SERVER__DRAIN",
    ] {
        assert!(ran.out.lines().any(|it| it == line), "{line}\n{}", ran.out);
    }
    assert!(!ran.out.contains("sesame"));
    let ran = place.run(&["config", "show", "--output", "json"]);
    let shown: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(shown[0]["key"], "listen");
    assert_eq!(shown[0]["source"], "default");
}

#[test]
fn without_a_file_the_defaults_hold() {
    let ran = Place::new().run(&["config", "check"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "no file: the defaults hold\n"));
}
