//! Syntax of card signatures: algorithms and headers, readable without a key.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::AgentCardSignature;

/// Signature algorithm. Each key supports exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum JwsAlgorithm {
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
    /// RSA PKCS#1 v1.5 with SHA-256 and a key of at least 2048 bits.
    Rs256,
}

impl JwsAlgorithm {
    /// All supported algorithms.
    pub const ALL: [Self; 3] = [Self::Es256, Self::EdDsa, Self::Rs256];

    /// Returns the JWS name of the algorithm.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
        }
    }
}

/// A name is not a supported algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not ES256, EdDSA or RS256")]
pub struct UnknownAlgorithm;

impl FromStr for JwsAlgorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        Self::ALL.into_iter().find(|it| it.as_str() == name).ok_or(UnknownAlgorithm)
    }
}

impl fmt::Display for JwsAlgorithm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl AgentCardSignature {
    /// Returns whether the protected header is a base64url-encoded JSON object.
    pub(crate) fn is_well_formed(&self) -> bool {
        let header = from_base64url(&self.protected);
        header.is_some_and(|it| serde_json::from_slice::<Map<String, Value>>(&it).is_ok())
    }
}

/// Decodes base64url without padding.
pub(super) fn from_base64url(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}
