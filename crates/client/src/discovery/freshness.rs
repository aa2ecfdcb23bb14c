//! How long a card is fresh, and how to ask whether it has changed.

use std::time::Duration;

use http::header::{CACHE_CONTROL, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue};
use tokio::time::Instant;

use super::FRESH;
use crate::transport::Ask;

/// The longest time that a server's word on freshness is taken for.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Until when something is fresh, and what to ask with after that.
#[derive(Clone, Debug)]
pub(super) struct Freshness {
    until: Instant,
    validators: Validators,
}

impl Freshness {
    /// What the headers of an answer say.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let validators = Validators {
            tag: headers.get(ETAG).cloned(),
            changed: headers.get(LAST_MODIFIED).cloned(),
        };
        Self { until: Instant::now() + lifetime(headers), validators }
    }

    pub(super) fn holds(&self) -> bool {
        Instant::now() < self.until
    }

    pub(super) fn validators(&self) -> &Validators {
        &self.validators
    }
}

/// What a server knows a version of something by.
#[derive(Clone, Debug, Default)]
pub(super) struct Validators {
    tag: Option<HeaderValue>,
    changed: Option<HeaderValue>,
}

impl Validators {
    /// Asks only for something else than this.
    pub(super) fn ask(&self, mut ask: Ask) -> Ask {
        let pairs = [(IF_NONE_MATCH, &self.tag), (IF_MODIFIED_SINCE, &self.changed)];
        for (name, value) in pairs {
            if let Some(value) = value {
                ask.headers.insert(name, value.clone());
            }
        }
        ask
    }
}

fn lifetime(headers: &HeaderMap) -> Duration {
    let values = headers.get_all(CACHE_CONTROL).iter().filter_map(|it| it.to_str().ok());
    let mut said = None;
    for directive in values.flat_map(|it| it.split(',')).map(str::trim) {
        let directive = directive.to_ascii_lowercase();
        if directive == "no-store" || directive == "no-cache" {
            return Duration::ZERO;
        }
        let seconds = directive.strip_prefix("max-age=").map(|it| it.trim_matches('"'));
        said = said.or(seconds.and_then(|it| it.parse().ok()).map(Duration::from_secs));
    }
    said.unwrap_or(FRESH).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_says_how_long_within_reason() {
        for (said, want) in [
            (None, 300),
            (Some("public, max-age=60"), 60),
            (Some("Max-Age=\"7\""), 7),
            (Some("max-age=99999999999"), 86_400),
            (Some("max-age=soon"), 300),
            (Some("max-age=60, no-cache"), 0),
            (Some("no-store"), 0),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(said) = said {
                headers.insert(CACHE_CONTROL, HeaderValue::from_static(said));
            }
            assert_eq!(lifetime(&headers).as_secs(), want, "{said:?}");
        }
    }
}
