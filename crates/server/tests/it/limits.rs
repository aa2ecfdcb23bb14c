//! Limits on requests and connections, and their errors.

use std::time::Duration;

use http::Method;
use latimer_server::store::{MemoryStore, Retention};
use latimer_server::{EngineLimits, HttpLimits, Settings};

use crate::support::{message, send_body, shouter_server, start_server};

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

#[tokio::test]
async fn connection_beyond_the_limit_waits() {
    let limits = HttpLimits {
        max_connections: 1,
        header_timeout: Duration::from_millis(300),
        ..HttpLimits::default()
    };
    let server = start_server(shouter_server(with_http_limits(limits))).await;
    let first = tokio::net::TcpStream::connect(server.address).await.unwrap();
    // The first connection sends nothing and is closed at the header timeout.
    let response = server.send(Method::GET, "/health", "").await;
    assert_eq!(response.status, 200);
    drop(first);
}
