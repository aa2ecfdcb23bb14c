//! What a stranger may cost, and what it is told.

use std::time::Duration;

use http::Method;
use latimer_server::store::{MemoryStore, Retention};
use latimer_server::{HttpLimits, Limits, Settings};

use crate::support::{message, send, shouter, site};

fn with(http: HttpLimits) -> Settings {
    Settings { http, ..Settings::default() }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_in_the_form_of_its_binding() {
    let site = site(shouter(with(HttpLimits { body: 1000, ..HttpLimits::default() }))).await;
    let long = "x".repeat(1000);
    let rpc = site.v1().post("/a2a", send("SendMessage", &long)).await;
    assert_eq!((rpc.status, rpc.code()), (200, -32600));
    assert_eq!(rpc.json()["error"]["data"][0]["metadata"]["limit"], "1000");
    let body = format!(r#"{{"message":{}}}"#, message(&long));
    let rest = site.v1().post("/a2a/message:send", body).await;
    assert_eq!((rest.status, rest.json()["error"]["code"].as_i64()), (413, Some(413)));
    // One that does not say how long it is.
    let body = send("SendMessage", &long);
    let chunked = format!(
        "POST /a2a HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    let answer = site.raw(chunked.as_bytes(), |text| text.contains("-32600")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(site.v1().post("/a2a", send("SendMessage", "hi")).await.code(), 0);
}

#[tokio::test]
async fn a_store_full_of_tasks_that_go_on_takes_no_more_until_one_is_over() {
    let store = MemoryStore::new(Retention { max_tasks: 1, ..Retention::DEFAULT_MEMORY });
    let site = site(shouter(Settings::default()).store(store)).await;
    let made = site.v1().post("/a2a", send("SendMessage", "ask")).await.json();
    let id = made["result"]["task"]["id"].as_str().unwrap().to_owned();
    let body = format!(r#"{{"message":{}}}"#, message("hi"));
    let rpc = site.v1().post("/a2a", send("SendMessage", "hi")).await;
    assert_eq!((rpc.status, rpc.code()), (200, -31503), "{}", rpc.text());
    let rest = site.v1().post("/a2a/message:send", body.clone()).await;
    assert_eq!(rest.status, 503, "{}", rest.text());
    for refused in [&rpc, &rest] {
        assert!(!refused.header("retry-after").is_empty(), "it is worth another try");
    }
    assert_eq!(site.v1().get(&format!("/a2a/tasks/{id}")).await.status, 200, "it is still there");
    let canceled = site.v1().ask(Method::POST, &format!("/a2a/tasks/{id}:cancel"), "").await;
    assert_eq!(canceled.status, 200);
    assert_eq!(site.v1().post("/a2a/message:send", body).await.status, 200);
}

#[tokio::test]
async fn a_body_in_many_pieces_is_one_body() {
    let site = site(shouter(Settings::default())).await;
    let body = send("SendMessage", &"a".repeat(300_000));
    let answer = site.v1().post("/a2a", body).await;
    let text = &answer.json()["result"]["task"]["artifacts"][0]["parts"][0]["text"];
    assert_eq!(text.as_str().unwrap(), "A".repeat(300_000));
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let limits = HttpLimits { body_time: Duration::from_millis(50), ..HttpLimits::default() };
    let site = site(shouter(with(limits))).await;
    for (path, status) in [("/a2a", "200"), ("/a2a/message:send", "408")] {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\ncontent-type: application/json\r\n\
             content-length: 100\r\n\r\n{{\"json"
        );
        let answer = site.raw(request.as_bytes(), |_| false).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
        assert!(answer.contains("took longer"), "{path}: {answer}");
    }
}

#[tokio::test]
async fn headers_that_do_not_come_are_not_waited_for() {
    let limits = HttpLimits { header_time: Duration::from_millis(50), ..HttpLimits::default() };
    let site = site(shouter(with(limits))).await;
    // Nothing, the beginning of a request, and the beginning of HTTP/2's.
    for bytes in [&b""[..], b"POST /a2a HTTP/1.1\r\nhost:", b"PRI * HT"] {
        let waited = site.raw(bytes, |_| false);
        let waited = tokio::time::timeout(Duration::from_secs(5), waited).await;
        assert!(waited.is_ok(), "{}", String::from_utf8_lossy(bytes));
    }
}

#[tokio::test]
async fn addresses_and_headers_have_their_limits() {
    let limits = HttpLimits { url: 100, headers: 10, header_bytes: 8192, ..HttpLimits::default() };
    let site = site(shouter(with(limits))).await;
    let long = format!("/a2a/tasks/{}", "x".repeat(100));
    let answer = site.v1().get(&long).await;
    assert_eq!((answer.status, answer.json()["error"]["code"].as_i64()), (414, Some(414)));
    let many: String = (0..20).map(|it| format!("x-{it}: y\r\n")).collect();
    let request = format!("GET /health HTTP/1.1\r\nhost: localhost\r\n{many}\r\n");
    let answer = site.raw(request.as_bytes(), |_| false).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    let request =
        format!("GET /health HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(20_000));
    let answer = site.raw(request.as_bytes(), |_| false).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test]
async fn parts_of_a_message_and_streams_are_counted() {
    let limits = Limits { parts: 2, streams: 0, ..Limits::default() };
    let site = site(shouter(Settings { limits, ..Settings::default() })).await;
    let parts =
        r#"{"messageId":"p","role":"ROLE_USER","parts":[{"text":"1"},{"text":"2"},{"text":"3"}]}"#;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{parts}}}}}"#
    );
    assert_eq!(site.v1().post("/a2a", call).await.code(), -32602);
    let stream = site.v1().post("/a2a", send("SendStreamingMessage", "hi")).await;
    assert_eq!(stream.events()[0]["error"]["code"], -31429);
    assert!(!stream.header("retry-after").is_empty());
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_their_turn() {
    let limits = HttpLimits {
        connections: 1,
        header_time: Duration::from_millis(300),
        ..HttpLimits::default()
    };
    let site = site(shouter(with(limits))).await;
    let first = tokio::net::TcpStream::connect(site.address).await.unwrap();
    // The first one sends nothing, and makes room when its time is up.
    let answer = site.ask(Method::GET, "/health", "").await;
    assert_eq!(answer.status, 200);
    drop(first);
}
