//! Finding out how an agent is called: its card, from where it publishes it.

mod card_urls;
mod freshness;
mod source;
mod trust;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use latimer_protocol::Version;
use latimer_protocol::card::AgentCard;
use url::Url;

use crate::client::CallOptions;
use crate::error::Error;
use crate::transport::{Endpoint, HttpChannel, OutgoingRequest, status_error};
pub(crate) use card_urls::CardUrls;
use freshness::{Freshness, Validators};
pub use source::CardSource;
pub use trust::CardTrust;

/// The largest card that is read, in bytes.
pub(crate) const MAX_CARD_BYTES: usize = 1024 * 1024;

/// Looks up the card of one agent, and keeps it while it is fresh.
///
/// A card is fresh for as long as its server says, and five minutes if it says nothing; then the
/// server is asked whether it has changed. Nothing is kept that was not read and trusted, and nothing
/// at all once something went wrong.
#[derive(Debug)]
pub(crate) struct Discovery {
    source: CardSource,
    trust: CardTrust,
    /// Shows nothing: most cards are for everybody.
    anonymous: HttpChannel,
    /// Shows what there is, where a card is not for everybody.
    authenticated: HttpChannel,
    cache: Mutex<Option<CachedCard>>,
}

/// A card that was read and trusted.
#[derive(Clone, Debug)]
struct CachedCard {
    card: Arc<AgentCard>,
    /// Where it was found.
    url: String,
    freshness: Freshness,
}

/// What one address answers.
enum FetchResult {
    Card(CachedCard),
    /// The card is as it was, and fresh again.
    NotModified(Freshness),
    /// There is no card here, or none for us.
    Absent(Error),
    /// There may be one later on.
    Unavailable(Error),
}

impl Discovery {
    pub(crate) fn new(
        source: CardSource,
        trust: CardTrust,
        anonymous: HttpChannel,
        authenticated: HttpChannel,
    ) -> Self {
        Self { source, trust, anonymous, authenticated, cache: Mutex::default() }
    }

    /// The card: the one that was kept while it is fresh, else a new one.
    pub(crate) async fn card(&self) -> Result<Arc<AgentCard>, Error> {
        let cached = self.lock_cache().clone();
        if let Some(cached) = cached.as_ref().filter(|it| it.freshness.is_fresh()) {
            return Ok(Arc::clone(&cached.card));
        }
        let refreshed = self.refresh(cached).await;
        let mut cache = self.lock_cache();
        match refreshed {
            Ok((card, entry)) => {
                *cache = entry;
                Ok(card)
            }
            Err(error) => {
                *cache = None;
                Err(error)
            }
        }
    }

    /// Where the card that is kept was found.
    pub(crate) fn found_at(&self) -> Option<Url> {
        self.lock_cache().as_ref().and_then(|it| Url::parse(&it.url).ok())
    }

    /// Forgets the card: the next look is a fresh one.
    pub(crate) fn invalidate(&self) {
        *self.lock_cache() = None;
    }

    fn lock_cache(&self) -> MutexGuard<'_, Option<CachedCard>> {
        // A card is replaced whole: whoever panicked left a whole one.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn refresh(
        &self,
        cached: Option<CachedCard>,
    ) -> Result<(Arc<AgentCard>, Option<CachedCard>), Error> {
        let url_groups = match &self.source {
            CardSource::Agent(url) => source::well_known_urls(url)?,
            CardSource::CardUrl(url) => vec![vec![url.clone()]],
            CardSource::File(path) => {
                let contents = tokio::fs::read(path).await;
                let read_error = |error| Error::NoCard(format!("{} {error}", path.display()));
                return Ok((
                    Arc::new(self.trust.read_trusted(&contents.map_err(read_error)?)?),
                    None,
                ));
            }
            CardSource::Card(card) => return Ok((Arc::clone(card), None)),
        };
        if let Some(cached) = cached {
            match self.fetch(&cached.url, cached.freshness.validators()).await? {
                FetchResult::Card(cached) => return Ok((Arc::clone(&cached.card), Some(cached))),
                FetchResult::NotModified(freshness) => {
                    let cached = CachedCard { freshness, ..cached };
                    return Ok((Arc::clone(&cached.card), Some(cached)));
                }
                FetchResult::Absent(_) | FetchResult::Unavailable(_) => {}
            }
        }
        let cached = self.search(&url_groups).await?;
        Ok((Arc::clone(&cached.card), Some(cached)))
    }

    /// Looks at one place after the other.
    async fn search(&self, url_groups: &[Vec<String>]) -> Result<CachedCard, Error> {
        let mut reported = None;
        for group in url_groups {
            let mut is_unavailable = false;
            for url in group {
                let error = match self.fetch(url, &Validators::default()).await? {
                    FetchResult::Card(cached) => return Ok(cached),
                    FetchResult::NotModified(_) => {
                        return Err(Error::NoCard(
                            "it is said not to have changed, unasked".into(),
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
            // The card may be back in a moment, and one that is further up is another agent's.
            if is_unavailable {
                break;
            }
        }
        Err(reported.unwrap_or_else(|| Error::NoCard("there is no address to look at".into())))
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
                let problem = format!("{} has none, HTTP status {status}", endpoint.origin());
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
                    let card = Arc::new(card);
                    Ok(FetchResult::Card(CachedCard { card, url: url.to_owned(), freshness }))
                }
                // A page for people, as many sites have for every address.
                Err(error @ Error::NoCard(_)) => Ok(FetchResult::Absent(error)),
                Err(error) => Err(error),
            },
        }
    }
}

/// What to tell of two errors: the first, unless it only says that there is no card.
fn more_specific_error(first: Option<Error>, next: Error) -> Error {
    match first {
        Some(Error::NoCard(_)) if !matches!(next, Error::NoCard(_)) => next,
        Some(first) => first,
        None => next,
    }
}

/// How long a card is fresh if its server does not say.
const DEFAULT_FRESHNESS: Duration = Duration::from_secs(300);
