//! Discovery: where the card of an agent is, whether it is trusted, and how long it is fresh.
//!
//! | module | content |
//! | --- | --- |
//! | `card_cache` | storage of cards between clients |
//! | `card_urls` | resolution of the URLs in a card |
//! | `freshness` | freshness and conditional requests |
//! | `source` | where a card is |
//! | `trust` | verification of signatures |

mod card_cache;
mod card_urls;
mod freshness;
mod source;
mod trust;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use latimer_protocol::Version;
use latimer_protocol::card::AgentCard;
use parking_lot::{Mutex, MutexGuard};
use url::Url;

use crate::client::CallOptions;
use crate::error::Error;
use crate::transport::{Endpoint, HttpChannel, OutgoingRequest, status_error};
pub use card_cache::{CardCache, StoredCard};
pub(crate) use card_urls::CardUrls;
use freshness::{Freshness, Validators};
pub use source::CardSource;
pub use trust::CardTrust;

/// Maximum size of a card, in bytes.
pub(crate) const MAX_CARD_BYTES: usize = 1024 * 1024;

/// Fetches the card of one agent, and caches it with what is needed to ask whether it has changed.
///
/// A card is fresh for as long as the headers of its server allow, by default for five minutes. Only
/// trusted cards are cached, and a failed request clears the cache.
#[derive(Debug)]
pub(crate) struct Discovery {
    source: CardSource,
    trust: CardTrust,
    /// Sends no credentials: most cards are public.
    anonymous: HttpChannel,
    /// Sends the client's credentials, for cards that require them.
    authenticated: HttpChannel,
    cache: Mutex<Option<CachedCard>>,
    card_cache: Option<Arc<dyn CardCache>>,
    stored_was_read: AtomicBool,
}

/// A trusted card.
#[derive(Clone, Debug)]
struct CachedCard {
    card: Arc<AgentCard>,
    /// URL where it was found.
    url: String,
    freshness: Freshness,
    /// The card as it was received, for the card cache.
    json: Option<Arc<str>>,
}

/// Result of a request for a card.
enum FetchResult {
    Card(CachedCard),
    /// The card has not changed.
    NotModified(Freshness),
    /// There is no card, or access is denied.
    Absent(Error),
    /// The server is temporarily unavailable.
    Unavailable(Error),
}

impl Discovery {
    pub(crate) fn new(
        source: CardSource,
        trust: CardTrust,
        anonymous: HttpChannel,
        authenticated: HttpChannel,
        card_cache: Option<Arc<dyn CardCache>>,
    ) -> Self {
        let (cache, stored_was_read) = (Mutex::default(), AtomicBool::new(false));
        Self { source, trust, anonymous, authenticated, cache, card_cache, stored_was_read }
    }

    /// Returns the cached card while it is fresh, otherwise asks the server whether it has changed.
    pub(crate) async fn card(&self) -> Result<Arc<AgentCard>, Error> {
        let cached = self.lock_cache().clone();
        let cached = match cached {
            Some(cached) => Some(cached),
            None => self.load_stored().await,
        };
        if let Some(cached) = cached.as_ref().filter(|it| !it.freshness.remaining().is_zero()) {
            *self.lock_cache() = Some(cached.clone());
            return Ok(Arc::clone(&cached.card));
        }
        self.update(cached).await
    }

    /// Asks the server whether the card has changed, and returns it.
    pub(crate) async fn refresh(&self) -> Result<Arc<AgentCard>, Error> {
        let cached = self.lock_cache().clone();
        self.update(cached).await
    }

    /// Returns how long the card is still fresh: zero if it was invalidated, none if it is not fetched
    /// from a server.
    pub(crate) fn fresh_for(&self) -> Option<Duration> {
        self.source.url()?;
        let cache = self.lock_cache();
        Some(cache.as_ref().map_or(Duration::ZERO, |it| it.freshness.remaining()))
    }

    /// Reads the card from the card cache, if it is trusted and one that this would fetch. Only the
    /// first call does: a card that was invalidated is not taken from there again.
    async fn load_stored(&self) -> Option<CachedCard> {
        if self.stored_was_read.swap(true, Ordering::Relaxed) {
            return None;
        }
        let stored = self.card_cache.as_ref()?.load(self.source.url()?).await?;
        let mut urls = self.url_groups().ok()?.into_iter().flatten();
        let card = self.trust.read_trusted(stored.json.as_bytes()).ok()?;
        urls.any(|it| it == stored.url).then(|| CachedCard {
            card: Arc::new(card),
            freshness: Freshness::from_stored(&stored),
            url: stored.url,
            json: Some(stored.json.into()),
        })
    }

    /// Writes a fetched card to the card cache.
    async fn save(&self, cached: &CachedCard) {
        if let (Some(cache), Some(url), Some(json)) =
            (&self.card_cache, self.source.url(), &cached.json)
            && let Some(stored) = cached.freshness.to_stored(&cached.url, json)
        {
            cache.save(url, stored).await;
        }
    }

    /// Fetches the card again, or validates `cached`.
    async fn update(&self, cached: Option<CachedCard>) -> Result<Arc<AgentCard>, Error> {
        let fetched = match &self.source {
            CardSource::Agent(_) | CardSource::CardUrl(_) => self.fetch_again(cached).await,
            CardSource::File(path) => {
                let contents = tokio::fs::read(path).await;
                let read_error = |error| Error::NoCard(format!("{} {error}", path.display()));
                return Ok(Arc::new(self.trust.read_trusted(&contents.map_err(read_error)?)?));
            }
            CardSource::Card(card) => return Ok(Arc::clone(card)),
        };
        match fetched {
            Ok(cached) => {
                self.save(&cached).await;
                let card = Arc::clone(&cached.card);
                *self.lock_cache() = Some(cached);
                Ok(card)
            }
            Err(error) => {
                *self.lock_cache() = None;
                Err(error)
            }
        }
    }

    /// Returns the URL where the cached card was found.
    pub(crate) fn found_at(&self) -> Option<Url> {
        self.lock_cache().as_ref().and_then(|it| Url::parse(&it.url).ok())
    }

    /// Discards the cached card.
    pub(crate) fn invalidate(&self) {
        *self.lock_cache() = None;
    }

    fn lock_cache(&self) -> MutexGuard<'_, Option<CachedCard>> {
        // The value is replaced as a whole, so a poisoned one is complete.
        self.cache.lock()
    }

    async fn fetch_again(&self, cached: Option<CachedCard>) -> Result<CachedCard, Error> {
        if let Some(cached) = cached {
            match self.fetch(&cached.url, cached.freshness.validators()).await? {
                FetchResult::Card(cached) => return Ok(cached),
                FetchResult::NotModified(freshness) => {
                    return Ok(CachedCard { freshness, ..cached });
                }
                FetchResult::Absent(_) | FetchResult::Unavailable(_) => {}
            }
        }
        self.search(&self.url_groups()?).await
    }

    /// URLs where the card may be, in groups; a group is tried if the one before has no card.
    fn url_groups(&self) -> Result<Vec<Vec<String>>, Error> {
        match &self.source {
            CardSource::Agent(url) => source::well_known_urls(url),
            CardSource::CardUrl(url) => Ok(vec![vec![url.clone()]]),
            CardSource::File(_) | CardSource::Card(_) => Ok(Vec::new()),
        }
    }

    /// Fetches the card from the first URL that has one.
    async fn search(&self, url_groups: &[Vec<String>]) -> Result<CachedCard, Error> {
        let mut reported = None;
        for group in url_groups {
            let mut is_unavailable = false;
            for url in group {
                let error = match self.fetch(url, &Validators::default()).await? {
                    FetchResult::Card(cached) => return Ok(cached),
                    FetchResult::NotModified(_) => {
                        return Err(Error::NoCard(
                            "the server answered 304 to an unconditional request".into(),
                        ));
                    }
                    FetchResult::Absent(error) => error,
                    FetchResult::Unavailable(error) => {
                        is_unavailable = true;
                        error
                    }
                };
                reported = Some(more_specific_error(reported, error));
            }
            // The card may become available again; one at the root may be that of another agent.
            if is_unavailable {
                break;
            }
        }
        Err(reported.unwrap_or_else(|| Error::NoCard("the source has no URL".into())))
    }

    async fn fetch(&self, url: &str, validators: &Validators) -> Result<FetchResult, Error> {
        let endpoint = Endpoint::new(url, Version::V1_0)?;
        let request = OutgoingRequest::new(Method::GET, endpoint.uri().clone(), None)
            .with_accept("application/json");
        let request = validators.make_conditional(request);
        let options = CallOptions::default();
        let mut response = self.anonymous.fetch(&endpoint, request.clone(), &options).await?;
        let auth_statuses = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
        if auth_statuses.contains(&response.status())
            && self.authenticated.has_credentials_for(&endpoint)
        {
            response = self.authenticated.fetch(&endpoint, request, &options).await?;
        }
        self.interpret(endpoint, url, &response)
    }

    fn interpret(
        &self,
        endpoint: Endpoint,
        url: &str,
        response: &Response<Bytes>,
    ) -> Result<FetchResult, Error> {
        let (status, body) = (response.status(), response.body());
        let freshness = Freshness::from_headers(response.headers());
        match status {
            StatusCode::NOT_MODIFIED => Ok(FetchResult::NotModified(freshness)),
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::GONE => {
                let problem = format!("{} has none: HTTP status {status}", endpoint.origin());
                Ok(FetchResult::Absent(Error::NoCard(problem)))
            }
            _ if !status.is_success() => {
                let error = status_error(endpoint.origin(), status, body, Version::V1_0);
                let is_transient =
                    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
                Ok(if is_transient {
                    FetchResult::Unavailable(error)
                } else {
                    FetchResult::Absent(error)
                })
            }
            _ => match self.trust.read_trusted(body) {
                Ok(card) => {
                    let (card, url) = (Arc::new(card), url.to_owned());
                    let text = || String::from_utf8_lossy(body).into();
                    let json = self.card_cache.is_some().then(text);
                    Ok(FetchResult::Card(CachedCard { card, url, freshness, json }))
                }
                // Many sites serve an HTML page at every URL.
                Err(error @ Error::NoCard(_)) => Ok(FetchResult::Absent(error)),
                Err(error) => Err(error),
            },
        }
    }
}

/// Selects the error to report: the first, unless it only states that there is no card.
fn more_specific_error(first: Option<Error>, next: Error) -> Error {
    match first {
        Some(Error::NoCard(_)) if !matches!(next, Error::NoCard(_)) => next,
        Some(first) => first,
        None => next,
    }
}

/// Freshness of a card whose server declares none.
const DEFAULT_FRESHNESS: Duration = Duration::from_secs(300);
