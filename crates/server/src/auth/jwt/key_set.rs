//! Cache of the keys of an identity provider.
//!
//! An unknown key triggers one request to the provider, because providers rotate keys. If the key is
//! still unknown, no further request is sent during a cooldown, so that invalid tokens cannot flood
//! the provider.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use parking_lot::RwLock;
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};
use tokio::task::JoinSet;
use tracing::{debug, warn};

use super::provider::Provider;

/// Minimum time between two requests when the first one did not find the key.
const REFRESH_COOLDOWN: Duration = Duration::from_secs(10);
/// Maximum number of keys that are used.
const MAX_KEYS: usize = 100;

/// Cached keys of an identity provider.
pub(super) struct KeySet {
    provider: Arc<Provider>,
    max_age: Duration,
    max_stale: Duration,
    current: Arc<RwLock<Option<Arc<FetchedKeys>>>>,
    /// Time of the last request that did not find the key. Locked during a request.
    refresh_lock: Arc<Mutex<Option<Instant>>>,
    /// Request to the provider, at most one at a time. It continues if the caller that started it
    /// disconnects, and is aborted when the key set is dropped.
    refresh_task: parking_lot::Mutex<JoinSet<()>>,
}

/// Key id and algorithm of a token.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyQuery<'t> {
    pub(super) kid: Option<&'t str>,
    pub(super) algorithm: Algorithm,
}

/// Reason why no key was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyLookupError {
    /// The provider does not publish the key.
    Unknown,
    /// The token has no key id, and several keys match its algorithm.
    Ambiguous,
    /// No request to the provider has succeeded recently.
    Unavailable,
}

/// Exclusive permission to send a request; contains the time of the last unsuccessful one.
type RefreshGuard = OwnedMutexGuard<Option<Instant>>;

/// Fetched keys, or `None` if the request failed, and the permission to send the next request.
type RefreshResult = (Option<Arc<FetchedKeys>>, RefreshGuard);

struct FetchedKeys {
    keys: Vec<ProviderKey>,
    fetched_at: Instant,
}

struct ProviderKey {
    kid: Option<String>,
    /// The only algorithm of the key, if the provider restricts it.
    algorithm: Option<Algorithm>,
    key: Arc<DecodingKey>,
}

impl KeySet {
    pub(super) fn new(provider: Provider, max_age: Duration, max_stale: Duration) -> Self {
        let provider = Arc::new(provider);
        Self {
            provider,
            max_age,
            max_stale,
            current: Arc::default(),
            refresh_lock: Arc::default(),
            refresh_task: parking_lot::Mutex::default(),
        }
    }

    /// Returns the key that verifies a token. Waits for a request to the provider if the key is not
    /// cached. Keys older than the maximum age remain in use for a limited time while the provider is
    /// unreachable.
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
            // Another call already requests the keys. Meanwhile the cached key is used.
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

    /// Requests the keys in the background. The request continues if its caller disconnects, because
    /// other callers wait for the result. Fails if the request was aborted or panicked.
    fn refresh(&self, failed_at: RefreshGuard) -> oneshot::Receiver<RefreshResult> {
        let (provider, current) = (self.provider.clone(), self.current.clone());
        let (result_sender, result_receiver) = oneshot::channel();
        let refresh = async move {
            let fetched = match provider.fetch_keys().await {
                Ok(keys) => {
                    let keys =
                        keys.iter().take(MAX_KEYS).filter_map(ProviderKey::from_jwk).collect();
                    let fetched = Arc::new(FetchedKeys { keys, fetched_at: Instant::now() });
                    debug!(keys = fetched.keys.len(), "identity provider keys fetched");
                    let updated = Some(fetched.clone());
                    *current.write() = updated;
                    Some(fetched)
                }
                Err(error) => {
                    warn!(%error, "fetching identity provider keys failed");
                    None
                }
            };
            // The send fails if the caller disconnected.
            let _ = result_sender.send((fetched, failed_at));
        };
        let mut refresh_task = self.refresh_task.lock();
        while refresh_task.try_join_next().is_some() {}
        refresh_task.spawn(refresh);
        result_receiver
    }

    /// Returns the cached keys, unless they are too old to be used even without the provider.
    fn current(&self) -> Option<Arc<FetchedKeys>> {
        let max_age = self.max_age.saturating_add(self.max_stale);
        self.current.read().clone().filter(|it| it.fetched_at.elapsed() < max_age)
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
    /// Creates a key from its JWK. Returns `None` for keys that do not verify asymmetric signatures.
    fn from_jwk(jwk: &Jwk) -> Option<Self> {
        if !matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature)) {
            return None;
        }
        let key = DecodingKey::from_jwk(jwk).ok()?;
        // With a published symmetric key, every reader could forge tokens.
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
