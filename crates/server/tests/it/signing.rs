//! Signed cards, and the keys that prove them.

use http::Method;
use latimer_protocol::card::{
    AcceptedForms, AgentCard, JwsAlgorithm, KeySet, SignatureError, SigningKey, VerifiedCard,
    VerifyPolicy, verify,
};
use latimer_server::{Keyring, Server, Settings, generate};
use serde_json::{Value, json};

use crate::support::{Caller, agent, shouter, site};

const CARD: &str = "/.well-known/agent-card.json";
const KEYS: &str = "/.well-known/jwks.json";

fn new_key() -> SigningKey {
    SigningKey::read(generate(JwsAlgorithm::Es256).unwrap().reveal()).unwrap()
}

fn keyring() -> Keyring {
    Keyring::new(new_key()).unwrap()
}

/// What the published keys prove of a card.
async fn proven(site: &Caller, card: &Value) -> Result<VerifiedCard, SignatureError> {
    let keys = KeySet::from_jwks(&site.get(KEYS).await.json()).unwrap();
    let strict = VerifyPolicy { forms: AcceptedForms::Specification, ..VerifyPolicy::default() };
    verify(card, &keys, &strict)
}

#[tokio::test]
async fn a_card_is_proven_by_the_published_keys_in_every_form_that_can_be() {
    let keyring = keyring();
    let server = Server::new(agent("shouter")).with_agent(agent("other"));
    let site = site(server.signing(keyring.clone())).await;
    let rpc = r#"{"jsonrpc":"2.0","id":1,"method":"GetAgentCard"}"#;
    let all = site.get("/a2a/agents").await.json();
    for card in [
        site.get(CARD).await.json(),
        site.v1().get(CARD).await.json(),
        site.get("/a2a/agents/other/.well-known/agent-card.json").await.json(),
        site.v1().post("/a2a", rpc).await.json()["result"].clone(),
        all["agents"][0].clone(),
        all["agents"][1].clone(),
    ] {
        let verified = proven(&site, &card).await.expect("it holds");
        assert_eq!(verified.kid, keyring.kid());
        assert_eq!(json!(verified.card.supported_interfaces), card["supportedInterfaces"]);
        let mut forged = card.clone();
        forged["supportedInterfaces"][0]["url"] = json!("https://evil.example");
        assert!(proven(&site, &forged).await.is_err());
        let signed: AgentCard = serde_json::from_value(card).unwrap();
        let header = signed.signatures[0].protected_header().unwrap();
        assert_eq!(header.jku.unwrap(), format!("http://{}{KEYS}", site.address));
    }
    assert!(site.get("/.well-known/agent.json").await.json().get("signatures").is_none());
}

#[tokio::test]
async fn an_extended_card_is_signed_too() {
    let extended = AgentCard { name: "for friends".into(), ..AgentCard::default() };
    let server = Server::new(agent("shouter").with_extended_card(extended));
    let site = site(server.signing(keyring())).await;
    let card = site.v1().get("/a2a/extendedAgentCard").await.json();
    assert_eq!(proven(&site, &card).await.expect("it holds").card.name, "for friends");
    let older = site.get("/v1/card").await.json();
    assert!(older.get("signatures").is_none(), "0.3 has no room for it");
}

#[tokio::test]
async fn each_address_of_the_server_has_a_card_signed_for_it() {
    let site = site(shouter(Settings::default()).signing(keyring())).await;
    let mut signatures = Vec::new();
    for host in ["localhost", "127.0.0.1", "[::1]", "localhost"] {
        let host = format!("{host}:{}", site.address.port());
        let card = site.with("host", &*host).v1().get(CARD).await.json();
        let verified = proven(&site, &card).await.expect(&host);
        assert_eq!(verified.card.supported_interfaces[0].url, format!("http://{host}/a2a"));
        signatures.push(card["signatures"][0]["signature"].clone());
    }
    assert_eq!(signatures[0], signatures[3], "what is written once is kept");
    signatures.sort_by_key(ToString::to_string);
    signatures.dedup();
    assert_eq!(signatures.len(), 3);
}

/// Otherwise anybody could have a card signed that leads its readers to them.
#[tokio::test]
async fn an_address_that_a_caller_made_up_is_not_signed_for() {
    let settings = Settings { allowed_hosts: vec!["*".to_owned()], ..Settings::default() };
    let direct = site(shouter(settings.clone()).signing(keyring())).await;
    let made_up = direct.with("host", "evil.example");
    for caller in [made_up.clone(), made_up.v1(), made_up.with("x-forwarded-host", "evil.example")]
    {
        let card = caller.get(CARD).await.json();
        assert_eq!(card["supportedInterfaces"][0]["url"], "http://evil.example/a2a");
        assert!(card.get("signatures").is_none(), "{card}");
    }

    let trusted_proxies = vec!["127.0.0.1".parse().unwrap()];
    let proxied = Settings { trusted_proxies, ..settings.clone() };
    let proxied = site(shouter(proxied).signing(keyring())).await;
    // What a proxy says may be what its caller said.
    for header in [("x-forwarded-host", "agents.example"), ("forwarded", "host=agents.example")] {
        let card = proxied.with(header.0, header.1).get(CARD).await.json();
        assert_eq!(card["supportedInterfaces"][0]["url"], "http://agents.example/a2a");
        assert!(card.get("signatures").is_none(), "{card}");
    }

    let server = shouter(settings).public_url("https://agents.example");
    let public = site(server.signing(keyring())).await;
    let card = public.with("host", "evil.example").get(CARD).await.json();
    let verified = proven(&public, &card).await.expect("it holds");
    assert_eq!(verified.card.supported_interfaces[0].url, "https://agents.example/a2a");
}

#[tokio::test]
async fn keys_are_replaced_while_former_signatures_still_hold() {
    let (former, next) = (new_key(), new_key());
    let keys = |key: &SigningKey| KeySet::from([key.verifying_key().unwrap()]);
    let public = "https://agents.example";
    let serve = |keyring| site(shouter(Settings::default()).public_url(public).signing(keyring));

    let announced = Keyring::new(former.clone()).unwrap().publish(&keys(&next)).unwrap();
    let before = serve(announced).await;
    let old_card = before.get(CARD).await.json();

    let rotated = Keyring::new(next.clone()).unwrap().publish(&keys(&former)).unwrap();
    let after = serve(rotated).await;
    let new_card = after.get(CARD).await.json();

    for (site, card, kid) in [
        (&before, &old_card, former.kid()),
        (&before, &new_card, next.kid()),
        (&after, &old_card, former.kid()),
        (&after, &new_card, next.kid()),
    ] {
        assert_eq!(proven(site, card).await.expect("it holds").kid, kid);
    }
    let alone = serve(Keyring::new(next).unwrap()).await;
    assert!(proven(&alone, &old_card).await.is_err(), "it is withdrawn");
}

#[tokio::test]
async fn keys_are_for_everybody_and_can_be_kept() {
    let site = site(shouter(Settings::default()).auth(|_| None).signing(keyring())).await;
    let keys = site.with("origin", "https://page.example").get(KEYS).await;
    assert_eq!((keys.status, keys.header("content-type")), (200, "application/json"));
    assert_eq!(keys.header("access-control-allow-origin"), "*");
    let page = site.with("origin", "https://page.example");
    let page = page.with("access-control-request-method", "GET");
    let asked = page.ask(Method::OPTIONS, KEYS, "").await;
    assert_eq!(asked.header("access-control-allow-methods"), "GET, HEAD, OPTIONS");
    assert_eq!(keys.header("cache-control"), "public, max-age=300");
    assert_eq!(keys.json()["keys"][0]["use"], "sig");
    assert!(keys.json()["keys"][0].get("d").is_none());
    let tag = keys.header("etag").to_owned();
    assert_eq!(site.with("if-none-match", tag).get(KEYS).await.status, 304);
    assert_eq!(site.ask(Method::POST, KEYS, "").await.status, 405);
    assert_eq!(site.ask(Method::HEAD, KEYS, "").await.status, 200);
}

#[tokio::test]
async fn without_keys_nothing_is_signed_or_published() {
    let site = site(shouter(Settings::default())).await;
    assert_eq!(site.get(KEYS).await.status, 404);
    assert!(site.get(CARD).await.json().get("signatures").is_none());
}

#[tokio::test]
async fn a_card_that_its_author_signed_stays_as_it_is() {
    let author = new_key();
    let mut card = AgentCard::placeholder("https://author.example/a2a");
    card.sign(&author).unwrap();
    let signatures = card.signatures.clone();
    let server = Server::new(agent("shouter").with_card(card));
    let site = site(server.signing(keyring())).await;
    let card = site.get(CARD).await.json();
    assert_eq!(card["signatures"], json!(signatures));
    let keys = KeySet::from([author.verifying_key().unwrap()]);
    let verified = verify(&card, &keys, &VerifyPolicy::default()).expect("it holds");
    assert_eq!(verified.kid, author.kid());
}

#[tokio::test]
async fn a_card_that_cannot_be_signed_is_told_at_the_start() {
    let value = json!({"name": "x", "capabilities": {"extensions": [
        {"uri": "urn:x", "params": {"number": 9_007_199_254_740_993_u64}},
    ]}});
    let card: AgentCard = serde_json::from_value(value).unwrap();
    let server = Server::new(agent("shouter").with_card(card)).bind("127.0.0.1:0");
    let error = server.signing(keyring()).listen().await.unwrap_err();
    assert!(error.to_string().contains("9007199254740993"), "{error}");
}
