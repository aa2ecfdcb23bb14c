//! Connections are kept, and lead where they led when they were checked.

use latimer_outbound::{Protocol, Rules};

use crate::support::{Answer, Bench, Listener, Tls, allowing};

#[tokio::test]
async fn connections_are_used_again() {
    let listener = Listener::start(|_| Answer::text("hello")).await;
    let bench = Bench::new(Rules { loopback: true, ..Rules::default() });
    for _ in 0..20 {
        bench.post(&listener.url("/")).await.expect("an answer");
    }
    // A connection of HTTP/1.1 is back a moment after its answer, so the next request may miss it.
    assert!(listener.accepted() < 20, "{}", listener.accepted());
}

#[tokio::test]
async fn a_kept_connection_does_not_turn_with_its_name() {
    let (listener, bench) = http2(allowing(["127.0.0.1"])).await;
    bench.names.set("turning.test", &[&["127.0.0.1"], &["10.0.0.1"]]);
    for _ in 0..3 {
        bench.post(&format!("http://turning.test:{}/", listener.port())).await.expect("an answer");
    }
    assert_eq!(bench.dialer.take(), [listener.address]);
    assert_eq!(bench.names.asked("turning.test"), 1);
}

#[tokio::test]
async fn the_next_address_is_tried_when_nobody_answers_at_the_first() {
    let listener = Listener::start(|_| Answer::text("hello")).await;
    let port = listener.port();
    let bench = Bench::new(allowing([&format!("two.test:{port}")]));
    bench.names.set("two.test", &[&["10.0.0.1", "127.0.0.1"]]);
    bench.post(&format!("http://two.test:{port}/")).await.expect("an answer");
    assert_eq!(bench.dialer.take().len(), 2);
}

#[tokio::test]
async fn http2_is_spoken_without_tls_when_that_is_known() {
    let (listener, bench) = http2(Rules { loopback: true, ..Rules::default() }).await;
    let url = listener.url("/");
    for _ in 0..3 {
        let response = bench.post(&url).await.expect("an answer");
        assert_eq!(response.version(), http::Version::HTTP_2);
    }
    assert_eq!((listener.accepted(), listener.seen().len()), (1, 3));
}

/// A listener and a client that speak HTTP/2 without TLS.
async fn http2(rules: Rules) -> (Listener, Bench) {
    let listener = Listener::start_at("127.0.0.1:0", Tls::NoneWithHttp2, |_| Answer::text("hello"));
    let bench = Bench::with(rules, |builder| builder.protocol(Protocol::Http2));
    (listener.await.expect("loopback"), bench)
}
