//! The keys of an identity provider, and when to ask for them again.
//!
//! A key that is not known is a reason to ask, once: providers change their keys. When that did not
//! help, nobody asks for a while, whatever the tokens say; so garbage costs the provider nothing.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::JoinHandle;
use tracing::{debug, warn};

use super::provider::Provider;

/// How long nobody asks when asking did not help.
const PAUSE: Duration = Duration::from_secs(10);
/// The most keys that are looked at.
const MOST: usize = 100;

/// The keys of an identity provider.
pub(super) struct KeySet {
    provider: Arc<Provider>,
    max_age: Duration,
    current: Arc<RwLock<Option<Arc<Fetched>>>>,
    /// When somebody asked in vain. Held while somebody asks.
    asking: Arc<Mutex<Option<Instant>>>,
}

/// The key that a token is signed with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'t> {
    pub(super) name: Option<&'t str>,
    pub(super) algorithm: Algorithm,
}

/// Why there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    /// The provider does not have it.
    Unknown,
    /// The token does not name it, and there are several.
    Unnamed,
    /// The provider never answered.
    Unavailable,
}

/// The right to ask, and when somebody did so in vain.
type Asking = OwnedMutexGuard<Option<Instant>>;

struct Fetched {
    keys: Vec<Key>,
    at: Instant,
}

struct Key {
    name: Option<String>,
    /// The only one that it is for, if there is one.
    algorithm: Option<Algorithm>,
    key: Arc<DecodingKey>,
}

impl KeySet {
    pub(super) fn new(provider: Provider, max_age: Duration) -> Self {
        let provider = Arc::new(provider);
        Self { provider, max_age, current: Arc::default(), asking: Arc::default() }
    }

    /// The key that a token is signed with. Keys that are too old are still good while the provider
    /// does not answer.
    pub(super) async fn find(&self, wanted: Wanted<'_>) -> Result<Arc<DecodingKey>, NoKey> {
        let before = self.current();
        let known = find(before.as_deref(), wanted);
        let is_fresh = before.as_ref().is_some_and(|it| it.at.elapsed() < self.max_age);
        match known {
            Ok(key) if is_fresh => return Ok(key),
            Err(NoKey::Unnamed) if is_fresh => return Err(NoKey::Unnamed),
            _ => {}
        }
        let mut vain = match &known {
            // One who asks is enough.
            Ok(key) => match self.asking.clone().try_lock_owned() {
                Ok(vain) => vain,
                Err(_) => return Ok(key.clone()),
            },
            Err(_) => self.asking.clone().lock_owned().await,
        };
        let now = self.current();
        if !same(before.as_ref(), now.as_ref()) || vain.is_some_and(|it| it.elapsed() < PAUSE) {
            return find(now.as_deref(), wanted);
        }
        *vain = Some(Instant::now());
        let Ok((fetched, mut vain)) = self.ask(vain).await else { return known };
        let Some(fetched) = fetched else { return known };
        let found = find(Some(&fetched), wanted);
        if found.is_ok() {
            *vain = None;
        }
        found
    }

    /// Asks the provider, to the end: also when whoever wanted to know goes away meanwhile, because
    /// others wait for the answer.
    fn ask(&self, vain: Asking) -> JoinHandle<(Option<Arc<Fetched>>, Asking)> {
        let (provider, current) = (self.provider.clone(), self.current.clone());
        tokio::spawn(async move {
            match provider.keys().await {
                Ok(keys) => {
                    let keys = keys.iter().take(MOST).filter_map(Key::of).collect();
                    let fetched = Arc::new(Fetched { keys, at: Instant::now() });
                    debug!(keys = fetched.keys.len(), "keys of the identity provider have come");
                    let new = Some(fetched.clone());
                    *current.write().unwrap_or_else(PoisonError::into_inner) = new;
                    (Some(fetched), vain)
                }
                Err(error) => {
                    warn!(%error, "keys of the identity provider cannot be had");
                    (None, vain)
                }
            }
        })
    }

    fn current(&self) -> Option<Arc<Fetched>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn same(one: Option<&Arc<Fetched>>, other: Option<&Arc<Fetched>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

fn find(fetched: Option<&Fetched>, wanted: Wanted<'_>) -> Result<Arc<DecodingKey>, NoKey> {
    let fetched = fetched.ok_or(NoKey::Unavailable)?;
    let mut fitting = fetched.keys.iter().filter(|it| it.fits(wanted.algorithm));
    if let Some(name) = wanted.name {
        let named = fitting.find(|it| it.name.as_deref() == Some(name));
        return named.map(|it| it.key.clone()).ok_or(NoKey::Unknown);
    }
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Ok(only.key.clone()),
        (Some(_), Some(_)) => Err(NoKey::Unnamed),
        (None, _) => Err(NoKey::Unknown),
    }
}

impl Key {
    /// A key for signatures of the kind that count, if it is one.
    fn of(jwk: &Jwk) -> Option<Self> {
        if !matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
            return None;
        }
        let key = DecodingKey::from_jwk(jwk).ok()?;
        // A secret that is published is none.
        if key.family() == AlgorithmFamily::Hmac {
            return None;
        }
        let algorithm =
            jwk.common.key_algorithm.map(|it| it.to_string().parse()).transpose().ok()?;
        Some(Self { name: jwk.common.key_id.clone(), algorithm, key: Arc::new(key) })
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        self.key.family() == algorithm.family() && self.algorithm.is_none_or(|it| it == algorithm)
    }
}
