//! HTTP/1 connections: unread request bodies, encoded bodies, and clients that close their direction.

use std::time::{Duration, Instant};

use http::Method;
use latimer_protocol::Secret;
use latimer_server::{Agent, ApiKeys, HttpLimits, RateLimit, Server, Settings, Turn};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{
    TestServer, message, send_body, shouter_server, start_server, test_agent, wait_until,
};

const BINDINGS: [(&str, &str); 2] = [("/a2a", "JSON-RPC"), ("/a2a/message:send", "HTTP+JSON")];

/// Returns the head of a POST request, without the empty line.
fn post_head(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n"
    )
}

fn body_for(path: &str, text: &str) -> String {
    match path {
        "/a2a" => send_body("SendMessage", text),
        _ => format!(r#"{{"message":{}}}"#, message(text)),
    }
}

/// Reads until the stream ends or `is_complete` returns true.
async fn read_until(stream: &mut TcpStream, is_complete: impl Fn(&str) -> bool) -> String {
    let (mut all, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut chunk).await.expect("the connection is not reset");
        all.extend_from_slice(&chunk[..length]);
        let text = String::from_utf8_lossy(&all).into_owned();
        if length == 0 || is_complete(&text) {
            return text;
        }
    }
}

async fn start_server_with_key() -> TestServer {
    let keys = ApiKeys::default().with_operator_key(&Secret::new("sesame"));
    start_server(shouter_server(Settings::default()).authenticate(keys)).await
}

fn announces_close(response: &str) -> bool {
    response.to_ascii_lowercase().contains("\r\nconnection: close\r\n")
}

#[tokio::test]
async fn connection_is_reused_after_a_small_unread_body() {
    let server = start_server_with_key().await;
    for (path, binding) in BINDINGS {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let body = body_for(path, &"x".repeat(20_000));
        let (first, rest) = body.split_at(body.len() / 2);
        stream
            .write_all(format!("{}\r\n{first}", post_head(path, body.len())).as_bytes())
            .await
            .unwrap();
        stream.write_all(rest.as_bytes()).await.unwrap();
        let refused = read_until(&mut stream, |it| it.contains("}")).await;
        assert!(refused.starts_with("HTTP/1.1 401"), "{binding}: {refused}");
        assert!(!announces_close(&refused), "{binding}: {refused}");
        let body = body_for(path, "hi");
        let head = format!("{}x-api-key: sesame\r\n", post_head(path, body.len()));
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
        let accepted = read_until(&mut stream, |it| it.contains("COMPLETED")).await;
        let start = accepted.find("HTTP/1.1 200");
        assert!(start.is_some() && accepted.contains("COMPLETED"), "{binding}: {accepted}");
    }
}

/// Without the header a client would send its next request on the closed connection.
#[tokio::test]
async fn connection_with_a_large_unread_body_is_closed_with_notice() {
    let keyed = start_server_with_key().await;
    let http = HttpLimits { max_body_bytes: 1000, ..HttpLimits::default() };
    let limited = start_server(shouter_server(Settings { http, ..Settings::default() })).await;
    for (server, statuses) in [(&keyed, ["401", "401"]), (&limited, ["200", "413"])] {
        for ((path, binding), status) in BINDINGS.into_iter().zip(statuses) {
            let mut stream = TcpStream::connect(server.address).await.unwrap();
            let body = body_for(path, &"x".repeat(3_000_000));
            // Also a client that sends everything before it reads gets the response.
            stream
                .write_all(format!("{}\r\n{body}", post_head(path, body.len())).as_bytes())
                .await
                .unwrap();
            let response = read_until(&mut stream, |_| false).await;
            assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{binding}: {response}");
            assert!(announces_close(&response), "{binding}: {response}");
            assert!(response.ends_with('}'), "{binding}: {response}");
        }
    }
}

#[tokio::test]
async fn rate_limited_call_with_an_unread_body_closes_with_notice() {
    let rate =
        RateLimit { per_minute: 5, burst: 5, include_loopback: true, ..RateLimit::default() };
    let server = start_server(shouter_server(Settings { rate, ..Settings::default() })).await;
    let path = "/a2a/message:send";
    server.v1().post(path, body_for(path, "hi")).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    // The rest of the body never arrives.
    let head = post_head(path, 1000);
    stream.write_all(format!("{head}\r\n{{").as_bytes()).await.unwrap();
    let response = read_until(&mut stream, |it| it.ends_with('}')).await;
    assert!(response.starts_with("HTTP/1.1 429") && announces_close(&response), "{response}");
}

/// The client has not sent the body, and the server does not request it.
#[tokio::test]
async fn refused_expectation_closes_with_notice() {
    let server = start_server_with_key().await;
    for (path, binding) in BINDINGS {
        let head = format!("{}expect: 100-continue\r\n\r\n", post_head(path, 100));
        let response = server.send_raw(head.as_bytes(), |it| it.ends_with('}')).await;
        assert!(response.starts_with("HTTP/1.1 401"), "{binding}: {response}");
        assert!(announces_close(&response), "{binding}: {response}");
    }
}

#[tokio::test]
async fn compressed_body_is_rejected_with_the_accepted_encoding() {
    let server = start_server(shouter_server(Settings::default())).await;
    for (path, binding) in BINDINGS {
        for (encoding, status) in [("gzip", 415), ("identity, br", 415), ("Identity", 200)] {
            let caller = server.v1().with_header("content-encoding", encoding);
            let response = caller.post(path, body_for(path, "hi")).await;
            assert_eq!(response.status, status, "{binding} {encoding}: {}", response.text());
            let accepted = if status == 415 { "identity" } else { "" };
            assert_eq!(response.header("accept-encoding"), accepted, "{binding} {encoding}");
            assert_eq!(response.text().contains("send the body uncompressed"), status == 415);
        }
        // RFC 7694: the header would suggest that the encoding was the reason.
        let caller = server.with_header("content-type", "text/plain");
        let response = caller.with_header("a2a-version", "0.3").post("/v1/message:send", "x").await;
        assert_eq!((response.status, response.header("accept-encoding")), (415, ""));
    }
}

/// Starts a server whose agent replies after this time.
async fn start_slow_server(delay: Duration) -> TestServer {
    let agent = Agent::from_fn("slow", move |turn: Turn| async move {
        tokio::time::sleep(delay).await;
        turn.reply("late").await
    });
    start_server(Server::new(agent)).await
}

/// As `printf … | nc` does.
#[tokio::test]
async fn client_that_closes_its_direction_gets_the_response() {
    let server = start_slow_server(Duration::from_millis(300)).await;
    let stream_path = "/a2a/message:stream";
    for path in ["/a2a", "/a2a/message:send", stream_path] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let body = body_for(path, "hi");
        stream
            .write_all(format!("{}\r\n{body}", post_head(path, body.len())).as_bytes())
            .await
            .unwrap();
        stream.shutdown().await.unwrap();
        let started = Instant::now();
        let response = read_until(&mut stream, |_| false).await;
        assert!(response.starts_with("HTTP/1.1 200"), "{path}: {response}");
        assert!(response.contains("TASK_STATE_COMPLETED"), "{path}: {response}");
        assert!(started.elapsed() < Duration::from_secs(10), "{path}: closed after the response");
    }
}

#[tokio::test]
async fn incomplete_request_of_a_closed_client_fails_at_once() {
    let server = start_server(shouter_server(Settings::default())).await;
    let started = Instant::now();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(format!("{}\r\n{{", post_head("/a2a", 100)).as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    read_until(&mut stream, |_| false).await;
    assert!(started.elapsed() < Duration::from_secs(10));
}

/// A client that closed the whole connection looks like one that closed its direction.
#[tokio::test(start_paused = true)]
async fn call_of_a_closed_client_is_dropped_after_half_a_minute() {
    let server = start_server(Server::new(test_agent("shouter"))).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let body = send_body("SendMessage", "wait");
    stream
        .write_all(format!("{}\r\n{body}", post_head("/a2a", body.len())).as_bytes())
        .await
        .unwrap();
    wait_until("the task runs", async || {
        server.v1().get("/a2a/tasks").await.json()["totalSize"] == 1
    })
    .await;
    stream.shutdown().await.unwrap();
    let started = tokio::time::Instant::now();
    let response = read_until(&mut stream, |_| false).await;
    assert_eq!(response, "", "the call has no response");
    let elapsed = started.elapsed().as_secs();
    assert!((29..=32).contains(&elapsed), "{elapsed} s");
    let tasks = server.v1().get("/a2a/tasks").await.json();
    assert_eq!(tasks["tasks"][0]["status"]["state"], "TASK_STATE_WORKING", "the task continues");
    let id = tasks["tasks"][0]["id"].as_str().unwrap().to_owned();
    server.v1().send(Method::POST, &format!("/a2a/tasks/{id}:cancel"), "").await;
}
