//! Deliveries that prove who sent them.

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, jwk};
use latimer_protocol::card::{JwsAlgorithm, SigningKey};
use latimer_server::{Keyring, PushSettings, generate};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::receiver::Delivery;
use super::{Receiver, hasty, send, server};
use crate::support::{Site, site};

fn keyring() -> Keyring {
    let key = generate(JwsAlgorithm::Es256).unwrap();
    Keyring::new(SigningKey::read(key.reveal()).unwrap()).unwrap()
}

/// What a receiver reads of the token in this header, with the keys that the server publishes.
async fn claims(site: &Site, delivery: &Delivery, token: &str, receiver: &str) -> Value {
    let keys = site.get("/.well-known/jwks.json").await;
    let keys: jwk::JwkSet = serde_json::from_slice(&keys.body).unwrap();
    let kid = decode_header(token).unwrap().kid.unwrap();
    let key = DecodingKey::from_jwk(keys.find(&kid).expect("the key is published")).unwrap();
    let mut validation = Validation::new(Algorithm::ES256);
    validation.set_audience(&[receiver.trim_end_matches('/')]);
    validation.set_issuer(&["https://agents.example"]);
    validation.set_required_spec_claims(&["iss", "aud", "exp"]);
    let claims = decode::<Value>(token, &key, &validation).unwrap().claims;
    assert_eq!(claims["jti"], delivery.header("webhook-id"));
    let digest = format!("{:x}", Sha256::digest(&delivery.body));
    assert_eq!(claims["request_body_sha256"], digest);
    assert!(claims["iat"].as_u64() < claims["exp"].as_u64());
    claims
}

#[tokio::test]
async fn a_delivery_proves_who_sent_it_and_what() {
    let keyring = keyring();
    let push = PushSettings { allow_loopback: Some(true), ..hasty() };
    let server = server(push).public_url("https://agents.example").signing(keyring.clone());
    let (site, receiver) = (site(server).await, Receiver::new().await);
    let plain = json!({"url": receiver.url("/plain?secret=1")});
    site.v1().post("/a2a", send("one", &plain.to_string(), false)).await;
    for delivery in receiver.taken(4).await {
        let token = delivery.header("a2a-notification-jwt").to_owned();
        assert_eq!(delivery.header("authorization"), format!("Bearer {token}"));
        let claims = claims(&site, &delivery, &token, &receiver.url("/")).await;
        assert!(!claims.to_string().contains("secret"), "{claims}");
    }
    // Keys are replaced while the server runs, and what was asked for goes before the signature.
    let other = self::keyring();
    keyring.replace(&other).unwrap();
    let asked = json!({"url": receiver.url("/asked"), "token": "t0"});
    site.v1().post("/a2a", send("one", &asked.to_string(), false)).await;
    for delivery in receiver.taken(8).await {
        let token = delivery.header("a2a-notification-jwt");
        claims(&site, &delivery, token, &receiver.url("/")).await;
        let new = delivery.path == "/asked";
        assert_eq!(decode_header(token).unwrap().kid.as_deref() == Some(&*other.kid()), new);
        assert_eq!(delivery.header("authorization") == "Bearer t0", new);
    }
    let card = site.get("/.well-known/agent-card.json").await.json();
    assert!(card["signatures"][0]["protected"].is_string(), "{card}");
}

#[tokio::test]
async fn without_a_key_nothing_is_signed() {
    let (site, receiver) = (site(server(hasty())).await, Receiver::new().await);
    let plain = json!({"url": receiver.url("/")});
    site.v1().post("/a2a", send("one", &plain.to_string(), false)).await;
    for delivery in receiver.taken(4).await {
        assert!(delivery.headers.get("a2a-notification-jwt").is_none());
        assert!(delivery.headers.get("authorization").is_none());
    }
    assert_eq!(site.get("/.well-known/jwks.json").await.status, 404);
}
