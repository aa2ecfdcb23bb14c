//! Checks of cards.

use latimer_client::{CardTrust, Error};
use latimer_protocol::card::KeySet;
use serde_json::json;

use super::checks::{CheckResult, ensure, ensure_eq};
use super::peer::Peer;

pub(super) async fn card(peer: &Peer<'_>) -> CheckResult {
    let card = peer.client.card().ok_or("no card")?;
    ensure_eq("name", card.name.as_str(), "Fixture Agent")?;
    ensure(card.skills.iter().any(|it| it.id == "echo"), "a skill is missing")?;
    let interface = peer.client.interface().ok_or("no interface")?;
    ensure_eq("version", interface.version, peer.version)
}

pub(super) async fn signature(peer: &Peer<'_>) -> CheckResult {
    let key = |x: &str| {
        let key = json!({"kty": "OKP", "crv": "Ed25519", "kid": "fixture-key", "x": x});
        KeySet::from_jwks(&json!({ "keys": [key] }))
    };
    let own = key("6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw")?;
    peer.builder([peer.version]).trust(CardTrust::Required(own)).connect().await?;
    let other = key("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")?;
    let trusted = peer.builder([peer.version]).trust(CardTrust::Required(other)).connect().await;
    ensure(
        matches!(trusted, Err(Error::UntrustedCard(_))),
        "a card with an untrusted signature was accepted",
    )
}

pub(super) async fn extended_card(peer: &Peer<'_>) -> CheckResult {
    let card = peer.client.extended_card().await?;
    ensure_eq("name", card.name.as_str(), "Fixture Agent, extended")?;
    ensure(card.skills.iter().any(|it| it.id == "secret"), "a skill is missing")
}
