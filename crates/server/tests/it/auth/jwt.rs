//! Authentication by JWT.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use latimer_pb::v1;
use latimer_server::{Agent, JwtAlgorithm, JwtAuth, JwtSettings, Server, Turn};
use serde_json::{Value, json};
use tonic::Code;
use tonic::transport::Endpoint;

use super::provider::{FakeProvider, TestKey, now};
use crate::support::{TestResponse, TestServer, send_body, start_server, test_agent};

async fn server_with_jwt(settings: JwtSettings) -> TestServer {
    start_server(Server::new(test_agent("shouter")).authenticate(JwtAuth::new(settings).unwrap()))
        .await
}

async fn list_tasks_with_token(server: &TestServer, token: &str) -> TestResponse {
    server.v1().with_header("authorization", format!("Bearer {token}")).get("/a2a/tasks").await
}

/// Returns claims with some members replaced.
fn with_claims(claims: &Value, change: Value) -> Value {
    let mut claims = claims.clone();
    for (name, value) in change.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, it| !it.is_null());
    claims
}

fn base64(text: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(text)
}

#[tokio::test]
async fn token_is_accepted_only_if_every_claim_is_valid() {
    let (rsa, elliptic, edwards) =
        (TestKey::rsa("r"), TestKey::elliptic("e"), TestKey::edwards("d"));
    let provider = FakeProvider::with_keys(&[&rsa, &elliptic, &edwards]).await;
    let server = server_with_jwt(provider.settings()).await;
    let good = provider.valid_claims();
    let other = TestKey::elliptic("e");
    let (late, early) = (now() - 61, now() + 120);
    let crit = Header { crit: Some(vec!["x".into()]), ..rsa.header() };
    let with_kid = |name: &str| Header { kid: Some(name.into()), ..elliptic.header() };
    let without_kid = Header { kid: None, ..elliptic.header() };
    for (what, token, want) in [
        ("RS256", rsa.sign(&good), ""),
        ("ES256", elliptic.sign(&good), ""),
        ("EdDSA", edwards.sign(&good), ""),
        ("several audiences", rsa.sign(&with_claims(&good, json!({"aud": ["x", "latimer"]}))), ""),
        ("just expired", rsa.sign(&with_claims(&good, json!({"exp": now() - 20}))), ""),
        ("the only key of its kind", elliptic.sign_as(&without_kid, &good), ""),
        ("expired", rsa.sign(&with_claims(&good, json!({"exp": late}))), "has expired"),
        ("no expiry", rsa.sign(&with_claims(&good, json!({"exp": null}))), "no claim exp"),
        (
            "expiry of the wrong type",
            rsa.sign(&with_claims(&good, json!({"exp": "soon"}))),
            "no claim exp",
        ),
        ("not yet", rsa.sign(&with_claims(&good, json!({"nbf": early}))), "not valid yet"),
        (
            "wrong audience",
            rsa.sign(&with_claims(&good, json!({"aud": "other"}))),
            "another audience",
        ),
        ("no audience", rsa.sign(&with_claims(&good, json!({"aud": null}))), "no claim aud"),
        (
            "wrong issuer",
            rsa.sign(&with_claims(&good, json!({"iss": "https://x"}))),
            "another issuer",
        ),
        ("no issuer", rsa.sign(&with_claims(&good, json!({"iss": null}))), "no claim iss"),
        ("no subject", rsa.sign(&with_claims(&good, json!({"sub": null}))), "no claim sub"),
        ("empty subject", rsa.sign(&with_claims(&good, json!({"sub": ""}))), "no claim sub"),
        ("a forged signature", other.sign(&good), "signature"),
        ("unknown key", elliptic.sign_as(&with_kid("x"), &good), "does not publish"),
        ("key of another algorithm", elliptic.sign_as(&with_kid("r"), &good), "does not publish"),
        ("a critical extension", rsa.sign_as(&crit, &good), "extensions"),
        ("no token", "garbage".to_owned(), "not a JWT"),
    ] {
        let response = list_tasks_with_token(&server, &token).await;
        let challenge = response.header("www-authenticate");
        match want {
            "" => assert_eq!(response.status, 200, "{what}: {}", response.text()),
            want => {
                assert_eq!(response.status, 401, "{what}");
                let start = r#"Bearer realm="latimer", error="invalid_token", error_description=""#;
                assert!(challenge.starts_with(start), "{what}: {challenge}");
                assert!(challenge.contains(want), "{what}: {challenge}");
            }
        }
    }
    let anonymous = server.v1().get("/a2a/tasks").await;
    assert_eq!(anonymous.status, 401);
    assert_eq!(anonymous.header("www-authenticate"), r#"Bearer realm="latimer""#);
}

#[tokio::test]
async fn token_cannot_choose_its_algorithm() {
    let rsa = TestKey::rsa("r");
    let provider = FakeProvider::with_keys(&[&rsa]).await;
    let mut settings = provider.settings();
    let server = server_with_jwt(settings.clone()).await;
    let good = provider.valid_claims();
    let payload = base64(&good.to_string());
    let none =
        |name: &str| format!("{}.{payload}.", base64(&format!(r#"{{"alg":"{name}","kid":"r"}}"#)));
    // The public key, used as the secret of a symmetric algorithm.
    let public = rsa.public();
    let modulus = public["n"].as_str().unwrap();
    let forged = |name: &str, secret: &[u8]| {
        let header = Header { kid: Some(name.into()), ..Header::new(Algorithm::HS256) };
        encode(&header, &good, &EncodingKey::from_secret(secret)).unwrap()
    };
    for (what, token) in [
        ("none", none("none")),
        ("None", none("None")),
        ("NONE", none("NONE")),
        ("none with a signature", format!("{}c2ln", none("none"))),
        ("the modulus as a secret", forged("r", modulus.as_bytes())),
        ("the key as a secret", forged("r", public.to_string().as_bytes())),
        ("a secret that is published", forged("secret", b"secret")),
        ("RS512", rsa.sign_as(&Header { alg: Algorithm::RS512, ..rsa.header() }, &good)),
    ] {
        let response = list_tasks_with_token(&server, &token).await;
        assert_eq!(response.status, 401, "{what}");
        assert!(response.header("www-authenticate").contains("invalid_token"), "{what}");
    }
    assert_eq!(provider.key_requests(), 0, "these are rejected without a key");
    settings.algorithms = vec!["ES256".parse::<JwtAlgorithm>().unwrap()];
    let es256_only = server_with_jwt(settings).await;
    assert_eq!(list_tasks_with_token(&es256_only, &rsa.sign(&good)).await.status, 401);
    assert_eq!(list_tasks_with_token(&server, &rsa.sign(&good)).await.status, 200);
}

#[tokio::test]
async fn unknown_key_triggers_one_refresh() {
    let (old, new) = (TestKey::elliptic("old"), TestKey::elliptic("new"));
    let provider = FakeProvider::with_keys(&[&old]).await;
    let server = server_with_jwt(provider.settings()).await;
    let (by_old, by_new) = (old.sign(&provider.valid_claims()), new.sign(&provider.valid_claims()));
    assert_eq!(list_tasks_with_token(&server, &by_old).await.status, 200);
    assert_eq!(
        (list_tasks_with_token(&server, &by_old).await.status, provider.key_requests()),
        (200, 1)
    );
    provider.publish(&[&new]);
    assert_eq!(
        (list_tasks_with_token(&server, &by_new).await.status, provider.key_requests()),
        (200, 2)
    );
    assert_eq!(
        (list_tasks_with_token(&server, &by_new).await.status, provider.key_requests()),
        (200, 2)
    );
    assert_eq!(
        list_tasks_with_token(&server, &by_old).await.status,
        401,
        "a removed key is no longer accepted"
    );
}

#[tokio::test]
async fn concurrent_tokens_trigger_one_key_fetch() {
    let key = TestKey::elliptic("k");
    let provider = FakeProvider::with_keys(&[&key]).await;
    let server = server_with_jwt(provider.settings()).await;
    let token = key.sign(&provider.valid_claims());
    let all =
        futures_util::future::join_all((0..50).map(|_| list_tasks_with_token(&server, &token)))
            .await;
    assert!(all.iter().all(|it| it.status == 200));
    assert_eq!(provider.key_requests(), 1);
}

#[tokio::test]
async fn invalid_tokens_do_not_flood_the_provider() {
    let key = TestKey::elliptic("k");
    let provider = FakeProvider::with_keys(&[&key]).await;
    let server = server_with_jwt(provider.settings()).await;
    let good = key.sign(&provider.valid_claims());
    assert_eq!(list_tasks_with_token(&server, &good).await.status, 200);
    let started = Instant::now();
    for number in 0..1000 {
        let token = match number % 4 {
            // A valid signature by an unknown key.
            0 => {
                let header = Header { kid: Some(format!("k{number}")), ..key.header() };
                key.sign_as(&header, &provider.valid_claims())
            }
            1 => format!("{}.{}.{number}", base64("{}"), base64("[]")),
            2 => format!("{good}{number}"),
            _ => format!("{number}.{}", "\u{7f}".escape_debug()),
        };
        let response = list_tasks_with_token(&server, &token).await;
        assert_eq!(response.status, 401, "{token}");
    }
    let max_requests = 2 + started.elapsed().as_secs() / 10;
    assert!(
        provider.key_requests() as u64 <= max_requests,
        "{} key requests",
        provider.key_requests()
    );
    assert_eq!(list_tasks_with_token(&server, &good).await.status, 200);
}

#[tokio::test]
async fn cached_keys_are_used_while_provider_is_down() {
    let key = TestKey::elliptic("k");
    let provider = FakeProvider::with_keys(&[&key]).await;
    let mut settings = provider.settings();
    settings.keys_max_age = Duration::ZERO;
    let server = server_with_jwt(settings.clone()).await;
    let token = key.sign(&provider.valid_claims());
    assert_eq!(list_tasks_with_token(&server, &token).await.status, 200);
    provider.set_down(true);
    assert_eq!(
        (list_tasks_with_token(&server, &token).await.status, provider.key_requests()),
        (200, 2)
    );
    assert_eq!(
        (list_tasks_with_token(&server, &token).await.status, provider.key_requests()),
        (200, 2),
        "no request during the cooldown"
    );
    let without_cache = server_with_jwt(settings).await;
    let response = list_tasks_with_token(&without_cache, &token).await;
    assert_eq!(response.status, 503, "the token cannot be verified");
    assert!(!response.text().contains(&provider.issuer()), "{}", response.text());
}

#[tokio::test]
async fn provider_with_another_issuer_is_rejected() {
    let key = TestKey::elliptic("k");
    let provider = FakeProvider::with_keys(&[&key]).await;
    provider.set_issuer("https://other.example");
    let token = key.sign(&provider.valid_claims());
    let server = server_with_jwt(provider.settings()).await;
    assert_eq!(
        (list_tasks_with_token(&server, &token).await.status, provider.key_requests()),
        (503, 0)
    );
    let mut settings = provider.settings();
    settings.keys_url = Some(format!("{}/keys", provider.issuer().trim_end_matches("/realm")));
    let without_discovery = server_with_jwt(settings).await;
    assert_eq!(
        list_tasks_with_token(&without_discovery, &token).await.status,
        200,
        "without discovery"
    );
    let card = without_discovery.v1().get("/.well-known/agent-card.json").await.json();
    assert_eq!(card["securitySchemes"]["jwt"]["httpAuthSecurityScheme"]["bearerFormat"], "JWT");
}

#[tokio::test]
async fn agent_receives_token_subject_scopes_and_claims() {
    let identity_agent = Agent::from_fn("who", |turn: Turn| async move {
        let caller = turn.caller();
        let team = caller.metadata().get("team").and_then(|it| it.as_str()).unwrap_or("none");
        turn.direct_reply(format!("{} [{}] {team}", caller.id(), caller.scopes().join(" "))).await
    })
    .with_direct_replies();
    let key = TestKey::elliptic("k");
    let provider = FakeProvider::with_keys(&[&key]).await;
    let server = start_server(
        Server::new(identity_agent).authenticate(JwtAuth::new(provider.settings()).unwrap()),
    )
    .await;
    let extra_claims = json!({"scope": "read", "scp": ["write"], "team": "blue"});
    let token = key.sign(&with_claims(&provider.valid_claims(), extra_claims));
    let caller = server.v1().with_header("authorization", format!("Bearer {token}"));
    let response = caller.post("/a2a", send_body("SendMessage", "hi")).await.json();
    let want = format!("jwt:{}#alice [read write] blue", provider.issuer());
    assert_eq!(response["result"]["message"]["parts"][0]["text"], want);
    let card = server.v1().get("/.well-known/agent-card.json").await.json();
    let url = format!("{}/.well-known/openid-configuration", provider.issuer());
    let scheme = &card["securitySchemes"]["oidc"]["openIdConnectSecurityScheme"];
    assert_eq!(scheme["openIdConnectUrl"], url);
    assert_eq!(card["securityRequirements"], json!([{"schemes": {"oidc": {}}}]));
}

#[tokio::test]
async fn token_without_required_scope_is_forbidden() {
    let key = TestKey::elliptic("k");
    let provider = FakeProvider::with_keys(&[&key]).await;
    let mut settings = provider.settings();
    settings.scopes = vec!["agents".into()];
    let server = server_with_jwt(settings).await;
    let refused = list_tasks_with_token(&server, &key.sign(&provider.valid_claims())).await;
    assert_eq!(refused.status, 403);
    let challenge = refused.header("www-authenticate");
    assert!(challenge.contains(r#"error="insufficient_scope""#), "{challenge}");
    assert!(challenge.contains(r#"scope="agents""#), "{challenge}");
    let sufficient = with_claims(&provider.valid_claims(), json!({"scope": "x agents"}));
    assert_eq!(list_tasks_with_token(&server, &key.sign(&sufficient)).await.status, 200);
    let card = server.v1().get("/.well-known/agent-card.json").await.json();
    let want = json!([{"schemes": {"oidc": {"list": ["agents"]}}}]);
    assert_eq!(card["securityRequirements"], want);
}

#[tokio::test]
async fn rejected_token_is_reported_in_each_binding() {
    let key = TestKey::elliptic("k");
    let provider = FakeProvider::with_keys(&[&key]).await;
    let mut settings = provider.settings();
    settings.scopes = vec!["agents".into()];
    let server = server_with_jwt(settings).await;
    let expired = key.sign(&with_claims(&provider.valid_claims(), json!({"exp": 1})));
    let without_scope = key.sign(&provider.valid_claims());
    for (token, status, code, grpc_code) in [
        (expired, 401, -31401, Code::Unauthenticated),
        (without_scope, 403, -31403, Code::PermissionDenied),
    ] {
        let caller = server.v1().with_header("authorization", format!("Bearer {token}"));
        for method in ["SendMessage", "SendStreamingMessage"] {
            let rpc = caller.post("/a2a", send_body(method, "hi")).await;
            assert_eq!((rpc.status, rpc.rpc_error_code()), (status, code), "{method}");
            assert!(rpc.header("www-authenticate").starts_with("Bearer "), "{method}");
        }
        let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).unwrap();
        let channel = endpoint.connect().await.unwrap();
        let mut client = v1::client::A2aServiceClient::new(channel);
        let mut request = tonic::Request::new(v1::ListTasksRequest::default());
        let value = format!("Bearer {token}").parse().unwrap();
        request.metadata_mut().insert("authorization", value);
        assert_eq!(client.list_tasks(request).await.unwrap_err().code(), grpc_code);
    }
}

#[test]
fn unsafe_jwt_settings_are_rejected() {
    let good = || JwtSettings::new("https://login.example", "latimer");
    assert!(JwtAuth::new(good()).is_ok());
    let check_changed = |change: fn(&mut JwtSettings)| {
        let mut settings = good();
        change(&mut settings);
        JwtAuth::new(settings).map(drop).map_err(|it| it.setting)
    };
    assert_eq!(check_changed(|it| it.issuer = "http://login.example".into()), Err("issuer"));
    assert_eq!(check_changed(|it| it.issuer = "login".into()), Err("issuer"));
    assert_eq!(check_changed(|it| it.issuer.push_str("/?a")), Err("issuer"));
    assert_eq!(check_changed(|it| it.issuer.push_str("/#a")), Err("issuer"));
    assert_eq!(check_changed(|it| it.keys_url = Some("http://x.example/".into())), Err("jwks_url"));
    assert_eq!(check_changed(|it| it.audiences.clear()), Err("audience"));
    assert_eq!(check_changed(|it| it.audiences.push(String::new())), Err("audience"));
    assert_eq!(check_changed(|it| it.algorithms.clear()), Err("algorithms"));
    assert_eq!(check_changed(|it| it.leeway = Duration::from_secs(3601)), Err("leeway"));
    assert_eq!(check_changed(|it| it.principal_claim.clear()), Err("principal_claim"));
}

#[tokio::test]
async fn stale_keys_are_rejected_while_provider_is_down() {
    let key = TestKey::elliptic("k");
    let provider = FakeProvider::with_keys(&[&key]).await;
    let mut settings = provider.settings();
    (settings.keys_max_age, settings.keys_max_stale) = (Duration::ZERO, Duration::ZERO);
    let server = server_with_jwt(settings).await;
    let token = key.sign(&provider.valid_claims());
    assert_eq!(list_tasks_with_token(&server, &token).await.status, 200);
    provider.set_down(true);
    for attempt in ["first", "during the cooldown"] {
        assert_eq!(list_tasks_with_token(&server, &token).await.status, 503, "{attempt}");
    }
}
