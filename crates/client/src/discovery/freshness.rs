//! How long a card is fresh, and how to ask whether it has changed.

use std::time::Duration;

use http::header::{CACHE_CONTROL, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue};
use tokio::time::Instant;

use super::DEFAULT_FRESHNESS;
use crate::transport::OutgoingRequest;

/// The longest time that a server's word on freshness is taken for.
const MAX_FRESHNESS: Duration = Duration::from_secs(24 * 60 * 60);

/// Until when something is fresh, and what to ask with after that.
#[derive(Clone, Debug)]
pub(super) struct Freshness {
    fresh_until: Instant,
    validators: Validators,
}

impl Freshness {
    /// What the headers of an answer say.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        let validators = Validators {
            etag: headers.get(ETAG).cloned(),
            last_modified: headers.get(LAST_MODIFIED).cloned(),
        };
        Self { fresh_until: Instant::now() + lifetime(headers), validators }
    }

    pub(super) fn is_fresh(&self) -> bool {
        Instant::now() < self.fresh_until
    }

    pub(super) fn validators(&self) -> &Validators {
        &self.validators
    }
}

/// What a server knows a version of something by.
#[derive(Clone, Debug, Default)]
pub(super) struct Validators {
    etag: Option<HeaderValue>,
    last_modified: Option<HeaderValue>,
}

impl Validators {
    /// Asks only for something else than this.
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

fn lifetime(headers: &HeaderMap) -> Duration {
    let values = headers.get_all(CACHE_CONTROL).iter().filter_map(|it| it.to_str().ok());
    let mut max_age = None;
    for directive in values.flat_map(|it| it.split(',')).map(str::trim) {
        let directive = directive.to_ascii_lowercase();
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
