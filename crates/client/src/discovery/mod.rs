//! Finding out how an agent is called: its card, from where it publishes it.

mod freshness;
mod named;
mod source;
mod trust;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use latimer_protocol::Version;
use latimer_protocol::card::AgentCard;
use url::Url;

use crate::error::Error;
use crate::transport::{Ask, Endpoint, Wire, failure};
use freshness::{Freshness, Validators};
pub(crate) use named::Named;
pub use source::Source;
pub use trust::Trust;

/// The largest card that is read, in bytes.
pub(crate) const MAX_CARD: usize = 1024 * 1024;

/// Looks up the card of one agent, and keeps it while it is fresh.
///
/// A card is fresh for as long as its server says, and five minutes if it says nothing; then the
/// server is asked whether it has changed. Nothing is kept that was not read and trusted, and nothing
/// at all once something went wrong.
#[derive(Debug)]
pub(crate) struct Discovery {
    source: Source,
    trust: Trust,
    /// Shows nothing: most cards are for everybody.
    stranger: Wire,
    /// Shows what there is, where a card is not for everybody.
    known: Wire,
    kept: Mutex<Option<Kept>>,
}

/// A card that was read and trusted.
#[derive(Clone, Debug)]
struct Kept {
    card: Arc<AgentCard>,
    /// Where it was found.
    url: String,
    freshness: Freshness,
}

/// What one address answers.
enum Found {
    Card(Kept),
    /// The card is as it was, and fresh again.
    Same(Freshness),
    /// There is no card here, or none for us.
    Nothing(Error),
    /// There may be one later on.
    Failing(Error),
}

impl Discovery {
    pub(crate) fn new(source: Source, trust: Trust, stranger: Wire, known: Wire) -> Self {
        Self { source, trust, stranger, known, kept: Mutex::default() }
    }

    /// The card: the one that was kept while it is fresh, else a new one.
    pub(crate) async fn card(&self) -> Result<Arc<AgentCard>, Error> {
        let kept = self.kept().clone();
        if let Some(kept) = kept.as_ref().filter(|it| it.freshness.holds()) {
            return Ok(Arc::clone(&kept.card));
        }
        let looked = self.look(kept).await;
        let mut kept = self.kept();
        match looked {
            Ok((card, new)) => {
                *kept = new;
                Ok(card)
            }
            Err(error) => {
                *kept = None;
                Err(error)
            }
        }
    }

    /// Where the card that is kept was found.
    pub(crate) fn found(&self) -> Option<Url> {
        self.kept().as_ref().and_then(|it| Url::parse(&it.url).ok())
    }

    /// Forgets the card: the next look is a fresh one.
    pub(crate) fn forget(&self) {
        *self.kept() = None;
    }

    fn kept(&self) -> MutexGuard<'_, Option<Kept>> {
        // A card is replaced whole: whoever panicked left a whole one.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn look(&self, kept: Option<Kept>) -> Result<(Arc<AgentCard>, Option<Kept>), Error> {
        let bases = match &self.source {
            Source::Agent(url) => source::well_known(url)?,
            Source::CardUrl(url) => vec![vec![url.clone()]],
            Source::File(path) => {
                let read = tokio::fs::read(path).await;
                let problem = |error| Error::Card(format!("{} {error}", path.display()));
                return Ok((Arc::new(self.trust.admit(&read.map_err(problem)?)?), None));
            }
            Source::Card(card) => return Ok((Arc::clone(card), None)),
        };
        if let Some(kept) = kept {
            match self.fetch(&kept.url, kept.freshness.validators()).await? {
                Found::Card(kept) => return Ok((Arc::clone(&kept.card), Some(kept))),
                Found::Same(freshness) => {
                    let kept = Kept { freshness, ..kept };
                    return Ok((Arc::clone(&kept.card), Some(kept)));
                }
                Found::Nothing(_) | Found::Failing(_) => {}
            }
        }
        let kept = self.search(&bases).await?;
        Ok((Arc::clone(&kept.card), Some(kept)))
    }

    /// Looks at one place after the other.
    async fn search(&self, bases: &[Vec<String>]) -> Result<Kept, Error> {
        let mut told = None;
        for base in bases {
            let mut failing = false;
            for url in base {
                let error = match self.fetch(url, &Validators::default()).await? {
                    Found::Card(kept) => return Ok(kept),
                    Found::Same(_) => {
                        return Err(Error::Card("it is said not to have changed, unasked".into()));
                    }
                    Found::Nothing(error) => error,
                    Found::Failing(error) => {
                        failing = true;
                        error
                    }
                };
                told = Some(more_telling(told, error));
            }
            // The card may be back in a moment, and one that is further up is another agent's.
            if failing {
                break;
            }
        }
        Err(told.unwrap_or_else(|| Error::Card("there is no address to look at".into())))
    }

    async fn fetch(&self, url: &str, validators: &Validators) -> Result<Found, Error> {
        let endpoint = Endpoint::new(url, Version::V1_0)?;
        let ask = Ask::new(Method::GET, endpoint.uri().clone(), None).accepting("application/json");
        let ask = validators.ask(ask);
        let mut response = self.stranger.fetch(&endpoint, ask.clone()).await?;
        let refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN];
        if refused.contains(&response.status()) && self.known.knows(&endpoint) {
            response = self.known.fetch(&endpoint, ask).await?;
        }
        self.judge(endpoint, url, &response)
    }

    fn judge(
        &self,
        endpoint: Endpoint,
        url: &str,
        response: &Response<Bytes>,
    ) -> Result<Found, Error> {
        let (status, body) = (response.status(), response.body());
        let freshness = Freshness::of(response.headers());
        match status {
            StatusCode::NOT_MODIFIED => Ok(Found::Same(freshness)),
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::GONE => {
                let problem = format!("{} has none, HTTP status {status}", endpoint.origin());
                Ok(Found::Nothing(Error::Card(problem)))
            }
            _ if !status.is_success() => {
                let error = failure(endpoint.origin(), status, body, Version::V1_0);
                let passing = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
                Ok(if passing { Found::Failing(error) } else { Found::Nothing(error) })
            }
            _ => match self.trust.admit(body) {
                Ok(card) => {
                    let card = Arc::new(card);
                    Ok(Found::Card(Kept { card, url: url.to_owned(), freshness }))
                }
                // A page for people, as many sites have for every address.
                Err(error @ Error::Card(_)) => Ok(Found::Nothing(error)),
                Err(error) => Err(error),
            },
        }
    }
}

/// What to tell of two errors: the first, unless it only says that there is no card.
fn more_telling(first: Option<Error>, next: Error) -> Error {
    match first {
        Some(Error::Card(_)) if !matches!(next, Error::Card(_)) => next,
        Some(first) => first,
        None => next,
    }
}

/// How long a card is fresh if its server does not say.
const FRESH: Duration = Duration::from_secs(300);
