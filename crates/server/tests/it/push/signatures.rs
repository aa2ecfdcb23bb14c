//! Signed deliveries.

use base16ct::HexDisplay;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, jwk};
use latimer_protocol::card::{JwsAlgorithm, SigningKey};
use latimer_server::{Keyring, PushSettings, generate_key};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::receiver::Delivery;
use super::{Receiver, identified, send_with_webhook, short_timeouts, webhook_server};
use crate::support::{TestServer, start_server};

fn keyring() -> Keyring {
    let key = generate_key(JwsAlgorithm::Es256).unwrap();
    Keyring::new(SigningKey::read(key.reveal()).unwrap()).unwrap()
}

/// Verifies a token with the published keys, as a receiver does, and returns its claims.
async fn verify_claims(
    server: &TestServer,
    delivery: &Delivery,
    token: &str,
    audience: &str,
) -> Value {
    let keys = server.get("/.well-known/jwks.json").await;
    let keys: jwk::JwkSet = serde_json::from_slice(&keys.body).unwrap();
    let kid = decode_header(token).unwrap().kid.unwrap();
    let key = DecodingKey::from_jwk(keys.find(&kid).expect("the key is published")).unwrap();
    let mut validation = Validation::new(Algorithm::ES256);
    validation.set_audience(&[audience.trim_end_matches('/')]);
    validation.set_issuer(&["https://agents.example"]);
    validation.set_required_spec_claims(&["iss", "aud", "exp"]);
    let claims = decode::<Value>(token, &key, &validation).unwrap().claims;
    assert_eq!(claims["jti"], delivery.header("webhook-id"));
    let digest = format!("{:x}", HexDisplay(&Sha256::digest(&delivery.body)));
    assert_eq!(claims["request_body_sha256"], digest);
    assert!(claims["iat"].as_u64() < claims["exp"].as_u64());
    claims
}

#[tokio::test]
async fn signed_delivery_verifies_with_the_published_keys() {
    let keyring = keyring();
    let push = PushSettings { allow_loopback: Some(true), ..short_timeouts() };
    let server = identified(webhook_server(push))
        .public_url("https://agents.example")
        .with_keyring(keyring.clone());
    let (server, receiver) = (start_server(server).await, Receiver::new().await);
    let plain = json!({"url": receiver.url("/plain?secret=1")});
    server.v1().post("/a2a", send_with_webhook("one", &plain.to_string(), false)).await;
    for delivery in receiver.wait_accepted(4).await {
        let token = delivery.header("a2a-notification-jwt").to_owned();
        assert_eq!(delivery.header("authorization"), format!("Bearer {token}"));
        let claims = verify_claims(&server, &delivery, &token, &receiver.url("/")).await;
        assert!(!claims.to_string().contains("secret"), "{claims}");
    }
    // The key is replaced while the server runs. The webhook's token takes precedence over the
    // signature in `Authorization`.
    let other = self::keyring();
    keyring.replace(&other).unwrap();
    let with_token = json!({"url": receiver.url("/asked"), "token": "t0"});
    server.v1().post("/a2a", send_with_webhook("one", &with_token.to_string(), false)).await;
    for delivery in receiver.wait_accepted(8).await {
        let token = delivery.header("a2a-notification-jwt");
        verify_claims(&server, &delivery, token, &receiver.url("/")).await;
        let with_new_key = delivery.path == "/asked";
        assert_eq!(
            decode_header(token).unwrap().kid.as_deref() == Some(&*other.kid()),
            with_new_key
        );
        assert_eq!(delivery.header("authorization") == "Bearer t0", with_new_key);
    }
    let card = server.get("/.well-known/agent-card.json").await.json();
    assert!(card["signatures"][0]["protected"].is_string(), "{card}");
}

#[tokio::test]
async fn deliveries_are_unsigned_without_a_key() {
    let (server, receiver) =
        (start_server(webhook_server(short_timeouts())).await, Receiver::new().await);
    let plain = json!({"url": receiver.url("/")});
    server.v1().post("/a2a", send_with_webhook("one", &plain.to_string(), false)).await;
    for delivery in receiver.wait_accepted(4).await {
        assert!(delivery.headers.get("a2a-notification-jwt").is_none());
        assert!(delivery.headers.get("authorization").is_none());
    }
    assert_eq!(server.get("/.well-known/jwks.json").await.status, 404);
}
