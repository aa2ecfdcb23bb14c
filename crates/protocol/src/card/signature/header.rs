//! The header that is signed along with a card.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{SignatureRejection, SigningKey};
use crate::card::AgentCardSignature;
use crate::card::jws::from_base64url;

/// What a signature says about itself. Until it has been verified, anybody may have written it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtectedHeader {
    /// The algorithm, in the signer's spelling.
    pub alg: String,
    /// The name of the key.
    pub kid: String,
    /// The type: `JOSE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typ: Option<String>,
    /// Where the key can be found, as a set of JWKs. Fetch it from hosts that are trusted already,
    /// over HTTPS, or not at all: a forger would name an address of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jku: Option<String>,
}

impl ProtectedHeader {
    pub(super) fn for_key(key: &SigningKey) -> Self {
        Self {
            alg: key.algorithm().as_str().to_owned(),
            kid: key.kid().to_owned(),
            typ: Some("JOSE".to_owned()),
            jku: key.jku().map(str::to_owned),
        }
    }

    pub(super) fn read(protected: &str) -> Result<Self, SignatureRejection> {
        let bytes =
            from_base64url(protected).ok_or(SignatureRejection::Header("is not base64url"))?;
        let value: Value = serde_json::from_slice(&bytes)
            .ok()
            .filter(Value::is_object)
            .ok_or(SignatureRejection::Header("is not a JSON object"))?;
        // RFC 7515 §4.1.11: a critical extension that is not understood is refused, and we know none.
        if value.get("crit").is_some() {
            return Err(SignatureRejection::Header(
                "has a critical extension that is not understood",
            ));
        }
        let header: Self = crate::json::from_value(&value).map_err(|_| {
            SignatureRejection::Header("lacks alg or kid, or has members of the wrong type")
        })?;
        if header.kid.is_empty() {
            return Err(SignatureRejection::Header("lacks a kid"));
        }
        Ok(header)
    }
}

impl AgentCardSignature {
    /// What the signature says about itself, unverified: for finding the key to verify it with.
    ///
    /// # Errors
    /// When the protected header cannot be read, so that the signature proves nothing.
    pub fn protected_header(&self) -> Result<ProtectedHeader, SignatureRejection> {
        ProtectedHeader::read(&self.protected)
    }
}
