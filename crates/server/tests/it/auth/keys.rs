//! Authentication by API key, and rejected keys.

use http::HeaderValue;
use latimer_pb::v1;
use latimer_protocol::Secret;
use latimer_server::{AnyOf, ApiKeys, JwtAuth, KeyDigest, Server};
use serde_json::json;
use tonic::Code;
use tonic::transport::Endpoint;

use super::provider::{FakeProvider, TestKey};
use crate::support::{TestServer, send_body, start_server, test_agent};

fn api_keys() -> ApiKeys {
    let digest = |key: &str| KeyDigest::from_key(&Secret::new(key));
    let keys = ApiKeys::default().with_operator_key(&Secret::new("sesame"));
    keys.with_key("ci", digest("one"), ["read"]).with_key("ops", digest("two"), ["read"])
}

async fn server_with_keys() -> TestServer {
    start_server(Server::new(test_agent("shouter")).authenticate(api_keys())).await
}

#[tokio::test]
async fn key_is_accepted_in_either_header() {
    let server = server_with_keys().await;
    for (name, value, want) in [
        ("authorization", "Bearer sesame", 200),
        ("authorization", "bearer one", 200),
        ("x-api-key", "two", 200),
        ("x-api-key", "three", 401),
        ("authorization", "Bearer three", 401),
        ("authorization", "two", 401),
        ("x-other", "two", 401),
    ] {
        let response =
            server.v1().with_header(name, value).post("/a2a", send_body("SendMessage", "hi")).await;
        assert_eq!(response.status, want, "{name}: {value}");
    }
    let first_key = server.v1().with_header("x-api-key", "one");
    first_key.post("/a2a", send_body("SendMessage", "hi")).await;
    let list_tasks =
        |caller| async move { crate::support::TestClient::get(&caller, "/a2a/tasks").await };
    let [one, two] = [first_key, server.v1().with_header("x-api-key", "two")].map(list_tasks);
    assert_eq!(one.await.json()["totalSize"], 2);
    assert_eq!(two.await.json()["totalSize"], 1);
}

#[tokio::test]
async fn invalid_key_is_rejected_with_reason() {
    let server = server_with_keys().await;
    let long = "x".repeat(20_000);
    for (headers, want) in [
        ("".to_owned(), r#"Bearer realm="latimer""#),
        ("Authorization: Bearer three".into(), "the API key is unknown"),
        ("Authorization: Bearer".into(), "the token is empty"),
        ("X-API-Key:".into(), "the token is empty"),
        ("Authorization: Basic c2VzYW1l".into(), "the Bearer scheme"),
        ("Authorization: Bearer sesame\r\nAuthorization: Bearer sesame".into(), "more than once"),
        ("X-API-Key: one\r\nX-API-Key: two".into(), "more than once"),
        ("Authorization: Bearer one\r\nX-API-Key: two".into(), "headers differ"),
        (format!("Authorization: Bearer {long}"), "longer than 16384 bytes"),
        ("Authorization: Bearer \u{fc}".into(), "is not visible ASCII"),
    ] {
        let end = "Connection: close\r\n\r\n";
        let head = "GET /a2a/tasks HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\n";
        let headers = if headers.is_empty() { headers } else { format!("{headers}\r\n") };
        let response = server.send_raw(format!("{head}{headers}{end}").as_bytes(), |_| false).await;
        assert!(response.starts_with("HTTP/1.1 401 "), "{want}: {response}");
        let challenge = response.lines().find(|it| it.starts_with("www-authenticate: ")).unwrap();
        assert!(challenge.contains(want), "{want}: {challenge}");
        assert!(HeaderValue::from_str(challenge).is_ok(), "{challenge}");
    }
}

#[tokio::test]
async fn invalid_key_is_reported_in_each_binding() {
    let server = server_with_keys().await;
    let caller = server.v1().with_header("x-api-key", "three");
    let rpc = caller.post("/a2a", send_body("SendMessage", "hi")).await;
    assert_eq!((rpc.status, rpc.rpc_error_code()), (401, -31401));
    let reason = &rpc.json()["error"]["data"][0];
    assert_eq!(reason["reason"], "UNAUTHENTICATED");
    assert_eq!(reason["metadata"], json!({"error": "invalid_token"}));
    let rest = caller.get("/a2a/tasks").await.json();
    assert_eq!(rest["error"]["status"], "UNAUTHENTICATED");
    let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).unwrap();
    let mut client = v1::client::A2aServiceClient::new(endpoint.connect().await.unwrap());
    for (key, want) in [("two", None), ("three", Some(Code::Unauthenticated))] {
        let mut request = tonic::Request::new(v1::ListTasksRequest::default());
        request.metadata_mut().insert("x-api-key", key.parse().unwrap());
        let code = client.list_tasks(request).await.err().map(|it| it.code());
        assert_eq!(code, want, "{key}");
    }
}

#[tokio::test]
async fn card_declares_configured_key_schemes() {
    let server = server_with_keys().await;
    let card = server.v1().get("/.well-known/agent-card.json").await.json();
    let schemes = &card["securitySchemes"];
    assert_eq!(schemes["apiKey"]["httpAuthSecurityScheme"]["scheme"], "Bearer");
    let header = json!({"location": "header", "name": "X-API-Key"});
    assert_eq!(schemes["apiKeyHeader"]["apiKeySecurityScheme"], header);
    let either = json!([{"schemes": {"apiKey": {}}}, {"schemes": {"apiKeyHeader": {}}}]);
    assert_eq!(card["securityRequirements"], either);
    let older = server.get("/.well-known/agent-card.json").await.json();
    assert_eq!(older["security"], json!([{"apiKey": []}, {"apiKeyHeader": []}]));
    let unauthenticated = crate::support::start_server(Server::new(test_agent("shouter"))).await;
    let card = unauthenticated.v1().get("/.well-known/agent-card.json").await.json();
    assert_eq!(
        (&card["securitySchemes"], &card["securityRequirements"]),
        (&json!(null), &json!(null))
    );
}

#[tokio::test]
async fn any_of_accepts_each_method_and_rejects_forgeries() {
    let key = TestKey::elliptic("k");
    let provider = FakeProvider::with_keys(&[&key]).await;
    let jwt = JwtAuth::new(provider.settings()).unwrap();
    let any = AnyOf::default().with(api_keys()).with(jwt);
    let server = start_server(Server::new(test_agent("shouter")).authenticate(any)).await;
    let token = key.sign(&provider.valid_claims());
    let forged = TestKey::elliptic("k").sign(&provider.valid_claims());
    for (what, pairs, want) in [
        ("a key", vec![("x-api-key", "one".to_owned())], 200),
        ("a token", vec![("authorization", format!("Bearer {token}"))], 200),
        ("a forged token", vec![("authorization", format!("Bearer {forged}"))], 401),
        ("a token in the wrong place", vec![("x-api-key", token.clone())], 401),
        (
            "both",
            vec![("x-api-key", "one".into()), ("authorization", format!("Bearer {token}"))],
            401,
        ),
        ("nothing", vec![], 401),
    ] {
        let caller =
            pairs.into_iter().fold(server.v1(), |caller, (name, it)| caller.with_header(name, it));
        assert_eq!(caller.get("/a2a/tasks").await.status, want, "{what}");
    }
    let card = server.v1().get("/.well-known/agent-card.json").await.json();
    let names: Vec<_> = card["securitySchemes"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["apiKey", "apiKeyHeader", "oidc"]);
    assert_eq!(card["securityRequirements"].as_array().unwrap().len(), 3);
}
