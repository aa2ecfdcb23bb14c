//! Errors have the format of their binding, never that of the HTTP framework.

use http::Method;
use latimer_protocol::{Error, ErrorKind};
use latimer_server::{Server, Settings};
use serde_json::{Value, json};

use crate::support::{ScriptedService, message, send_body, shouter_server, start_server};

#[tokio::test]
async fn malformed_json_rpc_gets_a_json_rpc_error() {
    let server = start_server(shouter_server(Settings::default())).await;
    for (body, code, id) in [
        ("", -32700, Value::Null),
        ("{", -32700, Value::Null),
        ("nonsense", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]"#, -32600, Value::Null),
        ("3", -32600, Value::Null),
        (r#"{"id":1,"method":"GetTask"}"#, -32600, json!(1)),
        (r#"{"jsonrpc":"1.0","id":"a","method":"GetTask"}"#, -32600, json!("a")),
        (r#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1.0,"method":""}"#, -32600, json!(1.0)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"nothing"}"#, -32601, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"GetTask"}"#, -32602, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"GetTask","params":[1]}"#, -32602, json!(7)),
        (r#"{"jsonrpc":"2.0","method":"GetTask","params":{"id":"x"}}"#, -32001, Value::Null),
        (
            r#"{"jsonrpc":"2.0","id":"7","method":"GetTask","params":{"id":"x"}}"#,
            -32001,
            json!("7"),
        ),
        (r#"{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{}}"#, -32602, json!(7)),
    ] {
        let response = server.v1().post("/a2a", body).await;
        assert_eq!((response.status, response.rpc_error_code()), (200, code), "{body}");
        assert_eq!(response.header("content-type"), "application/json", "{body}");
        assert_eq!(response.json()["id"], id, "{body}");
        assert_eq!(response.json()["error"]["data"][0]["domain"], "a2a-protocol.org", "{body}");
    }
    // Excessive nesting.
    let deep = "[".repeat(100_000);
    assert_eq!(server.v1().post("/a2a", deep).await.rpc_error_code(), -32700);
}

#[tokio::test]
async fn json_rpc_requires_a_json_content_type() {
    let server = start_server(shouter_server(Settings::default())).await;
    let call = send_body("SendMessage", "hi");
    for (kind, code) in [
        ("application/json; charset=utf-8", 0),
        ("application/a2a+json", 0),
        ("text/plain", -32005),
        ("application/x-www-form-urlencoded", -32005),
    ] {
        let response =
            server.v1().with_header("content-type", kind).post("/a2a", call.clone()).await;
        assert_eq!((response.status, response.rpc_error_code()), (200, code), "{kind}");
    }
    let untyped = server.v1().send(Method::POST, "/a2a", call).await;
    assert_eq!(untyped.rpc_error_code(), -32005);
}

#[tokio::test]
async fn json_rpc_answers_other_http_methods_with_allow() {
    let server = start_server(shouter_server(Settings::default())).await;
    for method in [Method::GET, Method::PUT, Method::DELETE, Method::OPTIONS] {
        let response = server.send(method.clone(), "/a2a", "").await;
        assert_eq!((response.status, response.header("allow")), (405, "POST"), "{method}");
        assert_eq!(response.rpc_error_code(), -32600, "{method}");
    }
}

#[tokio::test]
async fn http_json_reports_route_errors() {
    let server = start_server(shouter_server(Settings::default())).await;
    for (method, path, status, allow) in [
        (Method::GET, "/a2a/nothing", 404, ""),
        (Method::GET, "/a2a/message:send", 405, "POST"),
        (Method::DELETE, "/a2a/tasks/t", 405, "GET"),
        (Method::POST, "/a2a/tasks", 405, "GET"),
        (Method::PUT, "/a2a/tasks/t/pushNotificationConfigs", 405, "GET, POST"),
        (Method::GET, "/a2a/tasks/%zz", 400, ""),
        (Method::GET, "/a2a/tasks?pageSize=0", 400, ""),
        (Method::GET, "/a2a/tasks?status=NONSENSE", 400, ""),
    ] {
        let response = server.v1().send(method.clone(), path, "").await;
        assert_eq!((response.status, response.header("allow")), (status, allow), "{method} {path}");
        let error = &response.json()["error"];
        assert_eq!(error["code"], status, "{method} {path}");
        assert_eq!(error["details"][0]["@type"], "type.googleapis.com/google.rpc.ErrorInfo");
    }
    // 0.3 errors have the 0.3 format.
    let older = server.get("/a2a/v1/tasks/none").await;
    assert_eq!(older.status, 404);
    assert_eq!(older.json()["code"], -32001);
    assert_eq!(older.json()["type"], "TaskNotFoundError");
    let older = server.get("/v1/nothing").await;
    assert_eq!((older.status, &older.json()["code"]), (404, &json!(-32601)));
}

#[tokio::test]
async fn unknown_path_gets_a_json_error() {
    let server = start_server(shouter_server(Settings::default())).await;
    for (method, path) in [
        (Method::GET, "/nothing"),
        (Method::POST, "/a2ab"),
        (Method::GET, "/.well-known/nothing"),
        (Method::PATCH, "/%00"),
        (Method::GET, "//"),
    ] {
        let response = server.send(method, path, "").await;
        assert_eq!(response.status, 404, "{path}");
        assert_eq!(response.json()["error"]["details"][0]["reason"], "METHOD_NOT_FOUND", "{path}");
    }
    let grpc = server
        .with_header("content-type", "application/grpc")
        .send(Method::POST, "/x.Y/Z", "")
        .await;
    assert_eq!((grpc.status, grpc.header("grpc-status")), (200, "12"));
}

#[tokio::test]
async fn http_json_requires_json_bodies() {
    let server = start_server(shouter_server(Settings::default())).await;
    let body = format!(r#"{{"message":{}}}"#, message("hi"));
    let plain =
        server.v1().with_header("content-type", "text/plain").post("/a2a/message:send", body).await;
    assert_eq!(plain.status, 400);
    assert_eq!(plain.json()["error"]["details"][0]["reason"], "CONTENT_TYPE_NOT_SUPPORTED");
    let older =
        server.with_header("content-type", "text/plain").post("/v1/message:send", "{}").await;
    assert_eq!(older.status, 415);
    let broken = server.v1().post("/a2a/message:send", "{").await;
    assert_eq!(broken.json()["error"]["details"][0]["reason"], "PARSE_ERROR");
    let incomplete = server.v1().post("/a2a/message:send", "{}").await;
    let error = &incomplete.json()["error"];
    assert_eq!((incomplete.status, &error["status"]), (400, &json!("INVALID_ARGUMENT")));
    assert_eq!(error["details"][1]["fieldViolations"][0]["field"], "message");
}

#[tokio::test]
async fn response_media_type_follows_accept() {
    let server = start_server(shouter_server(Settings::default())).await;
    for (accept, want) in [
        ("application/a2a+json", "application/a2a+json"),
        ("application/a2a+json, application/json", "application/a2a+json"),
        ("application/json", "application/json"),
        ("*/*", "application/json"),
        ("text/html", "application/json"),
    ] {
        let caller = server.v1().with_header("accept", accept);
        for path in ["/a2a/tasks", "/a2a/tasks/none"] {
            assert_eq!(caller.get(path).await.header("content-type"), want, "{accept} {path}");
        }
        let older = server.with_header("accept", accept).get("/v1/tasks/none").await;
        assert_eq!(older.header("content-type"), "application/json", "{accept}");
    }
}

#[tokio::test]
async fn every_error_has_its_code_status_and_headers() {
    for kind in ErrorKind::ALL {
        let kind = *kind;
        let failing = ScriptedService::new(move |_| Err(Error::from(kind)));
        let server = start_server(Server::empty().with_service(failing)).await;
        let get = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}"#;
        let codes = kind.codes(latimer_protocol::Version::V1_0);
        let rpc = server.v1().post("/a2a", get).await;
        let about_sender = matches!(kind, ErrorKind::Unauthenticated | ErrorKind::PermissionDenied);
        let status = if about_sender { codes.http } else { 200 };
        assert_eq!((rpc.status, rpc.rpc_error_code()), (status, codes.jsonrpc.into()), "{kind:?}");
        let rest = server.v1().get("/a2a/tasks/x").await;
        assert_eq!(rest.status, codes.http, "{kind:?}");
        assert_eq!(rest.json()["error"]["details"][0]["reason"], kind.reason());
        let is_retryable = matches!(kind, ErrorKind::Unavailable | ErrorKind::RateLimited);
        for response in [&rpc, &rest] {
            assert_eq!(!response.header("retry-after").is_empty(), is_retryable, "{kind:?}");
        }
        // An error before the stream starts is an event over JSON-RPC and a status over HTTP+JSON.
        let stream = server.v1().post("/a2a", send_body("SendStreamingMessage", "hi")).await;
        assert_eq!(stream.status, status, "{kind:?}");
        let content_type = if about_sender { "application/json" } else { "text/event-stream" };
        assert_eq!(stream.header("content-type"), content_type, "{kind:?}");
        let event = match about_sender {
            true => stream.json(),
            false => stream.events().pop().expect("one event"),
        };
        assert_eq!((&event["id"], &event["error"]["code"]), (&json!(1), &json!(codes.jsonrpc)));
        let body = format!(r#"{{"message":{}}}"#, message("hi"));
        assert_eq!(server.v1().post("/a2a/message:stream", body).await.status, codes.http);
    }
}

#[tokio::test]
async fn failed_stream_start_returns_an_error_event() {
    let server = start_server(shouter_server(Settings::default())).await;
    for (body, code) in [
        (r#"{"jsonrpc":"2.0","id":9,"method":"SendStreamingMessage","params":{}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":9,"method":"SubscribeToTask","params":{"id":"none"}}"#, -32001),
        (r#"{"jsonrpc":"2.0","id":9,"method":"tasks/resubscribe","params":{"id":"none"}}"#, -32001),
    ] {
        let response = server.post("/a2a", body).await;
        assert_eq!((response.status, response.header("content-type")), (200, "text/event-stream"));
        let [event] = response.events().try_into().expect("one event");
        assert_eq!((&event["id"], &event["error"]["code"]), (&json!(9), &json!(code)), "{body}");
    }
}
