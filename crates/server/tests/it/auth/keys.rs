//! Keys, and what is wrong with what is shown in their place.

use http::HeaderValue;
use latimer_pb::v1;
use latimer_protocol::Secret;
use latimer_server::{AnyOf, Jwt, KeyDigest, Keys, Server};
use serde_json::json;
use tonic::Code;
use tonic::transport::Endpoint;

use super::provider::{Key, Provider};
use crate::support::{Site, agent, send, site};

fn keys() -> Keys {
    let digest = |key: &str| KeyDigest::of(&Secret::new(key));
    let keys = Keys::default().with_unnamed(&Secret::new("sesame"));
    keys.with("ci", digest("one"), ["read"]).with("ops", digest("two"), ["read"])
}

async fn guarded() -> Site {
    site(Server::new(agent("shouter")).authenticate(keys())).await
}

#[tokio::test]
async fn a_key_is_shown_in_either_header() {
    let site = guarded().await;
    for (name, value, want) in [
        ("authorization", "Bearer sesame", 200),
        ("authorization", "bearer one", 200),
        ("x-api-key", "two", 200),
        ("x-api-key", "three", 401),
        ("authorization", "Bearer three", 401),
        ("authorization", "two", 401),
        ("x-other", "two", 401),
    ] {
        let answer = site.v1().with(name, value).post("/a2a", send("SendMessage", "hi")).await;
        assert_eq!(answer.status, want, "{name}: {value}");
    }
    let mine = site.v1().with("x-api-key", "one");
    mine.post("/a2a", send("SendMessage", "hi")).await;
    let sees = |caller| async move { crate::support::Caller::get(&caller, "/a2a/tasks").await };
    let [one, two] = [mine, site.v1().with("x-api-key", "two")].map(sees);
    assert_eq!(one.await.json()["totalSize"], 2);
    assert_eq!(two.await.json()["totalSize"], 1);
}

#[tokio::test]
async fn what_is_no_key_is_named() {
    let site = guarded().await;
    let long = "x".repeat(20_000);
    for (headers, want) in [
        ("".to_owned(), r#"Bearer realm="latimer""#),
        ("Authorization: Bearer three".into(), "the key is not known"),
        ("Authorization: Bearer".into(), "the token is empty"),
        ("X-API-Key:".into(), "the token is empty"),
        ("Authorization: Basic c2VzYW1l".into(), "the scheme Bearer"),
        ("Authorization: Bearer sesame\r\nAuthorization: Bearer sesame".into(), "more than once"),
        ("X-API-Key: one\r\nX-API-Key: two".into(), "more than once"),
        ("Authorization: Bearer one\r\nX-API-Key: two".into(), "disagree"),
        (format!("Authorization: Bearer {long}"), "longer than 16384 bytes"),
        ("Authorization: Bearer \u{fc}".into(), "is not text"),
    ] {
        let end = "Connection: close\r\n\r\n";
        let head = "GET /a2a/tasks HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\n";
        let headers = if headers.is_empty() { headers } else { format!("{headers}\r\n") };
        let answer = site.raw(format!("{head}{headers}{end}").as_bytes(), |_| false).await;
        assert!(answer.starts_with("HTTP/1.1 401 "), "{want}: {answer}");
        let challenge = answer.lines().find(|it| it.starts_with("www-authenticate: ")).unwrap();
        assert!(challenge.contains(want), "{want}: {challenge}");
        assert!(HeaderValue::from_str(challenge).is_ok(), "{challenge}");
    }
}

#[tokio::test]
async fn each_binding_says_it_in_its_way() {
    let site = guarded().await;
    let caller = site.v1().with("x-api-key", "three");
    let rpc = caller.post("/a2a", send("SendMessage", "hi")).await;
    assert_eq!((rpc.status, rpc.code()), (401, -31401));
    let reason = &rpc.json()["error"]["data"][0];
    assert_eq!(reason["reason"], "UNAUTHENTICATED");
    assert_eq!(reason["metadata"], json!({"error": "invalid_token"}));
    let rest = caller.get("/a2a/tasks").await.json();
    assert_eq!(rest["error"]["status"], "UNAUTHENTICATED");
    let endpoint = Endpoint::from_shared(format!("http://{}", site.address)).unwrap();
    let mut client = v1::client::A2aServiceClient::new(endpoint.connect().await.unwrap());
    for (key, want) in [("two", None), ("three", Some(Code::Unauthenticated))] {
        let mut request = tonic::Request::new(v1::ListTasksRequest::default());
        request.metadata_mut().insert("x-api-key", key.parse().unwrap());
        let code = client.list_tasks(request).await.err().map(|it| it.code());
        assert_eq!(code, want, "{key}");
    }
}

#[tokio::test]
async fn cards_say_what_is_configured() {
    let site = guarded().await;
    let card = site.v1().get("/.well-known/agent-card.json").await.json();
    let schemes = &card["securitySchemes"];
    assert_eq!(schemes["apiKey"]["httpAuthSecurityScheme"]["scheme"], "Bearer");
    let header = json!({"location": "header", "name": "X-API-Key"});
    assert_eq!(schemes["apiKeyHeader"]["apiKeySecurityScheme"], header);
    let either = json!([{"schemes": {"apiKey": {}}}, {"schemes": {"apiKeyHeader": {}}}]);
    assert_eq!(card["securityRequirements"], either);
    let older = site.get("/.well-known/agent-card.json").await.json();
    assert_eq!(older["security"], json!([{"apiKey": []}, {"apiKeyHeader": []}]));
    let open = crate::support::site(Server::new(agent("shouter"))).await;
    let card = open.v1().get("/.well-known/agent-card.json").await.json();
    assert_eq!(
        (&card["securitySchemes"], &card["securityRequirements"]),
        (&json!(null), &json!(null))
    );
}

#[tokio::test]
async fn several_ways_lead_in_and_none_leads_round() {
    let key = Key::elliptic("k");
    let provider = Provider::with(&[&key]).await;
    let jwt = Jwt::new(provider.settings()).unwrap();
    let any = AnyOf::default().with(keys()).with(jwt);
    let site = site(Server::new(agent("shouter")).authenticate(any)).await;
    let token = key.sign(&provider.claims());
    let forged = Key::elliptic("k").sign(&provider.claims());
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
        let caller = pairs.into_iter().fold(site.v1(), |caller, (name, it)| caller.with(name, it));
        assert_eq!(caller.get("/a2a/tasks").await.status, want, "{what}");
    }
    let card = site.v1().get("/.well-known/agent-card.json").await.json();
    let names: Vec<_> = card["securitySchemes"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names, ["apiKey", "apiKeyHeader", "oidc"]);
    assert_eq!(card["securityRequirements"].as_array().unwrap().len(), 3);
}
