//! Freshness of cards, and conditional requests.

use std::time::{Duration, SystemTime};

use http::header::{CACHE_CONTROL, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue};
use tokio::time::Instant;

use super::DEFAULT_FRESHNESS;
use super::card_cache::StoredCard;
use crate::transport::OutgoingRequest;

/// Maximum freshness, whatever a server declares.
const MAX_FRESHNESS: Duration = Duration::from_secs(24 * 60 * 60);

/// Time until which a card is fresh, and how to revalidate it.
#[derive(Clone, Debug)]
pub(super) struct Freshness {
    fresh_until: Instant,
    validators: Validators,
    is_storable: bool,
}

impl Freshness {
    /// Reads the headers of a response.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        let validators = Validators {
            etag: headers.get(ETAG).cloned(),
            last_modified: headers.get(LAST_MODIFIED).cloned(),
        };
        let is_storable = !directives(headers).any(|it| it == "no-store");
        Self { fresh_until: Instant::now() + lifetime(headers), validators, is_storable }
    }

    /// Restores the freshness of a stored card.
    pub(super) fn from_stored(stored: &StoredCard) -> Self {
        let header = |text: &Option<String>| HeaderValue::try_from(text.as_deref()?).ok();
        let validators =
            Validators { etag: header(&stored.etag), last_modified: header(&stored.last_modified) };
        let remaining = stored.fresh_until.duration_since(SystemTime::now()).unwrap_or_default();
        let fresh_until = Instant::now() + remaining.min(MAX_FRESHNESS);
        Self { fresh_until, validators, is_storable: true }
    }

    /// Returns the card in its stored form; `None` if its server forbids storing it.
    pub(super) fn to_stored(&self, url: &str, json: &str) -> Option<StoredCard> {
        let text = |value: &Option<HeaderValue>| Some(value.as_ref()?.to_str().ok()?.to_owned());
        self.is_storable.then(|| StoredCard {
            url: url.to_owned(),
            json: json.to_owned(),
            etag: text(&self.validators.etag),
            last_modified: text(&self.validators.last_modified),
            fresh_until: SystemTime::now() + self.remaining(),
        })
    }

    /// Returns the time for which the card remains fresh.
    pub(super) fn remaining(&self) -> Duration {
        self.fresh_until.saturating_duration_since(Instant::now())
    }

    pub(super) fn validators(&self) -> &Validators {
        &self.validators
    }
}

/// Validators of a response, which identify its version.
#[derive(Clone, Debug, Default)]
pub(super) struct Validators {
    etag: Option<HeaderValue>,
    last_modified: Option<HeaderValue>,
}

impl Validators {
    /// Makes a request conditional.
    pub(super) fn make_conditional(&self, mut request: OutgoingRequest) -> OutgoingRequest {
        let pairs = [(IF_NONE_MATCH, &self.etag), (IF_MODIFIED_SINCE, &self.last_modified)];
        for (name, value) in pairs {
            if let Some(value) = value {
                request.headers.insert(name, value.clone());
            }
        }
        request
    }
}

/// Returns the directives of `Cache-Control`, in lower case.
fn directives(headers: &HeaderMap) -> impl Iterator<Item = String> {
    let values = headers.get_all(CACHE_CONTROL).iter().filter_map(|it| it.to_str().ok());
    values.flat_map(|it| it.split(',')).map(|it| it.trim().to_ascii_lowercase())
}

fn lifetime(headers: &HeaderMap) -> Duration {
    let mut max_age = None;
    for directive in directives(headers) {
        if directive == "no-store" || directive == "no-cache" {
            return Duration::ZERO;
        }
        let seconds = directive.strip_prefix("max-age=").map(|it| it.trim_matches('"'));
        max_age = max_age.or(seconds.and_then(|it| it.parse().ok()).map(Duration::from_secs));
    }
    max_age.unwrap_or(DEFAULT_FRESHNESS).min(MAX_FRESHNESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_age_sets_lifetime_up_to_maximum() {
        for (header, want) in [
            (None, 300),
            (Some("public, max-age=60"), 60),
            (Some("Max-Age=\"7\""), 7),
            (Some("max-age=99999999999"), 86_400),
            (Some("max-age=soon"), 300),
            (Some("max-age=60, no-cache"), 0),
            (Some("no-store"), 0),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(CACHE_CONTROL, HeaderValue::from_static(header));
            }
            assert_eq!(lifetime(&headers).as_secs(), want, "{header:?}");
        }
    }
}
