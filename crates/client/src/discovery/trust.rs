//! Whose cards are believed.

use latimer_protocol::card::{AgentCard, KeySet, VerifyPolicy, verify};
use serde_json::Value;

use crate::error::Error;

/// Whose cards are believed. The keys are those that the caller trusts; no card brings its own.
#[derive(Clone, Debug, Default)]
pub enum CardTrust {
    /// Everybody's: signatures are not looked at.
    #[default]
    Unverified,
    /// Everybody's, but what is signed must be signed by one of these keys.
    IfSigned(KeySet),
    /// Only what is signed by one of these keys.
    Required(KeySet),
}

impl CardTrust {
    /// Reads a card, and checks what must be checked. What was checked is what is returned.
    pub(super) fn read_trusted(&self, bytes: &[u8]) -> Result<AgentCard, Error> {
        let keys = match self {
            Self::Unverified => None,
            Self::IfSigned(keys) | Self::Required(keys) => Some(keys),
        };
        let malformed = |error: &dyn std::fmt::Display| Error::NoCard(error.to_string());
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|_| Error::NoCard("what was found is not JSON".into()))?;
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
