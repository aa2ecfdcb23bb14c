//! What a server says about itself.

use latimer_client::{CardTrust, Error};
use latimer_protocol::card::KeySet;
use serde_json::json;

use super::checks::{Checked, same, that};
use super::peer::Peer;

pub(super) async fn card(peer: &Peer<'_>) -> Checked {
    let card = peer.client.card().ok_or("no card")?;
    same("name", card.name.as_str(), "Fixture Agent")?;
    that(card.skills.iter().any(|it| it.id == "echo"), "a skill is missing")?;
    let choice = peer.client.interface().ok_or("no choice")?;
    same("version", choice.version, peer.version)
}

pub(super) async fn signature(peer: &Peer<'_>) -> Checked {
    let key = |x: &str| {
        let key = json!({"kty": "OKP", "crv": "Ed25519", "kid": "fixture-key", "x": x});
        KeySet::from_jwks(&json!({ "keys": [key] }))
    };
    let own = key("6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw")?;
    peer.builder([peer.version]).trust(CardTrust::Required(own)).connect().await?;
    let other = key("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")?;
    let trusted = peer.builder([peer.version]).trust(CardTrust::Required(other)).connect().await;
    that(matches!(trusted, Err(Error::UntrustedCard(_))), "another key is as good")
}

pub(super) async fn extended_card(peer: &Peer<'_>) -> Checked {
    let card = peer.client.extended_card().await?;
    same("name", card.name.as_str(), "Fixture Agent, extended")?;
    that(card.skills.iter().any(|it| it.id == "secret"), "its skill is missing")
}
