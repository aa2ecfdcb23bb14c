//! The card of an upstream is fetched again once it is no longer fresh.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use latimer_client::Client;
use latimer_protocol::card::CardFormat;
use latimer_runtime::RemoteAgent;

use super::stub::{Stub, StubResponse};
use super::{BINDING_VERSIONS, TEST_TIMEOUT, card_for, short_timeouts, start_gateway};

/// The card of version `version`, and the headers that identify it.
fn respond(request_head: &str, version: usize) -> StubResponse {
    let headers = format!("etag: \"{version}\"\r\ncache-control: max-age=40\r\n");
    if request_head.contains(&format!("\"{version}\"")) {
        return StubResponse::keep_alive(304, &headers, "");
    }
    let host = request_head.lines().find_map(|it| it.strip_prefix("host: ")).unwrap();
    let mut card = card_for(host.parse().unwrap(), &BINDING_VERSIONS[0]);
    card.name = format!("version {version}");
    StubResponse::keep_alive(200, &headers, &card.to_json(CardFormat::V1_0).to_string())
}

#[tokio::test]
async fn gateway_revalidates_a_stale_card_on_the_same_connection() {
    let version = Arc::new(AtomicUsize::new(1));
    let served = Arc::clone(&version);
    let upstream =
        Stub::start(move |request| respond(&request.head, served.load(Ordering::SeqCst))).await;
    let url = format!("http://{}", upstream.address());
    let gateway = start_gateway(RemoteAgent::new(url).configure_client(short_timeouts)).await;
    let gateway_url = format!("http://{}", gateway.address());
    let published = async || Client::builder(&gateway_url).card().await.unwrap().name.clone();
    let since = Instant::now();
    while published().await != "version 1" {
        assert!(since.elapsed() < TEST_TIMEOUT);
    }
    assert_eq!(upstream.requests().len(), 1);

    let wait_for_request = async |count: usize| {
        let since = Instant::now();
        while upstream.requests().len() < count {
            assert!(since.elapsed() < TEST_TIMEOUT, "the card is not fetched again");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        upstream.requests()[count - 1].head.clone()
    };
    // The gateway has scheduled the refresh once this time has passed.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    skip_time(Duration::from_secs(20)).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(upstream.requests().len(), 1, "the card is fresh");
    skip_time(Duration::from_secs(25)).await;
    assert!(wait_for_request(2).await.contains("if-none-match: \"1\""));

    version.store(2, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    skip_time(Duration::from_secs(45)).await;
    wait_for_request(3).await;
    let since = Instant::now();
    while published().await != "version 2" {
        assert!(since.elapsed() < TEST_TIMEOUT);
    }
    assert_eq!(upstream.connection_count(), 1);
}

/// Advances the clock of the timers.
async fn skip_time(duration: Duration) {
    tokio::time::pause();
    tokio::time::advance(duration).await;
    tokio::time::resume();
}
