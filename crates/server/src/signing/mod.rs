//! Signatures of cards and webhook deliveries: the signing key and the published keys.

mod generate;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base16ct::HexDisplay;
use bytes::Bytes;
use latimer_protocol::card::{AgentCard, InvalidKey, KeySet, SignatureError, SigningKey};
use parking_lot::RwLock;
use serde_json::json;
use sha2::{Digest, Sha256};

pub use generate::{KeyGenerationError, generate_key};

/// Lifetime of a delivery token. Exceeds the duration of a delivery and usual clock differences.
const TOKEN_LIFETIME: Duration = Duration::from_secs(300);

/// Signing key of a server, and the public keys that it publishes. Cheap to clone; clones share the
/// keys.
///
/// The signing key can be rotated while the server runs: [`Keyring::replace`] signs with the next key
/// and keeps publishing the previous one, so earlier signatures still verify. Clients that cache the
/// published keys for a long time need the next key before it signs: [publish](Keyring::publish) it
/// in advance.
///
/// ```
/// # use latimer_server::{Keyring, generate_key};
/// # use latimer_protocol::card::{JwsAlgorithm, KeySet, SigningKey};
/// let previous = generate_key(JwsAlgorithm::Es256)?;
/// let key = generate_key(JwsAlgorithm::EdDsa)?;
/// let keyring = Keyring::new(SigningKey::read(key.reveal())?)?
///     .publish(&KeySet::read(previous.reveal())?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Keyring(Arc<RwLock<Arc<KeyringState>>>);

#[derive(Debug)]
struct KeyringState {
    key: SigningKey,
    published: KeySet,
    jwks: Bytes,
}

impl KeyringState {
    fn new(key: SigningKey, published: KeySet) -> Result<Self, InvalidKey> {
        let jwks = published.to_jwks()?.to_string().into();
        Ok(Self { key, published, jwks })
    }

    /// Returns a copy that also publishes `keys`, except those whose key id is already published.
    fn with_keys(&self, keys: &KeySet) -> Result<Self, InvalidKey> {
        let mut published = self.published.clone();
        for key in keys.iter() {
            if published.iter().all(|it| it.kid() != key.kid()) {
                published.insert(key.clone());
            }
        }
        Self::new(self.key.clone(), published)
    }
}

impl Keyring {
    /// Creates a keyring that signs with `key` and publishes its public key.
    ///
    /// # Errors
    /// Returns [`InvalidKey`] if the public key cannot be derived.
    pub fn new(key: SigningKey) -> Result<Self, InvalidKey> {
        let published = KeySet::from([key.verifying_key()?]);
        Ok(Self(Arc::new(RwLock::new(Arc::new(KeyringState::new(key, published)?)))))
    }

    /// Also publishes `keys`, such as previous and future signing keys. Keys whose key id is already
    /// published are ignored.
    ///
    /// # Errors
    /// Returns [`InvalidKey`] if a key cannot be encoded.
    pub fn publish(self, keys: &KeySet) -> Result<Self, InvalidKey> {
        self.set_state(self.state().with_keys(keys)?);
        Ok(self)
    }

    /// Replaces the signing key by that of `next`. Publishes the keys of `next` in addition to those
    /// published before, so earlier signatures still verify.
    ///
    /// # Errors
    /// Returns [`InvalidKey`] if a key cannot be encoded. The keyring is then unchanged.
    pub fn replace(&self, next: &Self) -> Result<(), InvalidKey> {
        let next = next.state().with_keys(&self.state().published)?;
        self.set_state(next);
        Ok(())
    }

    fn set_state(&self, state: KeyringState) {
        *self.0.write() = Arc::new(state);
    }

    fn state(&self) -> Arc<KeyringState> {
        Arc::clone(&self.0.read())
    }

    /// Returns the key id of the signing key.
    #[must_use]
    pub fn kid(&self) -> String {
        self.state().key.kid().to_owned()
    }

    /// Returns the published keys as a JWK set.
    pub(crate) fn jwks(&self) -> Bytes {
        self.state().jwks.clone()
    }

    /// Signs a card. `jku` is the URL of the published keys, written into the signature.
    pub(crate) fn sign(&self, card: &mut AgentCard, jku: String) -> Result<(), SignatureError> {
        card.sign(&self.state().key.clone().with_jku(jku))
    }

    /// Creates a token (JWT) that authenticates a webhook delivery to its receiver.
    ///
    /// | claim | meaning |
    /// | --- | --- |
    /// | `iss`, `aud` | sender and receiver |
    /// | `iat`, `exp` | creation time, and the expiry five minutes later |
    /// | `jti` | id of the delivery, equal in all attempts, so that a receiver can detect repetitions |
    /// | `request_body_sha256` | SHA-256 of the body in lower-case hexadecimal |
    ///
    /// # Errors
    /// Returns [`SignatureError::Signing`] if the key cannot sign.
    pub fn delivery_token(&self, delivery: &DeliveryClaims<'_>) -> Result<String, SignatureError> {
        let issued_at =
            delivery.issued_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.state().key.sign_jwt(&json!({
            "iss": delivery.issuer,
            "aud": delivery.audience,
            "iat": issued_at.as_secs(),
            "exp": (issued_at + TOKEN_LIFETIME).as_secs(),
            "jti": delivery.id,
            // The claim name that the receivers of other A2A implementations check.
            "request_body_sha256": format!("{:x}", HexDisplay(&Sha256::digest(delivery.body))),
        }))
    }
}

/// Properties of a webhook delivery that its token proves.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryClaims<'a> {
    /// Sender: the URL of the server.
    pub issuer: &'a str,
    /// Receiver: the origin of the webhook URL.
    pub audience: &'a str,
    /// Id of the delivery, equal in all attempts.
    pub id: &'a str,
    /// Creation time of the token.
    pub issued_at: SystemTime,
    /// Exact bytes of the request body.
    pub body: &'a [u8],
}
