//! Tokens of an identity provider.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use latimer_pb::v1;
use latimer_server::{Agent, Jwt, JwtAlgorithm, JwtSettings, Server, Turn};
use serde_json::{Value, json};
use tonic::Code;
use tonic::transport::Endpoint;

use super::provider::{Key, Provider, now};
use crate::support::{Answer, Site, agent, send, site};

async fn guarded(settings: JwtSettings) -> Site {
    site(Server::new(agent("shouter")).authenticate(Jwt::new(settings).unwrap())).await
}

async fn show(site: &Site, token: &str) -> Answer {
    site.v1().with("authorization", format!("Bearer {token}")).get("/a2a/tasks").await
}

/// Claims with something else in them.
fn but(claims: &Value, change: Value) -> Value {
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
async fn a_token_counts_when_everything_about_it_does() {
    let (rsa, elliptic, edwards) = (Key::rsa("r"), Key::elliptic("e"), Key::edwards("d"));
    let provider = Provider::with(&[&rsa, &elliptic, &edwards]).await;
    let site = guarded(provider.settings()).await;
    let good = provider.claims();
    let other = Key::elliptic("e");
    let (late, early) = (now() - 61, now() + 120);
    let crit = Header { crit: Some(vec!["x".into()]), ..rsa.header() };
    let renamed = |name: &str| Header { kid: Some(name.into()), ..elliptic.header() };
    let unnamed = Header { kid: None, ..elliptic.header() };
    for (what, token, want) in [
        ("RS256", rsa.sign(&good), ""),
        ("ES256", elliptic.sign(&good), ""),
        ("EdDSA", edwards.sign(&good), ""),
        ("several audiences", rsa.sign(&but(&good, json!({"aud": ["x", "latimer"]}))), ""),
        ("just expired", rsa.sign(&but(&good, json!({"exp": now() - 20}))), ""),
        ("the only key of its kind", elliptic.sign_as(&unnamed, &good), ""),
        ("expired", rsa.sign(&but(&good, json!({"exp": late}))), "has expired"),
        ("without an end", rsa.sign(&but(&good, json!({"exp": null}))), "no claim exp"),
        ("with a strange end", rsa.sign(&but(&good, json!({"exp": "soon"}))), "no claim exp"),
        ("not yet", rsa.sign(&but(&good, json!({"nbf": early}))), "not valid yet"),
        ("wrong audience", rsa.sign(&but(&good, json!({"aud": "other"}))), "another audience"),
        ("no audience", rsa.sign(&but(&good, json!({"aud": null}))), "no claim aud"),
        ("wrong issuer", rsa.sign(&but(&good, json!({"iss": "https://x"}))), "another issuer"),
        ("no issuer", rsa.sign(&but(&good, json!({"iss": null}))), "no claim iss"),
        ("nobody", rsa.sign(&but(&good, json!({"sub": null}))), "no claim sub"),
        ("an empty name", rsa.sign(&but(&good, json!({"sub": ""}))), "no claim sub"),
        ("a forged signature", other.sign(&good), "signature"),
        ("a key that is not there", elliptic.sign_as(&renamed("x"), &good), "does not have"),
        ("a key of another kind", elliptic.sign_as(&renamed("r"), &good), "does not have"),
        ("a critical extension", rsa.sign_as(&crit, &good), "extensions"),
        ("no token", "garbage".to_owned(), "not a JWT"),
    ] {
        let answer = show(&site, &token).await;
        let challenge = answer.header("www-authenticate");
        match want {
            "" => assert_eq!(answer.status, 200, "{what}: {}", answer.text()),
            want => {
                assert_eq!(answer.status, 401, "{what}");
                let start = r#"Bearer realm="latimer", error="invalid_token", error_description=""#;
                assert!(challenge.starts_with(start), "{what}: {challenge}");
                assert!(challenge.contains(want), "{what}: {challenge}");
            }
        }
    }
    let nothing = site.v1().get("/a2a/tasks").await;
    assert_eq!(nothing.status, 401);
    assert_eq!(nothing.header("www-authenticate"), r#"Bearer realm="latimer""#);
}

#[tokio::test]
async fn a_token_chooses_no_algorithm() {
    let rsa = Key::rsa("r");
    let provider = Provider::with(&[&rsa]).await;
    let mut settings = provider.settings();
    let site = guarded(settings.clone()).await;
    let good = provider.claims();
    let payload = base64(&good.to_string());
    let none =
        |name: &str| format!("{}.{payload}.", base64(&format!(r#"{{"alg":"{name}","kid":"r"}}"#)));
    // What everybody can read, taken for a secret.
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
        let answer = show(&site, &token).await;
        assert_eq!(answer.status, 401, "{what}");
        assert!(answer.header("www-authenticate").contains("invalid_token"), "{what}");
    }
    assert_eq!(provider.asked(), 0, "no key is needed to refuse these");
    settings.algorithms = vec!["ES256".parse::<JwtAlgorithm>().unwrap()];
    let narrow = guarded(settings).await;
    assert_eq!(show(&narrow, &rsa.sign(&good)).await.status, 401);
    assert_eq!(show(&site, &rsa.sign(&good)).await.status, 200);
}

#[tokio::test]
async fn a_new_key_is_asked_for_once() {
    let (old, new) = (Key::elliptic("old"), Key::elliptic("new"));
    let provider = Provider::with(&[&old]).await;
    let site = guarded(provider.settings()).await;
    let (by_old, by_new) = (old.sign(&provider.claims()), new.sign(&provider.claims()));
    assert_eq!(show(&site, &by_old).await.status, 200);
    assert_eq!((show(&site, &by_old).await.status, provider.asked()), (200, 1));
    provider.publish(&[&new]);
    assert_eq!((show(&site, &by_new).await.status, provider.asked()), (200, 2));
    assert_eq!((show(&site, &by_new).await.status, provider.asked()), (200, 2));
    assert_eq!(show(&site, &by_old).await.status, 401, "a key that is gone is gone");
}

#[tokio::test]
async fn many_tokens_at_once_ask_once() {
    let key = Key::elliptic("k");
    let provider = Provider::with(&[&key]).await;
    let site = guarded(provider.settings()).await;
    let token = key.sign(&provider.claims());
    let all = futures_util::future::join_all((0..50).map(|_| show(&site, &token))).await;
    assert!(all.iter().all(|it| it.status == 200));
    assert_eq!(provider.asked(), 1);
}

#[tokio::test]
async fn garbage_does_not_trouble_the_provider() {
    let key = Key::elliptic("k");
    let provider = Provider::with(&[&key]).await;
    let site = guarded(provider.settings()).await;
    let good = key.sign(&provider.claims());
    assert_eq!(show(&site, &good).await.status, 200);
    let began = Instant::now();
    for number in 0..1000 {
        let token = match number % 4 {
            // Well made, of a key that nobody has.
            0 => {
                let header = Header { kid: Some(format!("k{number}")), ..key.header() };
                key.sign_as(&header, &provider.claims())
            }
            1 => format!("{}.{}.{number}", base64("{}"), base64("[]")),
            2 => format!("{good}{number}"),
            _ => format!("{number}.{}", "\u{7f}".escape_debug()),
        };
        let answer = show(&site, &token).await;
        assert_eq!(answer.status, 401, "{token}");
    }
    let most = 2 + began.elapsed().as_secs() / 10;
    assert!(provider.asked() as u64 <= most, "asked {} times", provider.asked());
    assert_eq!(show(&site, &good).await.status, 200);
}

#[tokio::test]
async fn keys_are_good_while_the_provider_is_away() {
    let key = Key::elliptic("k");
    let provider = Provider::with(&[&key]).await;
    let mut settings = provider.settings();
    settings.keys_max_age = Duration::ZERO;
    let site = guarded(settings.clone()).await;
    let token = key.sign(&provider.claims());
    assert_eq!(show(&site, &token).await.status, 200);
    provider.go_away(true);
    assert_eq!((show(&site, &token).await.status, provider.asked()), (200, 2));
    assert_eq!((show(&site, &token).await.status, provider.asked()), (200, 2), "not at once again");
    let fresh = guarded(settings).await;
    let answer = show(&fresh, &token).await;
    assert_eq!(answer.status, 503, "nobody can say whether it counts");
    assert!(!answer.text().contains(&provider.issuer()), "{}", answer.text());
}

#[tokio::test]
async fn a_provider_that_is_somebody_else_has_no_keys() {
    let key = Key::elliptic("k");
    let provider = Provider::with(&[&key]).await;
    provider.call_itself("https://other.example");
    let token = key.sign(&provider.claims());
    let site = guarded(provider.settings()).await;
    assert_eq!((show(&site, &token).await.status, provider.asked()), (503, 0));
    let mut settings = provider.settings();
    settings.keys_url = Some(format!("{}/keys", provider.issuer().trim_end_matches("/realm")));
    let direct = guarded(settings).await;
    assert_eq!(show(&direct, &token).await.status, 200, "without discovery");
    let card = direct.v1().get("/.well-known/agent-card.json").await.json();
    assert_eq!(card["securitySchemes"]["jwt"]["httpAuthSecurityScheme"]["bearerFormat"], "JWT");
}

#[tokio::test]
async fn an_agent_knows_who_the_token_names() {
    let who = Agent::from_fn("who", |turn: Turn| async move {
        let caller = turn.caller();
        let team = caller.metadata().get("team").and_then(|it| it.as_str()).unwrap_or("none");
        turn.say(format!("{} [{}] {team}", caller.id(), caller.scopes().join(" "))).await
    });
    let key = Key::elliptic("k");
    let provider = Provider::with(&[&key]).await;
    let site = site(Server::new(who).authenticate(Jwt::new(provider.settings()).unwrap())).await;
    let more = json!({"scope": "read", "scp": ["write"], "team": "blue"});
    let token = key.sign(&but(&provider.claims(), more));
    let caller = site.v1().with("authorization", format!("Bearer {token}"));
    let answer = caller.post("/a2a", send("SendMessage", "hi")).await.json();
    let want = format!("jwt:{}#alice [read write] blue", provider.issuer());
    assert_eq!(answer["result"]["message"]["parts"][0]["text"], want);
    let card = site.v1().get("/.well-known/agent-card.json").await.json();
    let url = format!("{}/.well-known/openid-configuration", provider.issuer());
    let scheme = &card["securitySchemes"]["oidc"]["openIdConnectSecurityScheme"];
    assert_eq!(scheme["openIdConnectUrl"], url);
    assert_eq!(card["securityRequirements"], json!([{"schemes": {"oidc": {}}}]));
}

#[tokio::test]
async fn a_token_without_the_scope_is_known_and_refused() {
    let key = Key::elliptic("k");
    let provider = Provider::with(&[&key]).await;
    let mut settings = provider.settings();
    settings.scopes = vec!["agents".into()];
    let site = guarded(settings).await;
    let refused = show(&site, &key.sign(&provider.claims())).await;
    assert_eq!(refused.status, 403);
    let challenge = refused.header("www-authenticate");
    assert!(challenge.contains(r#"error="insufficient_scope""#), "{challenge}");
    assert!(challenge.contains(r#"scope="agents""#), "{challenge}");
    let enough = but(&provider.claims(), json!({"scope": "x agents"}));
    assert_eq!(show(&site, &key.sign(&enough)).await.status, 200);
    let card = site.v1().get("/.well-known/agent-card.json").await.json();
    let want = json!([{"schemes": {"oidc": {"list": ["agents"]}}}]);
    assert_eq!(card["securityRequirements"], want);
}

#[tokio::test]
async fn each_binding_says_it_in_its_way() {
    let key = Key::elliptic("k");
    let provider = Provider::with(&[&key]).await;
    let mut settings = provider.settings();
    settings.scopes = vec!["agents".into()];
    let site = guarded(settings).await;
    let expired = key.sign(&but(&provider.claims(), json!({"exp": 1})));
    let poor = key.sign(&provider.claims());
    for (token, status, code, grpc) in
        [(expired, 401, -31401, Code::Unauthenticated), (poor, 403, -31403, Code::PermissionDenied)]
    {
        let caller = site.v1().with("authorization", format!("Bearer {token}"));
        for method in ["SendMessage", "SendStreamingMessage"] {
            let rpc = caller.post("/a2a", send(method, "hi")).await;
            assert_eq!((rpc.status, rpc.code()), (status, code), "{method}");
            assert!(rpc.header("www-authenticate").starts_with("Bearer "), "{method}");
        }
        let endpoint = Endpoint::from_shared(format!("http://{}", site.address)).unwrap();
        let channel = endpoint.connect().await.unwrap();
        let mut client = v1::client::A2aServiceClient::new(channel);
        let mut request = tonic::Request::new(v1::ListTasksRequest::default());
        let value = format!("Bearer {token}").parse().unwrap();
        request.metadata_mut().insert("authorization", value);
        assert_eq!(client.list_tasks(request).await.unwrap_err().code(), grpc);
    }
}

#[test]
fn settings_that_let_anybody_in_are_refused() {
    let good = || JwtSettings::new("https://login.example", "latimer");
    assert!(Jwt::new(good()).is_ok());
    let changed = |change: fn(&mut JwtSettings)| {
        let mut settings = good();
        change(&mut settings);
        Jwt::new(settings).map(drop).map_err(|it| it.setting)
    };
    assert_eq!(changed(|it| it.issuer = "http://login.example".into()), Err("issuer"));
    assert_eq!(changed(|it| it.issuer = "login".into()), Err("issuer"));
    assert_eq!(changed(|it| it.issuer.push_str("/?a")), Err("issuer"));
    assert_eq!(changed(|it| it.issuer.push_str("/#a")), Err("issuer"));
    assert_eq!(changed(|it| it.keys_url = Some("http://x.example/".into())), Err("jwks_url"));
    assert_eq!(changed(|it| it.audiences.clear()), Err("audience"));
    assert_eq!(changed(|it| it.audiences.push(String::new())), Err("audience"));
    assert_eq!(changed(|it| it.algorithms.clear()), Err("algorithms"));
    assert_eq!(changed(|it| it.leeway = Duration::from_secs(3601)), Err("leeway"));
    assert_eq!(changed(|it| it.principal_claim.clear()), Err("principal_claim"));
}
