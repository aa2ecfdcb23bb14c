//! Protected header of a card signature.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{SignatureRejection, SigningKey};
use crate::card::AgentCardSignature;
use crate::card::jws::from_base64url;

/// Protected header of a signature. Untrusted until the signature has been verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtectedHeader {
    /// Algorithm, as written by the signer.
    pub alg: String,
    /// Key id.
    pub kid: String,
    /// Type, `JOSE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typ: Option<String>,
    /// URL of a JWK set that contains the key. Callers must fetch it only over HTTPS and only from
    /// hosts that they already trust, because an attacker can set any URL.
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
        // RFC 7515 §4.1.11: unknown critical extensions must be rejected, and none is supported.
        if value.get("crit").is_some() {
            return Err(SignatureRejection::Header("has an unsupported critical extension"));
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
    /// Decodes the protected header without verifying it, to find the key to verify it with.
    ///
    /// # Errors
    /// Returns [`SignatureRejection::Header`] if the header is invalid.
    pub fn protected_header(&self) -> Result<ProtectedHeader, SignatureRejection> {
        ProtectedHeader::read(&self.protected)
    }
}
