//! The keys of an identity provider, and when to ask for them again.
//!
//! A key that is not known is a reason to ask, once: providers change their keys. When that did not
//! help, nobody asks for a while, whatever the tokens say; so garbage costs the provider nothing.

use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

use super::provider::Provider;
use crate::sync::{read_unpoisoned, write_unpoisoned};

/// How long nobody asks when asking did not help.
const REFRESH_COOLDOWN: Duration = Duration::from_secs(10);
/// The most keys that are looked at.
const MAX_KEYS: usize = 100;

/// The keys of an identity provider.
pub(super) struct KeySet {
    provider: Arc<Provider>,
    max_age: Duration,
    current: Arc<RwLock<Option<Arc<FetchedKeys>>>>,
    /// When somebody asked in vain. Held while somebody asks.
    refresh_lock: Arc<Mutex<Option<Instant>>>,
    /// Requests to the provider that outlive the call that started them. Each has a timeout.
    refreshes: TaskTracker,
}

/// The key that a token is signed with.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyQuery<'t> {
    pub(super) kid: Option<&'t str>,
    pub(super) algorithm: Algorithm,
}

/// Why there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyLookupError {
    /// The provider does not have it.
    Unknown,
    /// The token does not name it, and there are several.
    Ambiguous,
    /// The provider never answered.
    Unavailable,
}

/// The right to ask, and when somebody did so in vain.
type RefreshGuard = OwnedMutexGuard<Option<Instant>>;

struct FetchedKeys {
    keys: Vec<ProviderKey>,
    fetched_at: Instant,
}

struct ProviderKey {
    kid: Option<String>,
    /// The only one that it is for, if there is one.
    algorithm: Option<Algorithm>,
    key: Arc<DecodingKey>,
}

impl KeySet {
    pub(super) fn new(provider: Provider, max_age: Duration) -> Self {
        let provider = Arc::new(provider);
        Self {
            provider,
            max_age,
            current: Arc::default(),
            refresh_lock: Arc::default(),
            refreshes: TaskTracker::new(),
        }
    }

    /// The key that a token is signed with. Keys that are too old are still good while the provider
    /// does not answer.
    pub(super) async fn find(
        &self,
        query: KeyQuery<'_>,
    ) -> Result<Arc<DecodingKey>, KeyLookupError> {
        let cached = self.current();
        let cached_result = find_key(cached.as_deref(), query);
        let is_fresh = cached.as_ref().is_some_and(|it| it.fetched_at.elapsed() < self.max_age);
        match cached_result {
            Ok(key) if is_fresh => return Ok(key),
            Err(KeyLookupError::Ambiguous) if is_fresh => return Err(KeyLookupError::Ambiguous),
            _ => {}
        }
        let mut failed_at = match &cached_result {
            // One who asks is enough.
            Ok(key) => match self.refresh_lock.clone().try_lock_owned() {
                Ok(failed_at) => failed_at,
                Err(_) => return Ok(key.clone()),
            },
            Err(_) => self.refresh_lock.clone().lock_owned().await,
        };
        let current = self.current();
        if !is_same_fetch(cached.as_ref(), current.as_ref())
            || failed_at.is_some_and(|it| it.elapsed() < REFRESH_COOLDOWN)
        {
            return find_key(current.as_deref(), query);
        }
        *failed_at = Some(Instant::now());
        let Ok((fetched, mut failed_at)) = self.refresh(failed_at).await else {
            return cached_result;
        };
        let Some(fetched) = fetched else { return cached_result };
        let result = find_key(Some(&fetched), query);
        if result.is_ok() {
            *failed_at = None;
        }
        result
    }

    /// Asks the provider, to the end: also when whoever wanted to know goes away meanwhile, because
    /// others wait for the answer.
    fn refresh(
        &self,
        failed_at: RefreshGuard,
    ) -> JoinHandle<(Option<Arc<FetchedKeys>>, RefreshGuard)> {
        let (provider, current) = (self.provider.clone(), self.current.clone());
        self.refreshes.spawn(async move {
            match provider.fetch_keys().await {
                Ok(keys) => {
                    let keys =
                        keys.iter().take(MAX_KEYS).filter_map(ProviderKey::from_jwk).collect();
                    let fetched = Arc::new(FetchedKeys { keys, fetched_at: Instant::now() });
                    debug!(keys = fetched.keys.len(), "keys of the identity provider have come");
                    let updated = Some(fetched.clone());
                    *write_unpoisoned(&current) = updated;
                    (Some(fetched), failed_at)
                }
                Err(error) => {
                    warn!(%error, "keys of the identity provider cannot be had");
                    (None, failed_at)
                }
            }
        })
    }

    fn current(&self) -> Option<Arc<FetchedKeys>> {
        read_unpoisoned(&self.current).clone()
    }
}

fn is_same_fetch(one: Option<&Arc<FetchedKeys>>, other: Option<&Arc<FetchedKeys>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

fn find_key(
    fetched: Option<&FetchedKeys>,
    query: KeyQuery<'_>,
) -> Result<Arc<DecodingKey>, KeyLookupError> {
    let fetched = fetched.ok_or(KeyLookupError::Unavailable)?;
    let mut candidates = fetched.keys.iter().filter(|it| it.supports(query.algorithm));
    if let Some(kid) = query.kid {
        let key = candidates.find(|it| it.kid.as_deref() == Some(kid));
        return key.map(|it| it.key.clone()).ok_or(KeyLookupError::Unknown);
    }
    match (candidates.next(), candidates.next()) {
        (Some(only), None) => Ok(only.key.clone()),
        (Some(_), Some(_)) => Err(KeyLookupError::Ambiguous),
        (None, _) => Err(KeyLookupError::Unknown),
    }
}

impl ProviderKey {
    /// A key for signatures of the kind that count, if it is one.
    fn from_jwk(jwk: &Jwk) -> Option<Self> {
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
        Some(Self { kid: jwk.common.key_id.clone(), algorithm, key: Arc::new(key) })
    }

    fn supports(&self, algorithm: Algorithm) -> bool {
        self.key.family() == algorithm.family() && self.algorithm.is_none_or(|it| it == algorithm)
    }
}
