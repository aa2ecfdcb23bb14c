//! Keys: what signs a card, and what proves who did.

use std::fmt;

use jsonwebtoken::jwk::Jwk as LibraryJwk;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, crypto};
use serde_json::{Value, json};

use super::SignatureError;
use super::jwk::Jwk;
use crate::card::JwsAlgorithm;

/// A private key with its name. `Debug` shows nothing of the key itself.
#[derive(Clone)]
pub struct SigningKey {
    kid: String,
    jku: Option<String>,
    algorithm: JwsAlgorithm,
    key: EncodingKey,
}

impl SigningKey {
    /// Takes a private key from PEM: PKCS#8 of P-256, Ed25519 or RSA.
    ///
    /// # Errors
    /// When it is something else.
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

    /// Takes a private key from a JWK, whose `kid` is its name.
    ///
    /// # Errors
    /// When it is not a private key of P-256, Ed25519 or RSA, or has no name.
    pub fn from_jwk(jwk: &Value) -> Result<Self, InvalidKey> {
        if jwk.get("d").is_none() {
            return Err(InvalidKey::NotPrivate);
        }
        let jwk = Jwk::read(jwk)?;
        let kid = jwk.kid.clone().filter(|it| !it.is_empty()).ok_or(InvalidKey::MissingKid)?;
        let (algorithm, key) = (jwk.algorithm()?, jwk.to_encoding_key()?);
        let signing = Self::ensure_usable(Self { kid, jku: None, algorithm, key })?;
        // The public half is there twice, and a card would be signed in vain if they differed.
        let derived = signing.verifying_key()?.to_jwk()?;
        let declared = VerifyingKey::from_parsed_jwk(&jwk)?.to_jwk()?;
        if derived == declared { Ok(signing) } else { Err(InvalidKey::Malformed) }
    }

    /// The same key under another name.
    #[must_use]
    pub fn with_kid(mut self, kid: impl Into<String>) -> Self {
        self.kid = kid.into();
        self
    }

    /// The same key, with the address at which its public half is published as a set of JWKs.
    #[must_use]
    pub fn with_jku(mut self, jku: impl Into<String>) -> Self {
        self.jku = Some(jku.into());
        self
    }

    /// Its name.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Where its public half is published.
    #[must_use]
    pub fn jku(&self) -> Option<&str> {
        self.jku.as_deref()
    }

    /// The one algorithm it is for.
    #[must_use]
    pub fn algorithm(&self) -> JwsAlgorithm {
        self.algorithm
    }

    /// Its public half, under the same name.
    ///
    /// # Errors
    /// When the key is broken.
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

    /// A key of the right kind may still be of the wrong curve or too short: better told now.
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

/// A public key, and the one algorithm it is for.
#[derive(Clone)]
pub struct VerifyingKey {
    kid: Option<String>,
    algorithm: JwsAlgorithm,
    key: DecodingKey,
}

impl VerifyingKey {
    /// Takes a public key from PEM: of P-256, Ed25519 or RSA. Without a name it fits signatures
    /// that name any key.
    ///
    /// # Errors
    /// When it is something else, above all a private key.
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
        // PEM of any curve is taken above; only P-256 survives this.
        Jwk::read(&verifying.to_jwk()?)?.to_decoding_key()?;
        Ok(verifying)
    }

    /// Takes a public key from a JWK, whose `kid` is its name.
    ///
    /// # Errors
    /// When it is not a key of P-256, Ed25519 or RSA.
    pub fn from_jwk(jwk: &Value) -> Result<Self, InvalidKey> {
        Self::from_parsed_jwk(&Jwk::read(jwk)?)
    }

    fn from_parsed_jwk(jwk: &Jwk) -> Result<Self, InvalidKey> {
        let kid = jwk.kid.clone().filter(|it| !it.is_empty());
        Ok(Self { kid, algorithm: jwk.algorithm()?, key: jwk.to_decoding_key()? })
    }

    /// The same key under a name: it fits only signatures that name it.
    #[must_use]
    pub fn with_kid(mut self, kid: impl Into<String>) -> Self {
        self.kid = Some(kid.into());
        self
    }

    /// Its name, if it has one.
    #[must_use]
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// The one algorithm it is for.
    #[must_use]
    pub fn algorithm(&self) -> JwsAlgorithm {
        self.algorithm
    }

    /// The key as a JWK, for publishing.
    ///
    /// # Errors
    /// When the key is broken.
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

/// The keys that are trusted.
#[derive(Clone, Debug, Default)]
pub struct KeySet {
    keys: Vec<VerifyingKey>,
}

impl KeySet {
    /// Takes the keys of a JWK set: `{"keys": […]}`. Keys of other kinds are passed over, as
    /// RFC 7517 says.
    ///
    /// # Errors
    /// When it is no such set.
    pub fn from_jwks(jwks: &Value) -> Result<Self, InvalidKey> {
        let keys = jwks.get("keys").and_then(Value::as_array).ok_or(InvalidKey::Malformed)?;
        Ok(keys.iter().filter_map(|it| VerifyingKey::from_jwk(it).ok()).collect())
    }

    /// Trusts one more key.
    pub fn insert(&mut self, key: VerifyingKey) {
        self.keys.push(key);
    }

    /// The keys, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &VerifyingKey> {
        self.keys.iter()
    }

    /// Whether nothing is trusted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys of this name, and those without one.
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

/// Why something is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidKey {
    /// It cannot be read, or contradicts itself.
    #[error("the key is malformed")]
    Malformed,
    /// It is a key of another kind.
    #[error("the key is not one for ES256, EdDSA (Ed25519) or RS256 signatures")]
    Unsupported,
    /// An older form of private keys.
    #[error("the private key is not PKCS#8; convert it with: openssl pkcs8 -topk8 -nocrypt")]
    NotPkcs8,
    /// A private key is needed.
    #[error("the key is not a private one")]
    NotPrivate,
    /// A public key is needed.
    #[error("the key is not a public one; never hand out a private key")]
    NotPublic,
    /// A signature has to name its key.
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
