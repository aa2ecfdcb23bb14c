//! Daemons that run, and what is at their addresses.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use latimer_daemon::{Daemon, StartError};
use latimer_protocol::card::{JwsAlgorithm, KeySet, VerifyPolicy, verify};
use serde_json::Value;

use crate::surroundings::Place;

/// A place whose daemon listens at any free port and forgets its tasks.
pub(crate) fn place(text: &str) -> Place {
    let place = Place::with(text).flag("--listen", "listen", "127.0.0.1:0");
    place.variable("LATIMER__STORE__KIND", "memory")
}

pub(crate) async fn start(place: &Place) -> Daemon {
    Daemon::start(&place.load().unwrap().config).await.unwrap()
}

/// The status and the body of an answer.
pub(crate) async fn ask(address: SocketAddr, head: &str, body: &str) -> (u16, String) {
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    send(address, request).await
}

pub(crate) async fn send(address: SocketAddr, request: String) -> (u16, String) {
    let answer = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    let answer = answer.await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

pub(crate) const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}}}"#;

pub(crate) const ECHO: &str = "[[agents]]\nname = \"echo\"\nkind = \"echo\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn agents_answer_at_their_addresses() {
    let text = format!(
        "{ECHO}[[agents]]\nname = \"shout\"\nkind = \"command\"\ncommand = [\"tr\", \"a-z\", \"A-Z\"]\n"
    );
    let daemon = start(&place(&text)).await;
    for (path, want) in
        [("/a2a", "hello"), ("/a2a/agents/echo", "hello"), ("/a2a/agents/shout", "HELLO")]
    {
        let (status, body) = ask(daemon.address(), &format!("POST {path}"), HELLO).await;
        assert_eq!(status, 200, "{path}");
        assert!(body.contains(&format!(r#"{{"text":"{want}"}}"#)), "{path}: {body}");
    }
    let (status, body) = ask(daemon.address(), "GET /a2a/agents", "").await;
    assert!(status == 200 && body.contains("shout"), "{body}");
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_streams_unless_it_is_said_not_to() {
    let quiet = "[[agents]]\nname = \"quiet\"\nkind = \"echo\"\nstreaming = false\n";
    let daemon = start(&place(&format!("{ECHO}{quiet}"))).await;
    for (name, want) in [("quiet", "-32004"), ("echo", "TASK_STATE_COMPLETED")] {
        let hello = HELLO.replace("SendMessage", "SendStreamingMessage");
        let (_, body) = ask(daemon.address(), &format!("POST /a2a/agents/{name}"), &hello).await;
        assert!(body.contains(want), "{name}: {body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_of_a2a_answer_by_whether_it_is_served() {
    for (text, calls, health) in [
        ("[log]\nfilter = \"warn\"", 404, 200),
        ("[a2a]\nenabled = false\n[[agents]]\nname = \"echo\"\nkind = \"echo\"", 503, 200),
        (ECHO, 200, 200),
    ] {
        let daemon = start(&place(text)).await;
        for path in ["/a2a", "/", "/v1/rpc"] {
            let (status, body) = ask(daemon.address(), &format!("POST {path}"), HELLO).await;
            assert_eq!(status, calls, "{text}: {path}: {body}");
        }
        let (status, _) = ask(daemon.address(), "GET /health", "").await;
        assert_eq!(status, health, "{text}");
        let (status, _) = ask(daemon.address(), "GET /.well-known/agent-card.json", "").await;
        assert_eq!(status == 404, calls == 404, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_asked_for_everywhere_but_at_cards_and_health() {
    let daemon = start(&place(&format!("api_key = \"sesame\"\n{ECHO}"))).await;
    let address = daemon.address();
    let (status, _) = ask(address, "POST /a2a", HELLO).await;
    assert_eq!(status, 401);
    for (key, want) in [("sesame", 200), ("sesam", 401)] {
        let length = HELLO.len();
        let request = format!(
            "POST /a2a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{HELLO}"
        );
        assert_eq!(send(address, request).await.0, want, "{key}");
    }
    for path in ["/.well-known/agent-card.json", "/.well-known/agent.json", "/health", "/ready"] {
        assert_eq!(ask(address, &format!("GET {path}"), "").await.0, 200, "{path}");
    }
    let (_, card) = ask(address, "GET /.well-known/agent-card.json", "").await;
    assert!(card.contains("securitySchemes"), "{card}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_agents_there_is_a_card_that_says_so() {
    let daemon = start(&place("[a2a]\nenabled = true")).await;
    let (status, body) = ask(daemon.address(), "GET /.well-known/agent.json", "").await;
    assert!(status == 200 && body.contains("\"skills\":[]"), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_is_moved_is_really_moved() {
    let daemon = start(&place(&format!("[a2a]\nlisten_path = \"/agents/api\"\n{ECHO}"))).await;
    for (path, want) in [("/agents/api", 200), ("/a2a", 404)] {
        assert_eq!(ask(daemon.address(), &format!("POST {path}"), HELLO).await.0, want, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_this_machine_is_listened_to_unless_somebody_says_so() {
    let agents = |rest: &str| Place::with(&format!("{rest}\n{ECHO}"));
    let everywhere = |place: Place| {
        let place = place.flag("--listen", "listen", "0.0.0.0:0");
        place.variable("LATIMER__STORE__KIND", "memory")
    };
    for (text, want) in [
        ("", false),
        ("api_key = \"\"", false),
        ("api_key = \"sesame\"", true),
        ("dangerously_allow_unauthenticated_remote = true", true),
    ] {
        let place = everywhere(agents(text));
        let started = Daemon::start(&place.load().unwrap().config).await;
        assert_eq!(started.is_ok(), want, "{text}");
    }
    let place = agents("").flag("--listen", "listen", "localhost:0");
    let place = place.variable("LATIMER__STORE__KIND", "memory");
    assert!(Daemon::start(&place.load().unwrap().config).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_somebody_has_open_names_who() {
    let place = Place::with(ECHO).flag("--listen", "listen", "127.0.0.1:0");
    let config = place.load().unwrap().config;
    let first = Daemon::start(&config).await.unwrap();
    let error = Daemon::start(&config).await.expect_err("in use");
    let pid = std::process::id();
    assert!(matches!(error, StartError::Store(_)) && !error.is_configuration());
    assert!(error.to_string().contains(&format!("process {pid}")), "{error}");
    first.shutdown().await;
    Daemon::start(&config).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn cards_are_signed_and_all_keys_published() {
    let text = format!("{ECHO}[signing]\nkey = \"new.pem\"\npublish = [\"keys/former.pem\"]\n");
    let place = place(&text);
    let folder = place.folder.path();
    std::fs::create_dir(folder.join("keys")).unwrap();
    for name in ["new.pem", "keys/former.pem"] {
        let key = latimer_server::generate_key(JwsAlgorithm::EdDsa).unwrap();
        std::fs::write(folder.join(name), key.reveal()).unwrap();
    }
    let daemon = start(&place).await;
    let (_, keys) = ask(daemon.address(), "GET /.well-known/jwks.json", "").await;
    let keys: Value = serde_json::from_str(&keys).unwrap();
    assert_eq!(keys["keys"].as_array().unwrap().len(), 2);
    let address = daemon.address();
    let request = format!(
        "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    );
    let card: Value = serde_json::from_str(&send(address, request).await.1).unwrap();
    let keys = KeySet::from_jwks(&keys).unwrap();
    assert!(verify(&card, &keys, &VerifyPolicy::default()).is_ok(), "{card}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_cannot_be_used_are_told_before_anything_starts() {
    for (text, want) in [
        ("[signing]\nkey = \"nothing.pem\"\n", "cannot read the key"),
        ("[signing]\nkey = \"latimer.toml\"\n", "the key is malformed"),
    ] {
        let place = place(&format!("{ECHO}{text}"));
        let config = place.load().unwrap().config;
        for error in [
            latimer_daemon::check(&config).await.unwrap_err(),
            Daemon::start(&config).await.unwrap_err(),
        ] {
            assert!(error.to_string().contains(want), "{error}");
            assert!(error.is_configuration());
        }
    }
    let alone = place(&format!("{ECHO}[signing]\npublish = [\"former.pem\"]\n"));
    let error = alone.load().unwrap_err().to_string();
    assert!(error.contains("`signing.publish` means nothing"), "{error}");
}
