//! Cards are found where they are, kept while they are fresh, and believed only when they may be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use latimer_client::{Client, Error, Source, Trust, says};
use latimer_protocol::card::{
    AgentCard, AgentInterface, CardFormat, KeySet, ProtocolBinding, SigningKey,
};
use latimer_protocol::{SendMessageResponse, Version};
use serde_json::json;

use crate::support::{Answer, Stub, demo, loopback};

fn card(url: &str) -> serde_json::Value {
    let card = AgentCard {
        name: "found".into(),
        description: "An agent".into(),
        version: "1".into(),
        supported_interfaces: vec![AgentInterface::new(url, ProtocolBinding::JsonRpc)],
        ..AgentCard::default()
    };
    card.to_json(CardFormat::V1_0)
}

#[tokio::test]
async fn the_demo_is_found_and_called_by_its_card() {
    let server = demo().await;
    let root = format!("http://{}", server.address());
    for source in [root.clone(), format!("{root}/a2a"), format!("{root}/.well-known/agent.json")] {
        let client = Client::connect(source.as_str()).await.unwrap();
        assert_eq!(client.card().unwrap().name, "demo", "{source}");
        let sent = client.send(says("echo hello")).await.unwrap();
        assert!(matches!(sent, SendMessageResponse::Task(it) if it.text() == "hello"), "{source}");
    }
    let client = Client::connect(root.as_str()).await.unwrap();
    assert_eq!(client.choice().unwrap().version, Version::V1_0);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), client.card().unwrap().to_json(CardFormat::V1_0).to_string())
        .unwrap();
    let source = Source::File(file.path().to_owned());
    let from_file = Client::builder(source).rules(loopback()).connect().await.unwrap();
    assert_eq!(from_file.card().unwrap().name, "demo");
    from_file.send(says("echo hello")).await.unwrap();
}

#[tokio::test]
async fn both_well_known_places_are_looked_at_and_pages_passed_over() {
    for (place, other) in [
        ("/.well-known/agent-card.json", Answer::of as fn(_, &'static str, &'static str) -> _),
        ("/.well-known/agent.json", Answer::of),
    ] {
        for html in [true, false] {
            let stub = Stub::start(move |asked| match asked.path.as_str() {
                path if path == place => Answer::json(card("https://a.example/a2a")),
                _ if html => other(200, "text/html", "<html>A page for every address</html>"),
                _ => other(404, "text/plain", "nothing here"),
            })
            .await;
            let client = Client::connect(stub.url()).await.unwrap();
            assert_eq!(client.card().unwrap().name, "found", "{place} {html}");
            assert!(stub.asked().iter().all(|it| it.method == "GET"));
        }
    }
    let stub = Stub::start(|_| Answer::of(404, "text/plain", "")).await;
    let error = Client::connect(stub.url()).await.unwrap_err();
    assert!(matches!(error, Error::Card(_)), "{error}");
}

#[tokio::test]
async fn a_place_that_shows_no_card_does_not_hide_the_next() {
    for status in [400, 401, 403, 429, 500, 503] {
        let stub = Stub::start(move |asked| match asked.path.as_str() {
            "/.well-known/agent-card.json" => Answer::of(status, "text/plain", "no"),
            _ => Answer::json(card("https://a.example/a2a")),
        })
        .await;
        let client = Client::connect(stub.url()).await.unwrap();
        assert_eq!(client.card().unwrap().name, "found", "{status}");
    }
    // The first error is told, unless it says less than another.
    for (statuses, want) in [([403, 500], "403"), ([404, 403], "403"), ([403, 404], "403")] {
        let stub = Stub::start(move |asked| {
            let second = asked.path.ends_with("/agent.json");
            Answer::of(statuses[usize::from(second)], "text/plain", "no")
        })
        .await;
        let error = Client::connect(stub.url()).await.unwrap_err().to_string();
        assert!(error.contains(want), "{statuses:?}: {error}");
    }
}

#[tokio::test]
async fn an_agent_that_fails_for_a_moment_is_not_taken_for_the_one_above() {
    for (status, found) in [(503, false), (403, true), (404, true)] {
        let stub = Stub::start(move |asked| match asked.path.starts_with("/one/") {
            true => Answer::of(status, "text/plain", "no"),
            false => Answer::json(card("https://a.example/a2a")),
        })
        .await;
        let connected = Client::connect(format!("{}/one", stub.url())).await;
        assert_eq!(connected.is_ok(), found, "{status}");
        let doubt = connected.ok().and_then(|it| it.choice().unwrap().doubt);
        assert_eq!(doubt.is_some(), found, "{status}: it may be another one");
    }
}

#[tokio::test]
async fn a_card_is_kept_while_it_is_fresh_and_asked_about_after() {
    let (lasting, broken) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
    let fresh = Arc::new(AtomicUsize::new(0));
    let stub = {
        let (lasting, broken) = (Arc::clone(&lasting), Arc::clone(&broken));
        let fresh = Arc::clone(&fresh);
        Stub::start(move |asked| {
            if broken.load(Ordering::SeqCst) {
                return Answer::of(500, "text/plain", "broken");
            }
            let age = if lasting.load(Ordering::SeqCst) { "max-age=60" } else { "no-cache" };
            let headers = format!("etag: \"v1\"\r\ncache-control: {age}\r\n");
            if asked.header("if-none-match") == Some("\"v1\"") {
                fresh.fetch_add(1, Ordering::SeqCst);
                return Answer::with(304, &headers, "");
            }
            Answer::with(200, &headers, &card("https://a.example/a2a").to_string())
        })
        .await
    };
    let client = Client::connect(stub.url()).await.unwrap();
    let asked = || stub.asked().len();
    let first = asked();
    client.fetch_card().await.unwrap();
    assert_eq!(asked(), first, "it is fresh");

    client.forget_card();
    lasting.store(false, Ordering::SeqCst);
    client.fetch_card().await.unwrap();
    assert_eq!(asked(), first + 1, "it was forgotten");
    client.fetch_card().await.unwrap();
    assert_eq!(asked(), first + 2, "it must be asked about");
    assert!(fresh.load(Ordering::SeqCst) > 0, "and with its tag");

    broken.store(true, Ordering::SeqCst);
    client.fetch_card().await.unwrap_err();
    broken.store(false, Ordering::SeqCst);
    client.fetch_card().await.unwrap();
    let last = stub.asked().pop().unwrap();
    assert_eq!(last.header("if-none-match"), None, "what failed was not kept");
}

#[tokio::test]
async fn addresses_in_a_card_are_a_strangers() {
    let stub = Stub::start(|_| Answer::json(card("http://127.0.0.1:1/a2a"))).await;
    let error = Client::connect(stub.url()).await.unwrap_err();
    assert!(matches!(error, Error::NoInterface(_)), "{error}");
    assert!(error.to_string().contains("not allowed"), "{error}");
    Client::builder(stub.url()).rules(loopback()).connect().await.unwrap();
    let error = Client::connect("http://169.254.169.254/").await.unwrap_err();
    assert!(matches!(error, Error::Setup(_)), "{error}");
}

#[tokio::test]
async fn signatures_count_as_far_as_they_are_asked_for() {
    let pem = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let key = SigningKey::from_pem("ours", &pem).unwrap();
    let other = SigningKey::from_pem("ours", &other).unwrap();
    let keys =
        |key: &SigningKey| -> KeySet { [key.verifying_key().unwrap()].into_iter().collect() };
    let mut signed = AgentCard::from_json(&card("https://a.example/a2a")).unwrap();
    signed.sign(&key).unwrap();
    let signed = signed.to_json(CardFormat::V1_0);
    let mut forged = signed.clone();
    forged["name"] = json!("somebody else");
    let bare = card("https://a.example/a2a");
    for (what, card, trust, want) in [
        ("signed, ours", &signed, Trust::Signed(keys(&key)), true),
        ("signed, another's", &signed, Trust::Signed(keys(&other)), false),
        ("signed, another's, not looked at", &signed, Trust::Everybody, true),
        ("signed, another's, if signed", &signed, Trust::IfSigned(keys(&other)), false),
        ("forged", &forged, Trust::IfSigned(keys(&key)), false),
        ("bare", &bare, Trust::Signed(keys(&key)), false),
        ("bare, if signed", &bare, Trust::IfSigned(keys(&key)), true),
    ] {
        let card = card.clone();
        let stub = Stub::start(move |_| Answer::json(&card)).await;
        let client = Client::builder(stub.url()).trust(trust).connect().await;
        match client {
            Ok(client) => assert!(want && client.card().unwrap().name == "found", "{what}"),
            Err(error) => assert!(!want && matches!(error, Error::Signature(_)), "{what}: {error}"),
        }
    }
}
