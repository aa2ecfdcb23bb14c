//! Errors in configurations that contain secrets do not print the secrets.

use std::time::{Duration, Instant};
use std::{fs, thread};

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};

use super::fixture::private_scalar;
use super::planted_secrets::{PlantedSecrets, VisibleOutput};
use super::{fixture, requests};
use crate::program::TestDir;

/// Files that cannot be used. `S` is the secret, and `P` a private key in PEM.
const INVALID_CONFIGS: &[(&str, &str)] = &[
    ("latimer.toml", "api_key = S"),
    ("latimer.toml", "api_key = \"S"),
    ("latimer.toml", "api_key = \"S\\q\""),
    ("latimer.toml", "api_key = \"S\"\napi_key = \"S\""),
    ("latimer.toml", "api_key = [\"S\"]"),
    ("latimer.toml", "api_key = { value = \"S\" }"),
    ("latimer.toml", "apikey = \"S\""),
    ("latimer.toml", "[auth]\nkeys = [\"S\"]"),
    ("latimer.toml", "[auth]\nkeys = \"S\""),
    ("latimer.toml", "[[auth.keys]]\nname = \"a\"\nsha256 = \"S\""),
    ("latimer.toml", "[[auth.keys]]\nname = \"a\"\nkey = \"S\""),
    ("latimer.toml", "[auth.jwt]\nissuer = \"http://login.example/?key=S\"\naudience = [\"a\"]"),
    ("latimer.toml", "[auth.jwt]\nissuer = \"ftp://me:S@login.example\"\naudience = [\"a\"]"),
    ("latimer.toml", "public_url = \"https://me:S@agents.example\""),
    ("latimer.toml", "public_url = \"me:S@agents.example\""),
    ("latimer.toml", "[[a2a.external_agents]]\nname = \"a\"\nurl = \"https://me:S@a.example\""),
    ("latimer.toml", "[[a2a.external_agents]]\nname = \"a\"\nurl = \"a\"\nauth_token = [\"S\"]"),
    ("latimer.toml", "[[a2a.external_agents]]\nname = \"a\"\nurl = \"a\"\nheaders = \"S\""),
    (
        "latimer.toml",
        "[[a2a.external_agents]]\nname = \"a\"\nurl = \"a\"\nheaders = { A = [\"S\"] }",
    ),
    ("latimer.toml", "[a2a.remote_agents]\na = \"S\""),
    ("latimer.toml", "[signing]\nkey = '''P'''"),
    ("latimer.toml", "[signing]\nkey = '{\"d\": \"S\"}'"),
    ("latimer.toml", "[tls]\ncertificate = \"a.pem\"\nkey = '''P'''"),
    ("latimer.json", "{\"api_key\": \"S\""),
    ("latimer.json", "{\"api_key\": S}"),
    ("latimer.json", "{\"apiKey\": {\"value\": \"S\"}}"),
];

#[test]
fn config_errors_do_not_contain_secrets() {
    let (mut planted, mut visible) = (PlantedSecrets::default(), VisibleOutput::default());
    let secret = planted.add_text("secret in a broken file");
    let key = KeyPair::generate().unwrap();
    planted.add_bytes("key in a broken file", private_scalar(&key));
    for (name, text) in INVALID_CONFIGS {
        let text = text.replace('S', &secret).replace('P', &key.serialize_pem());
        let dir = TestDir::new().with_file(name, &text);
        for command in [&["config", "check"][..], &["config", "show"], &["serve"]] {
            let output = dir.run(&[command, &["--config", name]].concat());
            assert_eq!(output.code, Some(2), "{text}: {output:?}");
            assert!(output.stderr.starts_with("error: latimer."), "{text}: {output:?}");
            visible.add(format!("{command:?} of {text:?}"), output.stdout + &output.stderr);
        }
    }
    for variable in ["LATIMER__AUTH__KEYS", "LATIMER__APIKEY", "LATIMER__AUTH__JWT__LEEWAY__X"] {
        let output = TestDir::new().with_env_var(variable, &secret).run(&["config", "show"]);
        assert_eq!(output.code, Some(2), "{variable}: {output:?}");
        visible.add(variable, output.stderr);
    }
    let leaks = visible.find_leaks(&planted);
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
}

#[test]
fn unusable_keys_are_not_printed() {
    let (mut planted, mut visible) = (PlantedSecrets::default(), VisibleOutput::default());
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    planted.add_bytes("private key", fixture::private_scalar(&signing_key));
    let config = "listen = \"127.0.0.1:0\"\napi_key = \"x\"\n[store]\nkind = \"memory\"\n\
                  [log]\nfilter = \"trace\"\n[[agents]]\nname = \"a\"\nkind = \"echo\"\n\
                  [signing]\nkey = \"signing.pem\"\n\
                  [tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n";
    let valid_key = signing_key.serialize_pem();
    let unusable_key = valid_key.replace("PRIVATE KEY", "STRANGE KEY");
    let dir = TestDir::new().with_file("latimer.toml", config).with_file("server.pem", &cert.pem());
    for (signing, server, is_valid) in [
        (&valid_key, &valid_key, true),
        (&unusable_key, &valid_key, false),
        (&valid_key, &unusable_key, false),
    ] {
        fs::write(dir.path("signing.pem"), signing).unwrap();
        fs::write(dir.path("server.key"), server).unwrap();
        for command in [&["config", "check"][..], &["config", "show"], &["serve", "--check"]] {
            let output = dir.run(command);
            visible.add(format!("{command:?}"), output.stdout + &output.stderr);
        }
        if is_valid {
            let server = dir.serve_logging_to("server.log", &["serve"]);
            visible.add(
                "plain text to TLS",
                requests::http_request(&server.address(), "GET /", "", ""),
            );
            let log = || fs::read_to_string(dir.path("server.log")).unwrap();
            let started = Instant::now();
            while !log().contains("handshake failed") {
                assert!(started.elapsed() < Duration::from_secs(20), "{}", log());
                thread::sleep(Duration::from_millis(10));
            }
            visible.add("log", log());
            assert!(server.startup_output.contains("https://"), "{}", server.startup_output);
        } else {
            let output = dir.run(&["serve"]);
            assert!(output.code.is_some_and(|it| it != 0), "{output:?}");
            visible.add("serve", output.stdout + &output.stderr);
        }
    }
    let leaks = visible.find_leaks(&planted);
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
}
