//! `latimer card`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::program::TestDir;

const CARD: &str = r#"{
    "name": "planner", "description": "Plans", "version": "1.0.0",
    "supportedInterfaces": [
        {"url": "https://a.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
    "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
    "skills": []
}"#;

#[test]
fn signed_card_verifies_with_the_public_key() {
    for algorithm in ["es256", "eddsa", "rs256"] {
        let dir = TestDir::new().with_file("card.json", CARD);
        let generated =
            dir.run(&["card", "keygen", "--algorithm", algorithm, "--out", "signing.pem"]);
        assert_eq!((generated.code, generated.stderr.as_str()), (Some(0), ""), "{algorithm}");
        let jwk: Value = serde_json::from_str(&generated.stdout).unwrap();
        assert!(jwk.get("d").is_none() && jwk["alg"] != json!(null), "{jwk}");
        let mode = fs::metadata(dir.path("signing.pem")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        let signed = dir.run(&["card", "sign", "--key", "signing.pem", "card.json"]);
        assert_eq!((signed.code, signed.stderr.as_str()), (Some(0), ""), "{algorithm}");
        let set = json!({"keys": [jwk]}).to_string();
        let dir = dir
            .with_file("signed.json", &signed.stdout)
            .with_file("key.jwk", &jwk.to_string())
            .with_file("jwks.json", &set);
        for key in ["key.jwk", "jwks.json", "signing.pem"] {
            let verified = dir.run(&["card", "verify", "--key", key, "signed.json"]);
            assert_eq!(verified.code, Some(0), "{key}: {}", verified.stderr);
            let kid = jwk["kid"].as_str().unwrap();
            assert!(verified.stdout.contains("Card: planner\n"), "{}", verified.stdout);
            assert!(verified.stdout.contains(&format!("kid={kid}\n")), "{}", verified.stdout);
            assert!(verified.stdout.ends_with("Result: verified\n"), "{}", verified.stdout);
        }
    }
}

#[test]
fn changed_or_foreign_signatures_do_not_verify() {
    let dir = TestDir::new().with_file("card.json", CARD);
    for name in ["one.pem", "other.pem"] {
        assert_eq!(dir.run(&["card", "keygen", "--out", name]).code, Some(0));
    }
    let sign = |key: &str, card: &str| dir.run(&["card", "sign", "--key", key, card]).stdout;
    let signed = sign("one.pem", "card.json");
    let write = |name: &str, text: &str| fs::write(dir.path(name), text).unwrap();
    write("signed.json", &signed);
    write("forged.json", &signed.replace("a.example", "evil.example"));
    write("again.json", &sign("other.pem", "signed.json"));
    for (key, card, code, want) in [
        ("one.pem", "signed.json", 0, ""),
        ("one.pem", "forged.json", 1, "does not match the card"),
        ("other.pem", "signed.json", 1, "is unknown"),
        ("one.pem", "card.json", 1, "the card is not signed"),
        ("other.pem", "again.json", 0, ""),
        ("one.pem", "again.json", 1, "is unknown"),
        ("card.json", "signed.json", 2, "card.json: the key is malformed"),
        ("one.pem", "one.pem", 2, "one.pem: invalid JSON"),
        ("missing.pem", "signed.json", 2, "cannot read missing.pem"),
    ] {
        let output = dir.run(&["card", "verify", "--key", key, card]);
        assert_eq!(output.code, Some(code), "{key} {card}: {}", output.stderr);
        assert!(output.stderr.contains(want), "{key} {card}: {}", output.stderr);
        assert_eq!(
            output.stdout.contains("verified"),
            code == 0,
            "{key} {card}: {}",
            output.stdout
        );
    }
}

#[test]
fn card_sign_reads_stdin_and_sets_jku() {
    let dir = TestDir::new();
    assert_eq!(dir.run(&["card", "keygen", "--out", "signing.pem"]).code, Some(0));
    let jku = "https://a.example/.well-known/jwks.json";
    let sign = ["card", "sign", "--key", "signing.pem", "--jku", jku, "-"];
    let signed = dir.run_with_stdin(&sign, CARD.as_bytes());
    assert_eq!(signed.code, Some(0), "{}", signed.stderr);
    let card: latimer_protocol::card::AgentCard = serde_json::from_str(&signed.stdout).unwrap();
    let header = card.signatures[0].protected_header().unwrap();
    assert_eq!(header.jku.as_deref(), Some(jku));
    let verified = dir
        .run_with_stdin(&["card", "verify", "--key", "signing.pem", "-"], signed.stdout.as_bytes());
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
}

#[test]
fn keygen_does_not_overwrite_a_file() {
    let dir = TestDir::new().with_file("signing.pem", "precious");
    let output = dir.run(&["card", "keygen", "--out", "signing.pem"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""));
    assert!(output.stderr.contains("hint: choose another file"), "{}", output.stderr);
    assert_eq!(fs::read_to_string(dir.path("signing.pem")).unwrap(), "precious");
}

#[test]
fn keygen_without_file_prints_both_keys() {
    let output = TestDir::new().run(&["card", "keygen"]);
    assert_eq!(output.code, Some(0));
    assert!(output.stdout.starts_with("-----BEGIN PRIVATE KEY-----\n"), "{}", output.stdout);
    let jwk: Value = serde_json::from_str(&output.stderr).unwrap();
    assert!(jwk.get("d").is_none(), "{jwk}");
}

#[test]
fn server_signs_its_cards() {
    let config = "[[agents]]\nname = \"echo\"\nkind = \"echo\"\n\
                  [store]\nkind = \"memory\"\n[signing]\nkey = \"signing.pem\"\n";
    let dir = TestDir::new().with_file("latimer.toml", config);
    let missing = dir.run(&["serve", "--check"]);
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
    assert!(missing.stderr.contains("latimer card keygen"), "{}", missing.stderr);
    assert_eq!(dir.run(&["card", "keygen", "--out", "signing.pem"]).code, Some(0));
    let server = dir.serve(&["serve", "--listen", "127.0.0.1:0"]);
    let body = |path| server.fetch(path);
    fs::write(dir.path("card.json"), body("/.well-known/agent-card.json")).unwrap();
    fs::write(dir.path("jwks.json"), body("/.well-known/jwks.json")).unwrap();
    let verified = dir.run(&["card", "verify", "--key", "jwks.json", "card.json"]);
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
}
