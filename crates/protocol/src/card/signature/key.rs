//! Signing keys, verifying keys and key sets.

use std::fmt;

use jsonwebtoken::jwk::Jwk as LibraryJwk;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, crypto};
use serde_json::{Value, json};

use super::SignatureError;
use super::jwk::Jwk;
use crate::card::JwsAlgorithm;

/// Private key with its key id. `Debug` does not print key material.
#[derive(Clone)]
pub struct SigningKey {
    kid: String,
    jku: Option<String>,
    algorithm: JwsAlgorithm,
    key: EncodingKey,
}

impl SigningKey {
    /// Reads a private key from PKCS#8 PEM: P-256, Ed25519 or RSA.
    ///
    /// # Errors
    /// Returns [`InvalidKey`] for anything else.
    pub fn from_pem(kid: impl Into<String>, pem: &str) -> Result<Self, InvalidKey> {
        if pem.contains("-----BEGIN EC PRIVATE KEY-----") {
            return Err(InvalidKey::NotPkcs8);
        }
        if !pem.contains("PRIVATE KEY-----") {
            return Err(InvalidKey::NotPrivate);
        }
        let pem = pem.as_bytes();
        let (algorithm, key) = EncodingKey::from_ec_pem(pem)
            .map(|key| (JwsAlgorithm::Es256, key))
            .or_else(|_| EncodingKey::from_ed_pem(pem).map(|key| (JwsAlgorithm::EdDsa, key)))
            .or_else(|_| EncodingKey::from_rsa_pem(pem).map(|key| (JwsAlgorithm::Rs256, key)))
            .map_err(|_| InvalidKey::Malformed)?;
        Self::ensure_usable(Self { kid: kid.into(), jku: None, algorithm, key })
    }

    /// Reads a private key and its key id from a JWK.
    ///
    /// # Errors
    /// Returns [`InvalidKey`] unless the JWK is a P-256, Ed25519 or RSA private key with a `kid`.
    pub fn from_jwk(jwk: &Value) -> Result<Self, InvalidKey> {
        if jwk.get("d").is_none() {
            return Err(InvalidKey::NotPrivate);
        }
        let jwk = Jwk::read(jwk)?;
        let kid = jwk.kid.clone().filter(|it| !it.is_empty()).ok_or(InvalidKey::MissingKid)?;
        let (algorithm, key) = (jwk.algorithm()?, jwk.to_encoding_key()?);
        let signing = Self::ensure_usable(Self { kid, jku: None, algorithm, key })?;
        // The JWK contains the public key as well. If it differed, no signature would verify.
        let derived = signing.verifying_key()?.to_jwk()?;
        let declared = VerifyingKey::from_parsed_jwk(&jwk)?.to_jwk()?;
        if derived == declared { Ok(signing) } else { Err(InvalidKey::Malformed) }
    }

    /// Sets the key id.
    #[must_use]
    pub fn with_kid(mut self, kid: impl Into<String>) -> Self {
        self.kid = kid.into();
        self
    }

    /// Sets the URL at which the public key is published as a JWK set.
    #[must_use]
    pub fn with_jku(mut self, jku: impl Into<String>) -> Self {
        self.jku = Some(jku.into());
        self
    }

    /// Returns the key id.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Returns the URL at which the public key is published.
    #[must_use]
    pub fn jku(&self) -> Option<&str> {
        self.jku.as_deref()
    }

    /// Returns the only algorithm that the key supports.
    #[must_use]
    pub fn algorithm(&self) -> JwsAlgorithm {
        self.algorithm
    }

    /// Returns the public key with the same key id.
    ///
    /// # Errors
    /// Returns [`InvalidKey::Malformed`] if the public key cannot be derived.
    pub fn verifying_key(&self) -> Result<VerifyingKey, InvalidKey> {
        let jwk = LibraryJwk::from_encoding_key(&self.key, library_algorithm(self.algorithm))
            .map_err(|_| InvalidKey::Malformed)?;
        let key = DecodingKey::from_jwk(&jwk).map_err(|_| InvalidKey::Malformed)?;
        Ok(VerifyingKey { kid: Some(self.kid.clone()), algorithm: self.algorithm, key })
    }

    pub(super) fn sign(&self, message: &[u8]) -> Result<String, SignatureError> {
        crypto::sign(message, &self.key, library_algorithm(self.algorithm))
            .map_err(|error| SignatureError::Signing(error.to_string()))
    }

    /// Rejects keys that have an unsupported curve or are too short.
    fn ensure_usable(self) -> Result<Self, InvalidKey> {
        self.verifying_key()?;
        Ok(self)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SigningKey")
            .field("kid", &self.kid)
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// Public key, bound to one algorithm.
#[derive(Clone)]
pub struct VerifyingKey {
    kid: Option<String>,
    algorithm: JwsAlgorithm,
    key: DecodingKey,
}

impl VerifyingKey {
    /// Reads a public key from PEM: P-256, Ed25519 or RSA. The key has no id and is tried for
    /// signatures with any key id.
    ///
    /// # Errors
    /// Returns [`InvalidKey`] for anything else, including private keys.
    pub fn from_pem(pem: &str) -> Result<Self, InvalidKey> {
        if !pem.contains("PUBLIC KEY-----") || pem.contains("PRIVATE KEY-----") {
            return Err(InvalidKey::NotPublic);
        }
        let pem = pem.as_bytes();
        let (algorithm, key) = DecodingKey::from_ec_pem(pem)
            .map(|key| (JwsAlgorithm::Es256, key))
            .or_else(|_| DecodingKey::from_ed_pem(pem).map(|key| (JwsAlgorithm::EdDsa, key)))
            .or_else(|_| DecodingKey::from_rsa_pem(pem).map(|key| (JwsAlgorithm::Rs256, key)))
            .map_err(|_| InvalidKey::Malformed)?;
        let verifying = Self { kid: None, algorithm, key };
        // `from_ec_pem` accepts all curves; `to_decoding_key` accepts only P-256.
        Jwk::read(&verifying.to_jwk()?)?.to_decoding_key()?;
        Ok(verifying)
    }

    /// Reads a public key and its optional key id from a JWK.
    ///
    /// # Errors
    /// Returns [`InvalidKey`] unless the JWK is a P-256, Ed25519 or RSA key.
    pub fn from_jwk(jwk: &Value) -> Result<Self, InvalidKey> {
        Self::from_parsed_jwk(&Jwk::read(jwk)?)
    }

    fn from_parsed_jwk(jwk: &Jwk) -> Result<Self, InvalidKey> {
        let kid = jwk.kid.clone().filter(|it| !it.is_empty());
        Ok(Self { kid, algorithm: jwk.algorithm()?, key: jwk.to_decoding_key()? })
    }

    /// Sets the key id. The key is then tried only for signatures with this key id.
    #[must_use]
    pub fn with_kid(mut self, kid: impl Into<String>) -> Self {
        self.kid = Some(kid.into());
        self
    }

    /// Returns the key id, if the key has one.
    #[must_use]
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// Returns the only algorithm that the key supports.
    #[must_use]
    pub fn algorithm(&self) -> JwsAlgorithm {
        self.algorithm
    }

    /// Converts the key to a JWK for publication.
    ///
    /// # Errors
    /// Returns [`InvalidKey::Malformed`] if the key cannot be encoded.
    pub fn to_jwk(&self) -> Result<Value, InvalidKey> {
        let jwk = LibraryJwk::from_decoding_key(&self.key, Some(library_algorithm(self.algorithm)))
            .map_err(|_| InvalidKey::Malformed)?;
        let mut jwk = serde_json::to_value(jwk).map_err(|_| InvalidKey::Malformed)?;
        jwk["use"] = json!("sig");
        if let Some(kid) = &self.kid {
            jwk["kid"] = json!(kid);
        }
        Ok(jwk)
    }

    pub(super) fn verify(&self, message: &[u8], signature: &str) -> bool {
        crypto::verify(signature, message, &self.key, library_algorithm(self.algorithm))
            .unwrap_or(false)
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("VerifyingKey")
            .field("kid", &self.kid)
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

/// Set of trusted public keys.
///
/// ```
/// use latimer_protocol::card::KeySet;
/// use serde_json::json;
///
/// let keys = KeySet::from_jwks(&json!({"keys": [{
///     "kty": "OKP", "crv": "Ed25519", "kid": "k1",
///     "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
/// }]}))?;
/// assert_eq!(keys.iter().next().and_then(|key| key.kid()), Some("k1"));
/// # Ok::<(), latimer_protocol::card::InvalidKey>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct KeySet {
    keys: Vec<VerifyingKey>,
}

impl KeySet {
    /// Reads the keys of a JWK set, `{"keys": […]}`. Unsupported keys are ignored, as RFC 7517
    /// requires.
    ///
    /// # Errors
    /// Returns [`InvalidKey::Malformed`] if the value is not a JWK set.
    pub fn from_jwks(jwks: &Value) -> Result<Self, InvalidKey> {
        let keys = jwks.get("keys").and_then(Value::as_array).ok_or(InvalidKey::Malformed)?;
        Ok(keys.iter().filter_map(|it| VerifyingKey::from_jwk(it).ok()).collect())
    }

    /// Adds a trusted key.
    pub fn insert(&mut self, key: VerifyingKey) {
        self.keys.push(key);
    }

    /// Iterates over the keys in insertion order.
    pub fn iter(&self) -> impl Iterator<Item = &VerifyingKey> {
        self.keys.iter()
    }

    /// Returns whether the set has no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the keys with this id and the keys without an id.
    pub(super) fn matching_kid(&self, kid: &str) -> Vec<&VerifyingKey> {
        self.keys.iter().filter(|it| it.kid().is_none_or(|it| it == kid)).collect()
    }
}

impl FromIterator<VerifyingKey> for KeySet {
    fn from_iter<I: IntoIterator<Item = VerifyingKey>>(keys: I) -> Self {
        Self { keys: keys.into_iter().collect() }
    }
}

impl<const N: usize> From<[VerifyingKey; N]> for KeySet {
    fn from(keys: [VerifyingKey; N]) -> Self {
        keys.into_iter().collect()
    }
}

/// Reason why a value is not a usable key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidKey {
    /// The key cannot be parsed or is inconsistent.
    #[error("the key is malformed")]
    Malformed,
    /// The key type or curve is not supported.
    #[error("the key type is not supported: use a key for ES256, EdDSA (Ed25519) or RS256")]
    Unsupported,
    /// The private key uses the SEC1 format.
    #[error("the private key is not PKCS#8; convert it with: openssl pkcs8 -topk8 -nocrypt")]
    NotPkcs8,
    /// A private key is required.
    #[error("the key is not a private key")]
    NotPrivate,
    /// A public key is required.
    #[error("the key is not a public key: never distribute a private key")]
    NotPublic,
    /// The key has no key id.
    #[error("the key has no kid")]
    MissingKid,
}

const fn library_algorithm(algorithm: JwsAlgorithm) -> Algorithm {
    match algorithm {
        JwsAlgorithm::Es256 => Algorithm::ES256,
        JwsAlgorithm::EdDsa => Algorithm::EdDSA,
        JwsAlgorithm::Rs256 => Algorithm::RS256,
    }
}
