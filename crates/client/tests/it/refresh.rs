//! Cards that are fetched again, and cards that are stored.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use latimer_client::{
    CallOptions, CardCache, CardRefresh, CardTrust, Client, Error, StoredCard, user_message,
};
use latimer_protocol::card::{AgentCard, AgentInterface, CardFormat, KeySet, ProtocolBinding};

use crate::support::{Stub, StubResponse, allow_loopback};

/// A server of a card whose name and `ETag` are the version.
struct CardServer {
    stub: Stub,
    version: Arc<Mutex<&'static str>>,
}

impl CardServer {
    /// Serves version 1. Without a version the server fails.
    async fn start(cache_control: &'static str) -> Self {
        let version = Arc::new(Mutex::new("1"));
        let current = Arc::clone(&version);
        let stub = Stub::start(move |request| {
            let version = *current.lock().unwrap();
            if version.is_empty() {
                return StubResponse::keep_alive(500, "", "failed");
            }
            let headers = format!("etag: \"{version}\"\r\ncache-control: {cache_control}\r\n");
            if request.header("if-none-match") == Some(&format!("\"{version}\"")) {
                return StubResponse::keep_alive(304, &headers, "");
            }
            let url = format!("http://{}", request.header("host").unwrap());
            let card = AgentCard {
                name: version.to_owned(),
                supported_interfaces: vec![AgentInterface::new(url, ProtocolBinding::JsonRpc)],
                ..AgentCard::default()
            };
            StubResponse::keep_alive(200, &headers, &card.to_json(CardFormat::V1_0).to_string())
        })
        .await;
        Self { stub, version }
    }

    fn set_version(&self, version: &'static str) {
        *self.version.lock().unwrap() = version;
    }

    async fn connect(&self) -> Client {
        Client::connect(self.stub.url()).await.unwrap()
    }

    /// The `ETag` that the last request asked about.
    fn last_condition(&self) -> Option<String> {
        let request = self.stub.requests().pop().unwrap();
        request.header("if-none-match").map(str::to_owned)
    }
}

fn card_name(client: &Client) -> &str {
    &client.card().unwrap().name
}

#[tokio::test]
async fn refresh_asks_with_validators_on_the_same_connection() {
    let server = CardServer::start("max-age=60").await;
    let client = server.connect().await;
    assert!(matches!(client.refresh().await, Ok(CardRefresh::Unchanged)));
    assert_eq!(server.last_condition().as_deref(), Some("\"1\""));

    server.set_version("2");
    let Ok(CardRefresh::Changed(changed)) = client.refresh().await else { panic!("unchanged") };
    assert_eq!((card_name(&client), card_name(&changed)), ("1", "2"));
    assert!(matches!(changed.refresh().await, Ok(CardRefresh::Unchanged)));
    assert_eq!(server.last_condition().as_deref(), Some("\"2\""));
    assert_eq!((server.stub.connection_count(), server.stub.requests().len()), (1, 4));
}

#[tokio::test]
async fn changed_client_keeps_its_options() {
    let server = CardServer::start("max-age=60").await;
    let extensions = vec!["urn:a".to_owned()];
    let options = CallOptions { extensions, ..CallOptions::default() };
    let client = server.connect().await.with_options(options);
    server.set_version("2");
    let Ok(CardRefresh::Changed(changed)) = client.refresh().await else { panic!("unchanged") };
    changed.send(user_message("hello")).await.unwrap_err();
    let request = server.stub.requests().pop().unwrap();
    assert_eq!(request.header("a2a-extensions"), Some("urn:a"));
}

#[tokio::test]
async fn invalidated_card_is_fetched_without_condition() {
    let server = CardServer::start("max-age=60").await;
    let client = server.connect().await;
    client.invalidate_card();
    assert_eq!(client.card_fresh_for(), Some(Duration::ZERO));
    assert!(matches!(client.refresh().await, Ok(CardRefresh::Unchanged)));
    assert_eq!(server.last_condition(), None);

    server.set_version("");
    client.refresh().await.unwrap_err();
    server.set_version("1");
    assert!(matches!(client.refresh().await, Ok(CardRefresh::Unchanged)));
    assert_eq!(server.last_condition(), None, "a failed request clears the cache");
}

#[tokio::test]
async fn card_is_fresh_as_long_as_its_headers_allow() {
    for (cache_control, want) in [("max-age=60", 60), ("no-cache", 0), ("public", 300)] {
        let server = CardServer::start(cache_control).await;
        let fresh_for = server.connect().await.card_fresh_for().unwrap();
        let want = Duration::from_secs(want);
        assert!(fresh_for <= want, "{cache_control}: {fresh_for:?}");
        assert!(fresh_for + Duration::from_secs(20) >= want, "{cache_control}: {fresh_for:?}");
    }
    let client = Client::new("https://a.example").unwrap();
    assert_eq!(client.card_fresh_for(), None);
    assert!(matches!(client.refresh().await, Err(Error::NoCard(_))));
}

/// Cards in memory.
#[derive(Debug, Default)]
struct MemoryCache(Mutex<HashMap<String, StoredCard>>);

#[async_trait::async_trait]
impl CardCache for MemoryCache {
    async fn load(&self, url: &str) -> Option<StoredCard> {
        self.0.lock().unwrap().get(url).cloned()
    }

    async fn save(&self, url: &str, card: StoredCard) {
        self.0.lock().unwrap().insert(url.to_owned(), card);
    }
}

impl MemoryCache {
    fn edit(&self, edit: impl Fn(&mut StoredCard)) {
        self.0.lock().unwrap().values_mut().for_each(edit);
    }
}

#[tokio::test]
async fn stored_card_is_used_while_fresh_and_revalidated_after() {
    let server = CardServer::start("max-age=60").await;
    let cache = Arc::new(MemoryCache::default());
    let connect = async || {
        let builder = Client::builder(server.stub.url()).card_cache(cache.clone());
        let client = builder.connect().await.unwrap();
        (card_name(&client).to_owned(), server.stub.requests().len())
    };
    assert_eq!(connect().await, ("1".to_owned(), 1));
    assert_eq!(connect().await, ("1".to_owned(), 1), "the card is fresh");

    cache.edit(|it| it.fresh_until = SystemTime::UNIX_EPOCH);
    assert_eq!(connect().await, ("1".to_owned(), 2));
    assert_eq!(server.last_condition().as_deref(), Some("\"1\""));
    assert_eq!(connect().await, ("1".to_owned(), 2), "the card is fresh again");

    server.set_version("2");
    cache.edit(|it| it.fresh_until = SystemTime::UNIX_EPOCH);
    assert_eq!(connect().await, ("2".to_owned(), 3));
}

#[tokio::test]
async fn stored_card_must_be_trusted_and_from_a_card_url_of_the_agent() {
    let server = CardServer::start("max-age=60").await;
    let cache = Arc::new(MemoryCache::default());
    let builder = || {
        Client::builder(server.stub.url()).guard_rules(allow_loopback()).card_cache(cache.clone())
    };
    builder().connect().await.unwrap();
    builder().trust(CardTrust::Required(KeySet::default())).connect().await.unwrap_err();
    assert_eq!(server.stub.requests().len(), 2, "the card is fetched to verify its signature");

    cache.edit(|it| it.url = "http://127.0.0.1:1/agent-card.json".to_owned());
    builder().connect().await.unwrap();
    assert_eq!(server.stub.requests().len(), 3);
}

#[tokio::test]
async fn card_with_no_store_is_not_stored() {
    let server = CardServer::start("no-store").await;
    let cache = Arc::new(MemoryCache::default());
    Client::builder(server.stub.url()).card_cache(cache.clone()).connect().await.unwrap();
    assert!(cache.0.lock().unwrap().is_empty());
}
