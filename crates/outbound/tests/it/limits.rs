//! Tests of timeouts and size limits.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use latimer_outbound::{Dial, RequestError, RequestLimits, Rules};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::support::{Harness, Listener, StubResponse, post};

const SHORT_TIMEOUT: Duration = Duration::from_millis(100);
const TEST_TIMEOUT: Duration = Duration::from_secs(9);

fn harness() -> Harness {
    Harness::new(Rules { allow_loopback: true, ..Rules::default() })
}

#[tokio::test]
async fn slow_response_times_out() {
    for kind in ["never", "stalled"] {
        let listener = Listener::start(move |_| match kind {
            "never" => StubResponse::Never,
            _ => StubResponse::Stalled,
        })
        .await;
        let limits = RequestLimits { timeout: SHORT_TIMEOUT, ..RequestLimits::default() };
        let failure = harness().client.send(post(&listener.url("/")), &limits).await.unwrap_err();
        assert!(matches!(failure, RequestError::Timeout), "{kind}: {failure:?}");
        assert!(failure.is_retryable());
    }
}

#[tokio::test]
async fn oversized_response_is_rejected() {
    let large = Listener::start(|_| StubResponse::text(&"x".repeat(1001))).await;
    let endless = Listener::start(|_| StubResponse::Endless).await;
    for (listener, body, want) in
        [(&large, 1001, true), (&large, 1000, false), (&endless, 100_000, false)]
    {
        let limits = RequestLimits { max_body_bytes: body, ..RequestLimits::default() };
        match harness().client.send(post(&listener.url("/")), &limits).await {
            Ok(response) => {
                assert!(want, "{body}");
                assert_eq!(response.body().len(), body);
            }
            Err(RequestError::TooLarge { limit }) => assert_eq!((limit, want), (body, false)),
            Err(failure) => panic!("{body}: {failure:?}"),
        }
    }
}

#[tokio::test]
async fn send_streaming_returns_body_incrementally() {
    let listener = Listener::start(|_| StubResponse::Stalled).await;
    let request = post(&listener.url("/")).map(Full::new);
    let response = harness().client.send_streaming(request).await.expect("a response");
    let mut body = response.into_body();
    let frame = body.frame().await.expect("a frame").expect("data");
    assert_eq!(frame.into_data().expect("data").len(), 1024);
}

#[tokio::test]
async fn truncated_or_invalid_response_is_broken_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let serving = tokio::spawn(async move {
        for response in ["HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", "SSH-2.0-x\r\n"] {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let _ = stream.read(&mut [0; 1024]).await.expect("a request");
            stream.write_all(response.as_bytes()).await.expect("an open connection");
        }
    });
    for _ in 0..2 {
        let failure = harness().post(&url).await.unwrap_err();
        assert!(matches!(failure, RequestError::Broken { .. }), "{failure:?}");
        assert!(failure.is_retryable());
    }
    serving.await.expect("the server finished");
}

/// Dialer that never connects.
#[derive(Debug)]
struct HangingDialer;

#[async_trait]
impl Dial for HangingDialer {
    async fn dial(&self, _: SocketAddr) -> io::Result<TcpStream> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn connect_timeout_applies_to_dialing() {
    let harness = Harness::with_builder(Rules::default(), |builder| {
        builder.dialer(Arc::new(HangingDialer)).connect_timeout(SHORT_TIMEOUT)
    });
    harness.resolver.set("two.test", &[&["93.184.216.34", "93.184.216.35"]]);
    for url in ["https://93.184.216.34/", "https://two.test/"] {
        let request = post(url).map(Full::<Bytes>::new);
        let result = timeout(TEST_TIMEOUT, harness.client.send_streaming(request))
            .await
            .expect("the connect timeout applies");
        assert!(matches!(result, Err(RequestError::Timeout)), "{result:?}");
    }
}

/// The TLS handshake is part of connecting.
#[tokio::test]
async fn connect_timeout_applies_to_tls_handshake() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let url = format!("https://{}/", listener.local_addr().expect("an address"));
    let harness =
        Harness::with_builder(Rules { allow_loopback: true, ..Rules::default() }, |builder| {
            builder.connect_timeout(SHORT_TIMEOUT)
        });
    let result =
        timeout(TEST_TIMEOUT, harness.post(&url)).await.expect("the connect timeout applies");
    assert!(matches!(result, Err(RequestError::Timeout)), "{result:?}");
}
