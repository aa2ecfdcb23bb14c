//! `latimer card`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::program::Place;

const CARD: &str = r#"{
    "name": "planner", "description": "Plans", "version": "1.0.0",
    "supportedInterfaces": [
        {"url": "https://a.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
    "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
    "skills": []
}"#;

#[test]
fn what_is_signed_with_a_new_key_is_verified_with_its_public_half() {
    for algorithm in ["es256", "eddsa", "rs256"] {
        let place = Place::new().file("card.json", CARD);
        let made = place.run(&["card", "keygen", "--algorithm", algorithm, "--out", "signing.pem"]);
        assert_eq!((made.code, made.errors.as_str()), (Some(0), ""), "{algorithm}");
        let jwk: Value = serde_json::from_str(&made.out).unwrap();
        assert!(jwk.get("d").is_none() && jwk["alg"] != json!(null), "{jwk}");
        let mode = fs::metadata(place.path("signing.pem")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        let signed = place.run(&["card", "sign", "--key", "signing.pem", "card.json"]);
        assert_eq!((signed.code, signed.errors.as_str()), (Some(0), ""), "{algorithm}");
        let set = json!({"keys": [jwk]}).to_string();
        let place = place
            .file("signed.json", &signed.out)
            .file("key.jwk", &jwk.to_string())
            .file("jwks.json", &set);
        for key in ["key.jwk", "jwks.json", "signing.pem"] {
            let verified = place.run(&["card", "verify", "--key", key, "signed.json"]);
            assert_eq!(verified.code, Some(0), "{key}: {}", verified.errors);
            let kid = jwk["kid"].as_str().unwrap();
            assert!(verified.out.contains("Card: planner\n"), "{}", verified.out);
            assert!(verified.out.contains(&format!("kid={kid}\n")), "{}", verified.out);
            assert!(verified.out.ends_with("Result: verified\n"), "{}", verified.out);
        }
    }
}

#[test]
fn what_was_changed_or_signed_by_another_is_not_verified() {
    let place = Place::new().file("card.json", CARD);
    for name in ["one.pem", "other.pem"] {
        assert_eq!(place.run(&["card", "keygen", "--out", name]).code, Some(0));
    }
    let sign = |key: &str, card: &str| place.run(&["card", "sign", "--key", key, card]).out;
    let signed = sign("one.pem", "card.json");
    let write = |name: &str, text: &str| fs::write(place.path(name), text).unwrap();
    write("signed.json", &signed);
    write("forged.json", &signed.replace("a.example", "evil.example"));
    write("again.json", &sign("other.pem", "signed.json"));
    for (key, card, code, want) in [
        ("one.pem", "signed.json", 0, ""),
        ("one.pem", "forged.json", 1, "does not match the card"),
        ("other.pem", "signed.json", 1, "is not known"),
        ("one.pem", "card.json", 1, "the card is not signed"),
        ("other.pem", "again.json", 0, ""),
        ("one.pem", "again.json", 1, "is not known"),
        ("card.json", "signed.json", 2, "card.json: the key is malformed"),
        ("one.pem", "one.pem", 2, "one.pem: it is no JSON"),
        ("nothing.pem", "signed.json", 2, "cannot read nothing.pem"),
    ] {
        let ran = place.run(&["card", "verify", "--key", key, card]);
        assert_eq!(ran.code, Some(code), "{key} {card}: {}", ran.errors);
        assert!(ran.errors.contains(want), "{key} {card}: {}", ran.errors);
        assert_eq!(ran.out.contains("verified"), code == 0, "{key} {card}: {}", ran.out);
    }
}

#[test]
fn a_card_can_come_through_standard_input_and_say_where_its_key_is() {
    let place = Place::new();
    assert_eq!(place.run(&["card", "keygen", "--out", "signing.pem"]).code, Some(0));
    let jku = "https://a.example/.well-known/jwks.json";
    let sign = ["card", "sign", "--key", "signing.pem", "--jku", jku, "-"];
    let signed = place.run_with(&sign, CARD.as_bytes());
    assert_eq!(signed.code, Some(0), "{}", signed.errors);
    let card: latimer_protocol::card::AgentCard = serde_json::from_str(&signed.out).unwrap();
    let header = card.signatures[0].protected_header().unwrap();
    assert_eq!(header.jku.as_deref(), Some(jku));
    let verified =
        place.run_with(&["card", "verify", "--key", "signing.pem", "-"], signed.out.as_bytes());
    assert_eq!(verified.code, Some(0), "{}", verified.errors);
}

#[test]
fn a_key_that_exists_is_not_overwritten() {
    let place = Place::new().file("signing.pem", "precious");
    let ran = place.run(&["card", "keygen", "--out", "signing.pem"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.errors.contains("hint: name another file"), "{}", ran.errors);
    assert_eq!(fs::read_to_string(place.path("signing.pem")).unwrap(), "precious");
}

#[test]
fn without_a_file_the_key_is_printed_and_its_public_half_beside() {
    let ran = Place::new().run(&["card", "keygen"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.starts_with("-----BEGIN PRIVATE KEY-----\n"), "{}", ran.out);
    let jwk: Value = serde_json::from_str(&ran.errors).unwrap();
    assert!(jwk.get("d").is_none(), "{jwk}");
}

#[test]
fn a_server_serves_its_cards_signed() {
    let config = "[[agents]]\nname = \"echo\"\nkind = \"echo\"\n\
                  [store]\nkind = \"memory\"\n[signing]\nkey = \"signing.pem\"\n";
    let place = Place::new().file("latimer.toml", config);
    let missing = place.run(&["serve", "--check"]);
    assert_eq!(missing.code, Some(2), "{}", missing.errors);
    assert!(missing.errors.contains("latimer card keygen"), "{}", missing.errors);
    assert_eq!(place.run(&["card", "keygen", "--out", "signing.pem"]).code, Some(0));
    let server = place.serve(&["serve", "--listen", "127.0.0.1:0"]);
    let body = |path| server.fetch(path);
    fs::write(place.path("card.json"), body("/.well-known/agent-card.json")).unwrap();
    fs::write(place.path("jwks.json"), body("/.well-known/jwks.json")).unwrap();
    let verified = place.run(&["card", "verify", "--key", "jwks.json", "card.json"]);
    assert_eq!(verified.code, Some(0), "{}", verified.errors);
}
