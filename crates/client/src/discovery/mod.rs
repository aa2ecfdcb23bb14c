//! Discovery of agent cards: location, trust and freshness.
//!
//! | module | content |
//! | --- | --- |
//! | `card_cache` | storage of cards between clients |
//! | `card_urls` | resolution of the URLs in a card |
//! | `freshness` | freshness and conditional requests |
//! | `source` | location of a card |
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
use parking_lot::Mutex;
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

/// Fetches the card of one agent, and caches it with the headers for a conditional request.
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
    /// The last card that was fetched or loaded, unless it was invalidated.
    cached_card: Mutex<Option<CachedCard>>,
    /// Storage that the caller provides.
    external_cache: Option<Arc<dyn CardCache>>,
    /// Whether the card in `external_cache` was loaded.
    stored_card_loaded: AtomicBool,
}

/// A trusted card.
#[derive(Clone, Debug)]
struct CachedCard {
    card: Arc<AgentCard>,
    /// URL where it was found.
    url: String,
    freshness: Freshness,
    /// JSON of the card as it was received, for the external cache.
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
        external_cache: Option<Arc<dyn CardCache>>,
    ) -> Self {
        Self {
            source,
            trust,
            anonymous,
            authenticated,
            cached_card: Mutex::default(),
            external_cache,
            stored_card_loaded: AtomicBool::new(false),
        }
    }

    /// Returns the cached card while it is fresh, otherwise asks the server whether it has changed.
    pub(crate) async fn card(&self) -> Result<Arc<AgentCard>, Error> {
        let cached = self.cached_card.lock().clone();
        let cached = match cached {
            Some(cached) => Some(cached),
            None => self.load_stored_card().await,
        };
        if let Some(cached) = cached.as_ref().filter(|it| !it.freshness.remaining().is_zero()) {
            *self.cached_card.lock() = Some(cached.clone());
            return Ok(Arc::clone(&cached.card));
        }
        self.update(cached).await
    }

    /// Asks the server whether the card has changed, and returns it.
    pub(crate) async fn refresh(&self) -> Result<Arc<AgentCard>, Error> {
        let cached = self.cached_card.lock().clone();
        self.update(cached).await
    }

    /// Returns the time for which the card remains fresh: zero if it was invalidated, `None` if it is
    /// not fetched from a server.
    pub(crate) fn fresh_for(&self) -> Option<Duration> {
        self.source.url()?;
        let cached = self.cached_card.lock();
        Some(cached.as_ref().map_or(Duration::ZERO, |it| it.freshness.remaining()))
    }

    /// Loads the card from the external cache. Returns `None` if the card is not trusted, or comes
    /// from a URL that this discovery would not fetch. Only the first call loads the card, so that an
    /// invalidated card is not loaded again.
    async fn load_stored_card(&self) -> Option<CachedCard> {
        if self.stored_card_loaded.swap(true, Ordering::Relaxed) {
            return None;
        }
        let stored = self.external_cache.as_ref()?.load(self.source.url()?).await?;
        let mut urls = self.url_groups().ok()?.into_iter().flatten();
        let card = self.trust.read_trusted(stored.json.as_bytes()).ok()?;
        urls.any(|it| it == stored.url).then(|| CachedCard {
            card: Arc::new(card),
            freshness: Freshness::from_stored(&stored),
            url: stored.url,
            json: Some(stored.json.into()),
        })
    }

    /// Writes a fetched card to the external cache.
    async fn save(&self, cached: &CachedCard) {
        if let (Some(cache), Some(url), Some(json)) =
            (&self.external_cache, self.source.url(), &cached.json)
            && let Some(stored) = cached.freshness.to_stored(&cached.url, json)
        {
            cache.save(url, stored).await;
        }
    }

    /// Fetches the card, or revalidates `cached`, and replaces the cached card.
    async fn update(&self, cached: Option<CachedCard>) -> Result<Arc<AgentCard>, Error> {
        let fetched = match &self.source {
            CardSource::Agent(_) | CardSource::CardUrl(_) => {
                self.revalidate_or_search(cached).await
            }
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
                *self.cached_card.lock() = Some(cached);
                Ok(card)
            }
            Err(error) => {
                *self.cached_card.lock() = None;
                Err(error)
            }
        }
    }

    /// Returns the URL where the cached card was found.
    pub(crate) fn found_at(&self) -> Option<Url> {
        self.cached_card.lock().as_ref().and_then(|it| Url::parse(&it.url).ok())
    }

    /// Discards the cached card.
    pub(crate) fn invalidate(&self) {
        *self.cached_card.lock() = None;
    }

    /// Asks the server whether `cached` has changed. Searches all URLs of the source if there is no
    /// cached card, or its URL has none any more.
    async fn revalidate_or_search(&self, cached: Option<CachedCard>) -> Result<CachedCard, Error> {
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

    /// Returns the URLs to fetch the card from, in groups. A group is tried only if no URL of the
    /// group before has a card.
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
            // The agent's own card may become available again. A card at the root may describe another
            // agent.
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
                    let json = self.external_cache.is_some().then(text);
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
