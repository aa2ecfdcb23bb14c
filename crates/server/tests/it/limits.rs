//! Limits on requests and connections, and their errors.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use latimer_server::store::{MemoryStore, Retention};
use latimer_server::{Agent, EngineLimits, HttpLimits, RateLimit, Server, Settings, Turn};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::support::{
    TestServer, message, send_body, send_http2, shouter_server, start_server, wait_until,
};

fn with_http_limits(http: HttpLimits) -> Settings {
    Settings { http, ..Settings::default() }
}

#[tokio::test]
async fn oversized_body_is_rejected_in_each_binding() {
    let server = start_server(shouter_server(with_http_limits(HttpLimits {
        max_body_bytes: 1000,
        ..HttpLimits::default()
    })))
    .await;
    let long = "x".repeat(1000);
    let rpc = server.v1().post("/a2a", send_body("SendMessage", &long)).await;
    assert_eq!((rpc.status, rpc.rpc_error_code()), (200, -32600));
    assert_eq!(rpc.json()["error"]["data"][0]["metadata"]["limit"], "1000");
    let body = format!(r#"{{"message":{}}}"#, message(&long));
    let rest = server.v1().post("/a2a/message:send", body).await;
    assert_eq!((rest.status, rest.json()["error"]["code"].as_i64()), (413, Some(413)));
    // A chunked body has no declared length.
    let body = send_body("SendMessage", &long);
    let chunked = format!(
        "POST /a2a HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    let response = server.send_raw(chunked.as_bytes(), |text| text.contains("-32600")).await;
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    assert_eq!(server.v1().post("/a2a", send_body("SendMessage", "hi")).await.rpc_error_code(), 0);
}

#[tokio::test]
async fn full_store_rejects_new_tasks_until_one_finishes() {
    let store = MemoryStore::new(Retention { max_tasks: 1, ..Retention::DEFAULT_MEMORY });
    let server = start_server(shouter_server(Settings::default()).store(store)).await;
    let created = server.v1().post("/a2a", send_body("SendMessage", "ask")).await.json();
    let id = created["result"]["task"]["id"].as_str().unwrap().to_owned();
    let body = format!(r#"{{"message":{}}}"#, message("hi"));
    let rpc = server.v1().post("/a2a", send_body("SendMessage", "hi")).await;
    assert_eq!((rpc.status, rpc.rpc_error_code()), (200, -31503), "{}", rpc.text());
    let rest = server.v1().post("/a2a/message:send", body.clone()).await;
    assert_eq!(rest.status, 503, "{}", rest.text());
    for refused in [&rpc, &rest] {
        assert!(!refused.header("retry-after").is_empty(), "a full store is a temporary error");
    }
    assert_eq!(
        server.v1().get(&format!("/a2a/tasks/{id}")).await.status,
        200,
        "the stored task is not evicted"
    );
    let canceled = server.v1().send(Method::POST, &format!("/a2a/tasks/{id}:cancel"), "").await;
    assert_eq!(canceled.status, 200);
    assert_eq!(server.v1().post("/a2a/message:send", body).await.status, 200);
}

#[tokio::test]
async fn chunked_body_is_reassembled() {
    let server = start_server(shouter_server(Settings::default())).await;
    let body = send_body("SendMessage", &"a".repeat(300_000));
    let response = server.v1().post("/a2a", body).await;
    let text = &response.json()["result"]["task"]["artifacts"][0]["parts"][0]["text"];
    assert_eq!(text.as_str().unwrap(), "A".repeat(300_000));
}

#[tokio::test]
async fn slow_body_times_out() {
    let limits = HttpLimits { body_timeout: Duration::from_millis(50), ..HttpLimits::default() };
    let server = start_server(shouter_server(with_http_limits(limits))).await;
    for (path, status) in [("/a2a", "200"), ("/a2a/message:send", "408")] {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\ncontent-type: application/json\r\n\
             content-length: 100\r\n\r\n{{\"json"
        );
        let response = server.send_raw(request.as_bytes(), |_| false).await;
        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {response}");
        assert!(response.contains("took longer"), "{path}: {response}");
    }
}

#[tokio::test]
async fn slow_headers_time_out() {
    let limits = HttpLimits { header_timeout: Duration::from_millis(50), ..HttpLimits::default() };
    let server = start_server(shouter_server(with_http_limits(limits))).await;
    // No bytes, part of an HTTP/1.1 request, and part of the HTTP/2 preface.
    for bytes in [&b""[..], b"POST /a2a HTTP/1.1\r\nhost:", b"PRI * HT"] {
        let waited = server.send_raw(bytes, |_| false);
        let waited = tokio::time::timeout(Duration::from_secs(5), waited).await;
        assert!(waited.is_ok(), "{}", String::from_utf8_lossy(bytes));
    }
}

#[tokio::test]
async fn url_and_header_limits_are_enforced() {
    let limits = HttpLimits {
        max_url_bytes: 100,
        max_headers: 10,
        max_header_bytes: 8192,
        ..HttpLimits::default()
    };
    let server = start_server(shouter_server(with_http_limits(limits))).await;
    let long = format!("/a2a/tasks/{}", "x".repeat(100));
    let response = server.v1().get(&long).await;
    assert_eq!((response.status, response.json()["error"]["code"].as_i64()), (414, Some(414)));
    let many: String = (0..20).map(|it| format!("x-{it}: y\r\n")).collect();
    let request = format!("GET /health HTTP/1.1\r\nhost: localhost\r\n{many}\r\n");
    let response = server.send_raw(request.as_bytes(), |_| false).await;
    assert!(response.starts_with("HTTP/1.1 431"), "{response}");
    let request =
        format!("GET /health HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(20_000));
    let response = server.send_raw(request.as_bytes(), |_| false).await;
    assert!(response.starts_with("HTTP/1.1 431"), "{response}");
}

#[tokio::test]
async fn part_and_stream_limits_are_enforced() {
    let limits = EngineLimits { max_parts: 2, max_streams: 0, ..EngineLimits::default() };
    let server = start_server(shouter_server(Settings { limits, ..Settings::default() })).await;
    let parts =
        r#"{"messageId":"p","role":"ROLE_USER","parts":[{"text":"1"},{"text":"2"},{"text":"3"}]}"#;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{parts}}}}}"#
    );
    assert_eq!(server.v1().post("/a2a", call).await.rpc_error_code(), -32602);
    let stream = server.v1().post("/a2a", send_body("SendStreamingMessage", "hi")).await;
    assert_eq!(stream.events()[0]["error"]["code"], -31429);
    assert!(!stream.header("retry-after").is_empty());
}

/// Opens an HTTP/2 connection, makes a call on it and leaves it open.
async fn open_http2(server: &TestServer) -> (http2::SendRequest<Full<Bytes>>, JoinHandle<()>) {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (mut sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(async { drop(connection.await) });
    assert_eq!(get_http2(server, &mut sender, "/health").await, Some(200));
    (sender, connection)
}

/// Returns the status of a response, or `None` if the connection is closed.
async fn get_http2(
    server: &TestServer,
    sender: &mut http2::SendRequest<Full<Bytes>>,
    path: &str,
) -> Option<u16> {
    sender.ready().await.ok()?;
    let mut request = server.build_request(Method::GET, path, String::new());
    *request.uri_mut() = format!("http://{}{path}", server.address).parse().unwrap();
    *request.version_mut() = http::Version::HTTP_2;
    request.headers_mut().remove("host");
    Some(sender.send_request(request).await.ok()?.status().as_u16())
}

/// Opens a stream that runs until its connection is closed.
async fn open_event_stream(server: &TestServer) -> TcpStream {
    let body = send_body("SendStreamingMessage", "wait");
    let request = format!(
        "POST /a2a HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    stream
}

#[tokio::test]
async fn idle_http2_connections_do_not_block_other_callers() {
    let limits = HttpLimits { max_connections: 20, ..HttpLimits::default() };
    let server = start_server(shouter_server(with_http_limits(limits))).await;
    let mut idle = Vec::new();
    for _ in 0..60 {
        idle.push(open_http2(&server).await);
        let sent = server.v1().post("/a2a", send_body("SendMessage", "hi")).await;
        assert_eq!((sent.status, sent.rpc_error_code()), (200, 0));
    }
    let (oldest, _) = idle.swap_remove(0);
    wait_until("the oldest connection is closed", async || oldest.is_closed()).await;
    let (newest, _) = idle.last_mut().unwrap();
    assert_eq!(get_http2(&server, newest, "/health").await, Some(200));
}

#[tokio::test]
async fn http2_connection_without_calls_is_closed() {
    let limits = HttpLimits {
        header_timeout: Duration::from_millis(50),
        http2_idle_timeout: Duration::from_millis(200),
        ..HttpLimits::default()
    };
    let slow = Agent::from_fn("slow", |turn: Turn| async move {
        tokio::time::sleep(Duration::from_millis(700)).await;
        turn.reply("late").await
    });
    let server = start_server(Server::new(slow).settings(with_http_limits(limits))).await;
    let (_sender, connection) = open_http2(&server).await;
    tokio::time::timeout(Duration::from_secs(10), connection).await.unwrap().unwrap();
    // A call that takes longer keeps its connection open.
    let body = format!(r#"{{"message":{}}}"#, message("hi"));
    let caller = server.v1().with_header("content-type", "application/json");
    let sent = send_http2(&caller, Method::POST, "/a2a/message:send", &body).await;
    assert_eq!(sent.status, 200);
}

#[tokio::test]
async fn probes_are_answered_while_all_connections_are_busy() {
    let limits = HttpLimits { max_connections: 3, ..HttpLimits::default() };
    let server = start_server(shouter_server(with_http_limits(limits))).await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(open_event_stream(&server).await);
    }
    for _ in 0..100 {
        for path in ["/health", "/ready"] {
            let response = server.get(path).await;
            assert_eq!((response.status, response.header("connection")), (200, "close"), "{path}");
        }
    }
    let rejected = server.v1().post("/a2a", send_body("SendMessage", "hi")).await;
    assert_eq!((rejected.status, rejected.header("retry-after")), (503, "1"));
    drop(streams.pop());
    wait_until("a call is served again", async || {
        server.v1().post("/a2a", send_body("SendMessage", "hi")).await.status == 200
    })
    .await;
}

#[tokio::test]
async fn connections_of_one_address_are_limited() {
    let settings = |include_loopback, proxies: &[&str]| Settings {
        rate: RateLimit { include_loopback, ..RateLimit::default() },
        trusted_proxies: proxies.iter().map(|it| it.parse().unwrap()).collect(),
        ..with_http_limits(HttpLimits { max_connections_per_address: 2, ..HttpLimits::default() })
    };
    for (include_loopback, proxies, is_limited) in
        [(true, &[][..], true), (false, &[], false), (true, &["127.0.0.1"], false)]
    {
        let server = start_server(shouter_server(settings(include_loopback, proxies))).await;
        let _busy = [open_event_stream(&server).await, open_event_stream(&server).await];
        let mut third = TcpStream::connect(server.address).await.unwrap();
        let request = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";
        // A closed connection may reject the request.
        let _ = third.write_all(request).await;
        let length = third.read(&mut [0; 12]).await.unwrap_or(0);
        assert_eq!(length == 0, is_limited, "{include_loopback} {proxies:?}");
    }
}
