//! Verification of card signatures.

use latimer_protocol::card::{AgentCard, KeySet, VerifyPolicy, verify};
use serde_json::Value;

use crate::error::Error;

/// Policy for the signatures of cards. The caller provides the trusted keys; keys in a card are not
/// used.
#[derive(Clone, Debug, Default)]
pub enum CardTrust {
    /// Trusts all cards without verifying signatures.
    #[default]
    Unverified,
    /// Trusts unsigned cards, and cards that are signed by one of these keys.
    IfSigned(KeySet),
    /// Trusts only cards that are signed by one of these keys.
    Required(KeySet),
}

impl CardTrust {
    /// Parses a card and verifies it as required. Returns the verified content.
    pub(super) fn read_trusted(&self, bytes: &[u8]) -> Result<AgentCard, Error> {
        let keys = match self {
            Self::Unverified => None,
            Self::IfSigned(keys) | Self::Required(keys) => Some(keys),
        };
        let malformed = |error: &dyn std::fmt::Display| Error::NoCard(error.to_string());
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|_| Error::NoCard("the response is not JSON".into()))?;
        let card = AgentCard::from_json(&value).map_err(|error| malformed(&error))?;
        let is_signed = !card.signatures.is_empty();
        match keys {
            Some(keys) if is_signed || matches!(self, Self::Required(_)) => {
                Ok(verify(&value, keys, &VerifyPolicy::default())?.card)
            }
            Some(_) | None => Ok(card),
        }
    }
}
