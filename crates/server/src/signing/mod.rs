//! Signing: the key that vouches for what the server says, and those it is known by.

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

/// How long a token proves something. Longer than it takes to deliver, and than clocks differ.
const TOKEN_LIFETIME: Duration = Duration::from_secs(300);

/// The key that signs, and all keys that are published. Cheap to clone; clones are one ring.
///
/// Keys are replaced without anybody noticing: [`Keyring::replace`] signs with the next key and goes
/// on publishing the former one. Whoever keeps published keys for long is told beforehand, by
/// publishing the next key a while before it signs.
///
/// ```
/// # use latimer_server::{Keyring, generate_key};
/// # use latimer_protocol::card::{JwsAlgorithm, KeySet, SigningKey};
/// let former = generate_key(JwsAlgorithm::Es256)?;
/// let key = generate_key(JwsAlgorithm::EdDsa)?;
/// let keyring = Keyring::new(SigningKey::read(key.reveal())?)?
///     .publish(&KeySet::read(former.reveal())?)?;
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

    /// The same ring with these keys as well; of keys with one name the first stays.
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
    /// Signs with this key, and publishes its public half.
    ///
    /// # Errors
    /// When the key is broken.
    pub fn new(key: SigningKey) -> Result<Self, InvalidKey> {
        let published = KeySet::from([key.verifying_key()?]);
        Ok(Self(Arc::new(RwLock::new(Arc::new(KeyringState::new(key, published)?)))))
    }

    /// Publishes these keys as well: those that signed before, and those that will. Of keys with one
    /// name the first is published.
    ///
    /// # Errors
    /// When a key is broken.
    pub fn publish(self, keys: &KeySet) -> Result<Self, InvalidKey> {
        self.set_state(self.state().with_keys(keys)?);
        Ok(self)
    }

    /// Signs with the key of another ring from now on, and publishes all that it does, beside what
    /// was published before: what was signed still holds.
    ///
    /// # Errors
    /// When a key is broken.
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

    /// The name of the key that signs.
    #[must_use]
    pub fn kid(&self) -> String {
        self.state().key.kid().to_owned()
    }

    /// The published keys, as JSON.
    pub(crate) fn jwks(&self) -> Bytes {
        self.state().jwks.clone()
    }

    /// Signs a card. `jku` is where its readers find the published keys.
    pub(crate) fn sign(&self, card: &mut AgentCard, jku: String) -> Result<(), SignatureError> {
        card.sign(&self.state().key.clone().with_jku(jku))
    }

    /// A token (JWT) that proves a delivery to its receiver: who sent it, to whom, when, and what.
    ///
    /// | claim | meaning |
    /// | --- | --- |
    /// | `iss`, `aud` | the sender and the receiver |
    /// | `iat`, `exp` | when it was made, and five minutes later |
    /// | `jti` | the delivery; a receiver that has seen it has seen this delivery |
    /// | `request_body_sha256` | the SHA-256 of the body, in lower-case hexadecimal |
    ///
    /// # Errors
    /// When the key cannot sign.
    pub fn delivery_token(&self, delivery: &DeliveryClaims<'_>) -> Result<String, SignatureError> {
        let issued_at =
            delivery.issued_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.state().key.sign_jwt(&json!({
            "iss": delivery.issuer,
            "aud": delivery.audience,
            "iat": issued_at.as_secs(),
            "exp": (issued_at + TOKEN_LIFETIME).as_secs(),
            "jti": delivery.id,
            // The name that receivers in the wild look for.
            "request_body_sha256": format!("{:x}", HexDisplay(&Sha256::digest(delivery.body))),
        }))
    }
}

/// What a token proves about a delivery.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryClaims<'a> {
    /// Who sends it: the address of this server, or of the agent.
    pub issuer: &'a str,
    /// To whom: the origin of the webhook.
    pub audience: &'a str,
    /// Its own name, the same for each attempt.
    pub id: &'a str,
    /// When the token is made.
    pub issued_at: SystemTime,
    /// Its body, byte for byte.
    pub body: &'a [u8],
}
