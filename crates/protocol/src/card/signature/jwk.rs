//! JSON Web Keys (RFC 7517). Keys with contradictory or unsupported usage are rejected.

use jsonwebtoken::{DecodingKey, EncodingKey};
use serde::Deserialize;
use serde_json::Value;

use super::der::{self, KEY_BYTES};
use super::key::InvalidKey;
use crate::card::JwsAlgorithm;
use crate::card::jws::from_base64url;

/// Supported members of a JWK.
#[derive(Deserialize)]
pub(super) struct Jwk {
    kty: String,
    pub(super) kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
    d: Option<String>,
    p: Option<String>,
    q: Option<String>,
    dp: Option<String>,
    dq: Option<String>,
    qi: Option<String>,
}

impl Jwk {
    pub(super) fn read(value: &Value) -> Result<Self, InvalidKey> {
        let jwk: Self = crate::json::from_value(value).map_err(|_| InvalidKey::Malformed)?;
        if jwk.usage.as_deref().is_some_and(|it| it != "sig") {
            return Err(InvalidKey::Unsupported);
        }
        Ok(jwk)
    }

    /// Returns the only algorithm that the key supports.
    pub(super) fn algorithm(&self) -> Result<JwsAlgorithm, InvalidKey> {
        let algorithm = match (self.kty.as_str(), self.crv.as_deref()) {
            ("EC", Some("P-256")) => JwsAlgorithm::Es256,
            ("OKP", Some("Ed25519")) => JwsAlgorithm::EdDsa,
            ("RSA", _) => JwsAlgorithm::Rs256,
            _ => return Err(InvalidKey::Unsupported),
        };
        match self.alg.as_deref() {
            Some(declared) if declared != algorithm.as_str() => Err(InvalidKey::Unsupported),
            _ => Ok(algorithm),
        }
    }

    pub(super) fn to_decoding_key(&self) -> Result<DecodingKey, InvalidKey> {
        let required = |it: &Option<String>| it.clone().ok_or(InvalidKey::Malformed);
        let key = match self.algorithm()? {
            JwsAlgorithm::Es256 => {
                decode_key_bytes(&self.x)?;
                decode_key_bytes(&self.y)?;
                DecodingKey::from_ec_components(&required(&self.x)?, &required(&self.y)?)
            }
            JwsAlgorithm::EdDsa => {
                decode_key_bytes(&self.x)?;
                DecodingKey::from_ed_components(&required(&self.x)?)
            }
            JwsAlgorithm::Rs256 => {
                DecodingKey::from_rsa_components(&required(&self.n)?, &required(&self.e)?)
            }
        };
        key.map_err(|_| InvalidKey::Malformed)
    }

    pub(super) fn to_encoding_key(&self) -> Result<EncodingKey, InvalidKey> {
        let (der, read): (_, fn(&[u8]) -> EncodingKey) = match self.algorithm()? {
            JwsAlgorithm::Es256 => {
                let [d, x, y] = [&self.d, &self.x, &self.y].map(decode_key_bytes);
                (der::p256_key(&d?, &x?, &y?), EncodingKey::from_ec_der)
            }
            JwsAlgorithm::EdDsa => {
                (der::ed25519_key(&decode_key_bytes(&self.d)?), EncodingKey::from_ed_der)
            }
            JwsAlgorithm::Rs256 => {
                let [n, e, d, p, q, dp, dq, qi] =
                    [&self.n, &self.e, &self.d, &self.p, &self.q, &self.dp, &self.dq, &self.qi]
                        .map(decode_bytes);
                let numbers = [&n?[..], &e?, &d?, &p?, &q?, &dp?, &dq?, &qi?];
                (der::rsa_key(numbers), EncodingKey::from_rsa_der)
            }
        };
        Ok(read(&der.map_err(|_| InvalidKey::Malformed)?))
    }
}

fn decode_bytes(text: &Option<String>) -> Result<Vec<u8>, InvalidKey> {
    text.as_deref().and_then(from_base64url).ok_or(InvalidKey::Malformed)
}

/// Decodes 32 bytes, the length of keys and coordinates of both curves.
fn decode_key_bytes(text: &Option<String>) -> Result<Vec<u8>, InvalidKey> {
    decode_bytes(text)
        .and_then(|it| if it.len() == KEY_BYTES { Ok(it) } else { Err(InvalidKey::Malformed) })
}
