//! What an answer may cost: time and size.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use latimer_outbound::{Dial, Failure, Limits, Rules};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::support::{Answer, Bench, Listener, post};

const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(9);

fn bench() -> Bench {
    Bench::new(Rules { loopback: true, ..Rules::default() })
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_given_up() {
    for answer in ["never", "stuck"] {
        let listener = Listener::start(move |_| match answer {
            "never" => Answer::Never,
            _ => Answer::Stuck,
        })
        .await;
        let limits = Limits { time: SHORT, ..Limits::default() };
        let failure = bench().client.send(post(&listener.url("/")), &limits).await.unwrap_err();
        assert!(matches!(failure, Failure::Timeout), "{answer}: {failure:?}");
        assert!(failure.is_retryable());
    }
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_given_up() {
    let large = Listener::start(|_| Answer::text(&"x".repeat(1001))).await;
    let endless = Listener::start(|_| Answer::Endless).await;
    for (listener, body, want) in
        [(&large, 1001, true), (&large, 1000, false), (&endless, 100_000, false)]
    {
        let limits = Limits { body, ..Limits::default() };
        match bench().client.send(post(&listener.url("/")), &limits).await {
            Ok(response) => {
                assert!(want, "{body}");
                assert_eq!(response.body().len(), body);
            }
            Err(Failure::TooLarge { limit }) => assert_eq!((limit, want), (body, false)),
            Err(failure) => panic!("{body}: {failure:?}"),
        }
    }
}

#[tokio::test]
async fn an_open_answer_comes_as_it_is_sent() {
    let listener = Listener::start(|_| Answer::Stuck).await;
    let request = post(&listener.url("/")).map(Full::new);
    let response = bench().client.open(request).await.expect("an answer");
    let mut body = response.into_body();
    let frame = body.frame().await.expect("a frame").expect("data");
    assert_eq!(frame.into_data().expect("data").len(), 1024);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_a_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let serving = tokio::spawn(async move {
        for answer in ["HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", "SSH-2.0-x\r\n"] {
            let (mut stream, _) = listener.accept().await.expect("a caller");
            let _ = stream.read(&mut [0; 1024]).await.expect("a request");
            stream.write_all(answer.as_bytes()).await.expect("a reader");
        }
    });
    for _ in 0..2 {
        let failure = bench().post(&url).await.unwrap_err();
        assert!(matches!(failure, Failure::Broken { .. }), "{failure:?}");
        assert!(failure.is_retryable());
    }
    serving.await.expect("it served");
}

/// A network that swallows what is sent to it.
#[derive(Debug)]
struct BlackHole;

#[async_trait]
impl Dial for BlackHole {
    async fn dial(&self, _: SocketAddr) -> io::Result<TcpStream> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn connecting_has_a_limit_of_its_own() {
    let bench = Bench::with(Rules::default(), |builder| {
        builder.dial(Arc::new(BlackHole)).connect_timeout(SHORT)
    });
    bench.names.set("two.test", &[&["93.184.216.34", "93.184.216.35"]]);
    for url in ["https://93.184.216.34/", "https://two.test/"] {
        let request = post(url).map(Full::<Bytes>::new);
        let found = timeout(LONG, bench.client.open(request)).await.expect("it does not wait");
        assert!(matches!(found, Err(Failure::Timeout)), "{found:?}");
    }
}

/// TLS that does not begin is part of connecting.
#[tokio::test]
async fn a_silent_server_does_not_hold_up_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let url = format!("https://{}/", listener.local_addr().expect("an address"));
    let bench = Bench::with(Rules { loopback: true, ..Rules::default() }, |builder| {
        builder.connect_timeout(SHORT)
    });
    let found = timeout(LONG, bench.post(&url)).await.expect("it does not wait");
    assert!(matches!(found, Err(Failure::Timeout)), "{found:?}");
}
