//! Signed cards and published keys.

use http::Method;
use latimer_protocol::Secret;
use latimer_protocol::card::{
    AcceptedForms, AgentCard, JwsAlgorithm, KeySet, SignatureError, SigningKey, VerifiedCard,
    VerifyPolicy, verify,
};
use latimer_server::{ApiKeys, Keyring, Server, Settings, generate_key};
use serde_json::{Value, json};

use crate::support::{TestClient, shouter_server, start_server, test_agent};

const CARD: &str = "/.well-known/agent-card.json";
const JWKS: &str = "/.well-known/jwks.json";

fn new_key() -> SigningKey {
    SigningKey::read(generate_key(JwsAlgorithm::Es256).unwrap().reveal()).unwrap()
}

fn keyring() -> Keyring {
    Keyring::new(new_key()).unwrap()
}

/// Verifies a card with the published keys.
async fn verify_with_published_keys(
    client: &TestClient,
    card: &Value,
) -> Result<VerifiedCard, SignatureError> {
    let keys = KeySet::from_jwks(&client.get(JWKS).await.json()).unwrap();
    let strict = VerifyPolicy { forms: AcceptedForms::Specification, ..VerifyPolicy::default() };
    verify(card, &keys, &strict)
}

#[tokio::test]
async fn every_signable_card_format_verifies_with_the_jwks() {
    let keyring = keyring();
    let server = Server::new(test_agent("shouter")).with_agent(test_agent("other"));
    let server = start_server(server.with_keyring(keyring.clone())).await;
    let rpc = r#"{"jsonrpc":"2.0","id":1,"method":"GetAgentCard"}"#;
    let all = server.get("/a2a/agents").await.json();
    for card in [
        server.get(CARD).await.json(),
        server.v1().get(CARD).await.json(),
        server.get("/a2a/agents/other/.well-known/agent-card.json").await.json(),
        server.v1().post("/a2a", rpc).await.json()["result"].clone(),
        all["agents"][0].clone(),
        all["agents"][1].clone(),
    ] {
        let verified =
            verify_with_published_keys(&server, &card).await.expect("the signature is valid");
        assert_eq!(verified.kid, keyring.kid());
        assert_eq!(json!(verified.card.supported_interfaces), card["supportedInterfaces"]);
        let mut forged = card.clone();
        forged["supportedInterfaces"][0]["url"] = json!("https://evil.example");
        assert!(verify_with_published_keys(&server, &forged).await.is_err());
        let signed: AgentCard = serde_json::from_value(card).unwrap();
        let header = signed.signatures[0].protected_header().unwrap();
        assert_eq!(header.jku.unwrap(), format!("http://{}{JWKS}", server.address));
    }
    assert!(server.get("/.well-known/agent.json").await.json().get("signatures").is_none());
}

#[tokio::test]
async fn extended_card_is_signed() {
    let extended = AgentCard { name: "extended".into(), ..AgentCard::default() };
    let server = Server::new(test_agent("shouter").with_extended_card(extended));
    let keys = ApiKeys::default().with_operator_key(&Secret::new("sesame"));
    let server = start_server(server.with_keyring(keyring()).authenticate(keys)).await;
    let caller = server.with_header("x-api-key", "sesame");
    let card = caller.v1().get("/a2a/extendedAgentCard").await.json();
    assert_eq!(
        verify_with_published_keys(&server, &card).await.expect("the signature is valid").card.name,
        "extended"
    );
    let older = caller.get("/v1/card").await.json();
    assert!(older.get("signatures").is_none(), "0.3 extended cards have no signatures");
}

#[tokio::test]
async fn card_is_signed_for_each_server_address() {
    let server = start_server(shouter_server(Settings::default()).with_keyring(keyring())).await;
    let mut signatures = Vec::new();
    for host in ["localhost", "127.0.0.1", "[::1]", "localhost"] {
        let host = format!("{host}:{}", server.address.port());
        let card = server.with_header("host", &*host).v1().get(CARD).await.json();
        let verified = verify_with_published_keys(&server, &card).await.expect(&host);
        assert_eq!(verified.card.supported_interfaces[0].url, format!("http://{host}/a2a"));
        signatures.push(card["signatures"][0]["signature"].clone());
    }
    assert_eq!(signatures[0], signatures[3], "the signature of an address is cached");
    signatures.sort_by_key(ToString::to_string);
    signatures.dedup();
    assert_eq!(signatures.len(), 3);
}

/// A signature would make a forged host look trustworthy.
#[tokio::test]
async fn card_for_an_unverified_host_is_not_signed() {
    let settings = Settings { allowed_hosts: vec!["*".to_owned()], ..Settings::default() };
    let direct = start_server(shouter_server(settings.clone()).with_keyring(keyring())).await;
    let forged_host = direct.with_header("host", "evil.example");
    for caller in [
        forged_host.clone(),
        forged_host.v1(),
        forged_host.with_header("x-forwarded-host", "evil.example"),
    ] {
        let card = caller.get(CARD).await.json();
        assert_eq!(card["supportedInterfaces"][0]["url"], "http://evil.example/a2a");
        assert!(card.get("signatures").is_none(), "{card}");
    }

    let trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    let proxied = Settings { trusted_proxies, ..settings.clone() };
    let proxied = start_server(shouter_server(proxied).with_keyring(keyring())).await;
    // A proxy may forward a header of the client.
    for header in [("x-forwarded-host", "agents.example"), ("forwarded", "host=agents.example")] {
        let card = proxied.with_header(header.0, header.1).get(CARD).await.json();
        assert_eq!(card["supportedInterfaces"][0]["url"], "http://agents.example/a2a");
        assert!(card.get("signatures").is_none(), "{card}");
    }

    let server = shouter_server(settings).public_url("https://agents.example");
    let public = start_server(server.with_keyring(keyring())).await;
    let card = public.with_header("host", "evil.example").get(CARD).await.json();
    let verified =
        verify_with_published_keys(&public, &card).await.expect("the signature is valid");
    assert_eq!(verified.card.supported_interfaces[0].url, "https://agents.example/a2a");
}

#[tokio::test]
async fn rotated_keys_keep_former_signatures_valid() {
    let (former, next) = (new_key(), new_key());
    let keys = |key: &SigningKey| KeySet::from([key.verifying_key().unwrap()]);
    let public = "https://agents.example";
    let serve = |keyring| {
        start_server(shouter_server(Settings::default()).public_url(public).with_keyring(keyring))
    };

    let announced = Keyring::new(former.clone()).unwrap().publish(&keys(&next)).unwrap();
    let before = serve(announced).await;
    let old_card = before.get(CARD).await.json();

    let rotated = Keyring::new(next.clone()).unwrap().publish(&keys(&former)).unwrap();
    let after = serve(rotated).await;
    let new_card = after.get(CARD).await.json();

    for (server, card, kid) in [
        (&before, &old_card, former.kid()),
        (&before, &new_card, next.kid()),
        (&after, &old_card, former.kid()),
        (&after, &new_card, next.kid()),
    ] {
        assert_eq!(
            verify_with_published_keys(server, card).await.expect("the signature is valid").kid,
            kid
        );
    }
    let next_only = serve(Keyring::new(next).unwrap()).await;
    assert!(
        verify_with_published_keys(&next_only, &old_card).await.is_err(),
        "the former key is no longer published"
    );
}

#[tokio::test]
async fn jwks_is_public_and_cacheable() {
    let server = start_server(
        shouter_server(Settings::default()).authenticate_with(|_| None).with_keyring(keyring()),
    )
    .await;
    let keys = server.with_header("origin", "https://page.example").get(JWKS).await;
    assert_eq!((keys.status, keys.header("content-type")), (200, "application/json"));
    assert_eq!(keys.header("access-control-allow-origin"), "*");
    let page = server.with_header("origin", "https://page.example");
    let page = page.with_header("access-control-request-method", "GET");
    let preflight = page.send(Method::OPTIONS, JWKS, "").await;
    assert_eq!(preflight.header("access-control-allow-methods"), "GET, HEAD, OPTIONS");
    assert_eq!(keys.header("cache-control"), "public, max-age=300");
    assert_eq!(keys.json()["keys"][0]["use"], "sig");
    assert!(keys.json()["keys"][0].get("d").is_none());
    let tag = keys.header("etag").to_owned();
    assert_eq!(server.with_header("if-none-match", tag).get(JWKS).await.status, 304);
    assert_eq!(server.send(Method::POST, JWKS, "").await.status, 405);
    assert_eq!(server.send(Method::HEAD, JWKS, "").await.status, 200);
}

#[tokio::test]
async fn server_without_keys_signs_and_publishes_nothing() {
    let server = start_server(shouter_server(Settings::default())).await;
    assert_eq!(server.get(JWKS).await.status, 404);
    assert!(server.get(CARD).await.json().get("signatures").is_none());
}

#[tokio::test]
async fn author_signed_card_is_served_unchanged() {
    let author = new_key();
    let mut card = AgentCard::placeholder("https://author.example/a2a");
    card.sign(&author).unwrap();
    let signatures = card.signatures.clone();
    let server = Server::new(test_agent("shouter").with_card(card));
    let server = start_server(server.with_keyring(keyring())).await;
    let card = server.get(CARD).await.json();
    assert_eq!(card["signatures"], json!(signatures));
    let keys = KeySet::from([author.verifying_key().unwrap()]);
    let verified = verify(&card, &keys, &VerifyPolicy::default()).expect("the signature is valid");
    assert_eq!(verified.kid, author.kid());
}

#[tokio::test]
async fn unsignable_card_fails_startup() {
    let value = json!({"name": "x", "capabilities": {"extensions": [
        {"uri": "urn:x", "params": {"number": 9_007_199_254_740_993_u64}},
    ]}});
    let card: AgentCard = serde_json::from_value(value).unwrap();
    let server = Server::new(test_agent("shouter").with_card(card)).bind("127.0.0.1:0");
    let error = server.with_keyring(keyring()).listen().await.unwrap_err();
    assert!(error.to_string().contains("9007199254740993"), "{error}");
}
