//! Tests of the connection pool.

use latimer_outbound::{Protocol, Rules};

use crate::support::{Harness, Listener, StubResponse, Transport, allow_only};

#[tokio::test]
async fn connections_are_reused() {
    let listener = Listener::start(|_| StubResponse::text("hello")).await;
    let harness = Harness::new(Rules { allow_loopback: true, ..Rules::default() });
    for _ in 0..20 {
        harness.post(&listener.url("/")).await.expect("a response");
    }
    // An HTTP/1.1 connection returns to the pool shortly after its response, so a request may miss
    // it.
    assert!(listener.accepted() < 20, "{}", listener.accepted());
}

#[tokio::test]
async fn pooled_connection_ignores_dns_change() {
    let (listener, harness) = http2_harness(allow_only(["127.0.0.1"])).await;
    harness.resolver.set("rebinding.test", &[&["127.0.0.1"], &["10.0.0.1"]]);
    for _ in 0..3 {
        harness
            .post(&format!("http://rebinding.test:{}/", listener.port()))
            .await
            .expect("a response");
    }
    assert_eq!(harness.dialer.take_dialed(), [listener.address]);
    assert_eq!(harness.resolver.lookup_count("rebinding.test"), 1);
}

#[tokio::test]
async fn next_address_is_tried_when_first_is_unreachable() {
    let listener = Listener::start(|_| StubResponse::text("hello")).await;
    let port = listener.port();
    let harness = Harness::new(allow_only([&format!("two.test:{port}")]));
    harness.resolver.set("two.test", &[&["10.0.0.1", "127.0.0.1"]]);
    harness.post(&format!("http://two.test:{port}/")).await.expect("a response");
    assert_eq!(harness.dialer.take_dialed().len(), 2);
}

#[tokio::test]
async fn http2_protocol_works_without_tls() {
    let (listener, harness) =
        http2_harness(Rules { allow_loopback: true, ..Rules::default() }).await;
    let url = listener.url("/");
    for _ in 0..3 {
        let response = harness.post(&url).await.expect("a response");
        assert_eq!(response.version(), http::Version::HTTP_2);
    }
    assert_eq!((listener.accepted(), listener.requests().len()), (1, 3));
}

/// Starts a listener and a client that use HTTP/2 without TLS.
async fn http2_harness(rules: Rules) -> (Listener, Harness) {
    let listener =
        Listener::start_at("127.0.0.1:0", Transport::PlainHttp2, |_| StubResponse::text("hello"));
    let harness = Harness::with_builder(rules, |builder| builder.protocol(Protocol::Http2));
    (listener.await.expect("loopback"), harness)
}
