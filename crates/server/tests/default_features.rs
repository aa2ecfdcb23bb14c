//! A server without features serves and declares only what is compiled in.

#![cfg(not(any(
    feature = "grpc",
    feature = "jwt",
    feature = "push",
    feature = "signing",
    feature = "tls"
)))]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use latimer_server::Server;
use serde_json::{Value, json};
use tower_service::Service as _;

async fn send(path: &str, content_type: &str, body: &Value) -> (StatusCode, Value) {
    let mut router = Server::echo().router().await.unwrap();
    let request = match body {
        Value::Null => Request::get(path).body(Body::empty()),
        body => Request::post(path)
            .header("content-type", content_type)
            .header("a2a-version", "1.0")
            .body(body.to_string().into()),
    };
    let response = router.call(request.unwrap()).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn card_lists_compiled_bindings_and_no_push_notifications() {
    let (status, card) = send("/.well-known/agent-card.json", "", &Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(card["capabilities"]["pushNotifications"], false, "{card}");
    let interfaces = card["supportedInterfaces"].as_array().unwrap();
    let bindings: Vec<_> = interfaces.iter().map(|it| &it["protocolBinding"]).collect();
    assert_eq!(bindings, ["JSONRPC", "HTTP+JSON", "JSONRPC", "HTTP+JSON"], "{card}");
    assert!(card.get("signatures").is_none(), "{card}");
}

#[tokio::test]
async fn messages_are_served_and_webhooks_are_rejected() {
    let message = json!({"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "hello"}]});
    let call = |method: &str, params: &Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let body = call("SendMessage", &json!({ "message": message }));
    let (status, sent) = send("/a2a", "application/json", &body).await;
    assert_eq!((status, &sent["error"]), (StatusCode::OK, &Value::Null), "{sent}");
    let webhook = json!({"taskId": "1", "url": "https://hooks.example/1"});
    let body = call("CreateTaskPushNotificationConfig", &webhook);
    let (_, refused) = send("/a2a", "application/json", &body).await;
    assert_eq!(refused["error"]["code"], -32003, "{refused}");
}

#[tokio::test]
async fn paths_of_missing_features_are_not_found() {
    for path in ["/api/push/dead", "/.well-known/jwks.json", "/lf.a2a.v1.A2AService/GetTask"] {
        assert_eq!(send(path, "", &Value::Null).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    let (status, _) =
        send("/lf.a2a.v1.A2AService/GetTask", "application/grpc", &json!({"id": "1"})).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}
