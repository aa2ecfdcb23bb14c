//! Discovery, caching and verification of cards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use latimer_client::{CardSource, CardTrust, Client, Error, user_message};
use latimer_protocol::card::{
    AgentCard, AgentInterface, CardFormat, KeySet, ProtocolBinding, SigningKey,
};
use latimer_protocol::{SendMessageResponse, Version};
use serde_json::json;

use crate::support::{Stub, StubResponse, allow_loopback, demo};

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
async fn agent_is_discovered_and_called_by_its_card() {
    let server = demo().await;
    let root = format!("http://{}", server.address());
    for source in [root.clone(), format!("{root}/a2a"), format!("{root}/.well-known/agent.json")] {
        let client = Client::connect(source.as_str()).await.unwrap();
        assert_eq!(client.card().unwrap().name, "demo", "{source}");
        let response = client.send(user_message("echo hello")).await.unwrap();
        assert!(
            matches!(response, SendMessageResponse::Task(it) if it.text() == "hello"),
            "{source}"
        );
    }
    let client = Client::connect(root.as_str()).await.unwrap();
    assert_eq!(client.interface().unwrap().version, Version::V1_0);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), client.card().unwrap().to_json(CardFormat::V1_0).to_string())
        .unwrap();
    let source = CardSource::File(file.path().to_owned());
    let from_file = Client::builder(source).guard_rules(allow_loopback()).connect().await.unwrap();
    assert_eq!(from_file.card().unwrap().name, "demo");
    from_file.send(user_message("echo hello")).await.unwrap();
}

#[tokio::test]
async fn both_well_known_paths_are_tried_and_html_is_skipped() {
    for (card_path, response) in [
        (
            "/.well-known/agent-card.json",
            StubResponse::new as fn(_, &'static str, &'static str) -> _,
        ),
        ("/.well-known/agent.json", StubResponse::new),
    ] {
        for html in [true, false] {
            let stub = Stub::start(move |request| match request.path.as_str() {
                path if path == card_path => StubResponse::json(card("https://a.example/a2a")),
                _ if html => response(200, "text/html", "<html>A page for every URL</html>"),
                _ => response(404, "text/plain", "nothing here"),
            })
            .await;
            let client = Client::connect(stub.url()).await.unwrap();
            assert_eq!(client.card().unwrap().name, "found", "{card_path} {html}");
            assert!(stub.requests().iter().all(|it| it.method == "GET"));
        }
    }
    let stub = Stub::start(|_| StubResponse::new(404, "text/plain", "")).await;
    let error = Client::connect(stub.url()).await.unwrap_err();
    assert!(matches!(error, Error::NoCard(_)), "{error}");
}

#[tokio::test]
async fn failing_card_path_does_not_hide_the_next() {
    for status in [400, 401, 403, 429, 500, 503] {
        let stub = Stub::start(move |request| match request.path.as_str() {
            "/.well-known/agent-card.json" => StubResponse::new(status, "text/plain", "no"),
            _ => StubResponse::json(card("https://a.example/a2a")),
        })
        .await;
        let client = Client::connect(stub.url()).await.unwrap();
        assert_eq!(client.card().unwrap().name, "found", "{status}");
    }
    // The first error is reported, unless a later one is more specific.
    for (statuses, want) in [([403, 500], "403"), ([404, 403], "403"), ([403, 404], "403")] {
        let stub = Stub::start(move |request| {
            let is_second = request.path.ends_with("/agent.json");
            StubResponse::new(statuses[usize::from(is_second)], "text/plain", "no")
        })
        .await;
        let error = Client::connect(stub.url()).await.unwrap_err().to_string();
        assert!(error.contains(want), "{statuses:?}: {error}");
    }
}

#[tokio::test]
async fn temporary_failure_does_not_fall_back_to_root_card() {
    for (status, connects) in [(503, false), (403, true), (404, true)] {
        let stub = Stub::start(move |request| match request.path.starts_with("/one/") {
            true => StubResponse::new(status, "text/plain", "no"),
            false => StubResponse::json(card("https://a.example/a2a")),
        })
        .await;
        let connected = Client::connect(format!("{}/one", stub.url())).await;
        assert_eq!(connected.is_ok(), connects, "{status}");
        let mismatch = connected.ok().and_then(|it| it.interface().unwrap().mismatch);
        assert_eq!(mismatch.is_some(), connects, "{status}: the card may describe another agent");
    }
}

#[tokio::test]
async fn card_is_cached_while_fresh_and_revalidated_after() {
    let (cacheable, broken) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
    let revalidations = Arc::new(AtomicUsize::new(0));
    let stub = {
        let (cacheable, broken) = (Arc::clone(&cacheable), Arc::clone(&broken));
        let revalidations = Arc::clone(&revalidations);
        Stub::start(move |request| {
            if broken.load(Ordering::SeqCst) {
                return StubResponse::new(500, "text/plain", "broken");
            }
            let cache_control =
                if cacheable.load(Ordering::SeqCst) { "max-age=60" } else { "no-cache" };
            let headers = format!("etag: \"v1\"\r\ncache-control: {cache_control}\r\n");
            if request.header("if-none-match") == Some("\"v1\"") {
                revalidations.fetch_add(1, Ordering::SeqCst);
                return StubResponse::with_headers(304, &headers, "");
            }
            StubResponse::with_headers(200, &headers, &card("https://a.example/a2a").to_string())
        })
        .await
    };
    let client = Client::connect(stub.url()).await.unwrap();
    let request_count = || stub.requests().len();
    let first = request_count();
    client.fetch_card().await.unwrap();
    assert_eq!(request_count(), first, "the card is fresh");

    client.invalidate_card();
    cacheable.store(false, Ordering::SeqCst);
    client.fetch_card().await.unwrap();
    assert_eq!(request_count(), first + 1, "the card was invalidated");
    client.fetch_card().await.unwrap();
    assert_eq!(request_count(), first + 2, "the card is stale");
    assert!(revalidations.load(Ordering::SeqCst) > 0, "the request has the ETag");

    broken.store(true, Ordering::SeqCst);
    client.fetch_card().await.unwrap_err();
    broken.store(false, Ordering::SeqCst);
    client.fetch_card().await.unwrap();
    let last = stub.requests().pop().unwrap();
    assert_eq!(last.header("if-none-match"), None, "a failed request clears the cache");
}

#[tokio::test]
async fn private_card_urls_are_rejected_unless_allowed() {
    let stub = Stub::start(|_| StubResponse::json(card("http://127.0.0.1:1/a2a"))).await;
    let error = Client::connect(stub.url()).await.unwrap_err();
    assert!(matches!(error, Error::NoInterface(_)), "{error}");
    assert!(error.to_string().contains("not allowed"), "{error}");
    Client::builder(stub.url()).guard_rules(allow_loopback()).connect().await.unwrap();
    let error = Client::connect("http://169.254.169.254/").await.unwrap_err();
    assert!(matches!(error, Error::InvalidSetup(_)), "{error}");
}

#[tokio::test]
async fn card_trust_decides_which_signatures_are_required() {
    let pem = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let key = SigningKey::from_pem("key-1", &pem).unwrap();
    let other = SigningKey::from_pem("key-1", &other).unwrap();
    let keys =
        |key: &SigningKey| -> KeySet { [key.verifying_key().unwrap()].into_iter().collect() };
    let mut signed = AgentCard::from_json(&card("https://a.example/a2a")).unwrap();
    signed.sign(&key).unwrap();
    let signed = signed.to_json(CardFormat::V1_0);
    let mut forged = signed.clone();
    forged["name"] = json!("other");
    let bare = card("https://a.example/a2a");
    for (case, card, trust, want) in [
        ("signed by the key", &signed, CardTrust::Required(keys(&key)), true),
        ("signed by another key", &signed, CardTrust::Required(keys(&other)), false),
        ("signed by another key, not verified", &signed, CardTrust::Unverified, true),
        ("signed by another key, if signed", &signed, CardTrust::IfSigned(keys(&other)), false),
        ("forged", &forged, CardTrust::IfSigned(keys(&key)), false),
        ("bare", &bare, CardTrust::Required(keys(&key)), false),
        ("bare, if signed", &bare, CardTrust::IfSigned(keys(&key)), true),
    ] {
        let card = card.clone();
        let stub = Stub::start(move |_| StubResponse::json(&card)).await;
        let client = Client::builder(stub.url()).trust(trust).connect().await;
        match client {
            Ok(client) => assert!(want && client.card().unwrap().name == "found", "{case}"),
            Err(error) => {
                assert!(!want && matches!(error, Error::UntrustedCard(_)), "{case}: {error}")
            }
        }
    }
}
