//! Configurations that are wrong, with secrets in them: what is wrong is told without those.

use std::time::{Duration, Instant};
use std::{fs, thread};

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};

use super::planted::{Planted, Seen};
use super::scene::scalar;
use super::{ask, scene};
use crate::program::Place;

/// Files that cannot be used. `S` is the secret, and `P` a private key in PEM.
const BROKEN: &[(&str, &str)] = &[
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
fn what_is_wrong_with_a_configuration_is_told_without_its_secrets() {
    let (mut planted, mut seen) = (Planted::default(), Seen::default());
    let secret = planted.text("secret in a broken file");
    let key = KeyPair::generate().unwrap();
    planted.bytes("key in a broken file", scalar(&key));
    for (name, text) in BROKEN {
        let text = text.replace('S', &secret).replace('P', &key.serialize_pem());
        let place = Place::new().file(name, &text);
        for command in [&["config", "check"][..], &["config", "show"], &["serve"]] {
            let ran = place.run(&[command, &["--config", name]].concat());
            assert_eq!(ran.code, Some(2), "{text}: {ran:?}");
            assert!(ran.errors.starts_with("error: latimer."), "{text}: {ran:?}");
            seen.add(format!("{command:?} of {text:?}"), ran.out + &ran.errors);
        }
    }
    for variable in ["LATIMER__AUTH__KEYS", "LATIMER__APIKEY", "LATIMER__AUTH__JWT__LEEWAY__X"] {
        let ran = Place::new().variable(variable, &secret).run(&["config", "show"]);
        assert_eq!(ran.code, Some(2), "{variable}: {ran:?}");
        seen.add(variable, ran.errors);
    }
    let found = seen.find(&planted);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_key_that_cannot_be_used_is_not_shown() {
    let (mut planted, mut seen) = (Planted::default(), Seen::default());
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    planted.bytes("private key", scene::scalar(&signing_key));
    let config = "listen = \"127.0.0.1:0\"\napi_key = \"x\"\n[store]\nkind = \"memory\"\n\
                  [log]\nfilter = \"trace\"\n[[agents]]\nname = \"a\"\nkind = \"echo\"\n\
                  [signing]\nkey = \"signing.pem\"\n\
                  [tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n";
    let whole = signing_key.serialize_pem();
    let broken = whole.replace("PRIVATE KEY", "STRANGE KEY");
    let place = Place::new().file("latimer.toml", config).file("server.pem", &cert.pem());
    for (signing, server, works) in
        [(&whole, &whole, true), (&broken, &whole, false), (&whole, &broken, false)]
    {
        fs::write(place.path("signing.pem"), signing).unwrap();
        fs::write(place.path("server.key"), server).unwrap();
        for command in [&["config", "check"][..], &["config", "show"], &["serve", "--check"]] {
            let ran = place.run(command);
            seen.add(format!("{command:?}"), ran.out + &ran.errors);
        }
        if works {
            let server = place.serve_logging_to("server.log", &["serve"]);
            seen.add("plain text to TLS", ask::http(&server.address(), "GET /", "", ""));
            let log = || fs::read_to_string(place.path("server.log")).unwrap();
            let since = Instant::now();
            while !log().contains("handshake failed") {
                assert!(since.elapsed() < Duration::from_secs(20), "{}", log());
                thread::sleep(Duration::from_millis(10));
            }
            seen.add("log", log());
            assert!(server.greeting.contains("https://"), "{}", server.greeting);
        } else {
            let ran = place.run(&["serve"]);
            assert!(ran.code.is_some_and(|it| it != 0), "{ran:?}");
            seen.add("serve", ran.out + &ran.errors);
        }
    }
    let found = seen.find(&planted);
    assert!(found.is_empty(), "{}", found.join("\n"));
}
