//! Error details from the head of a response.

use std::time::{Duration, SystemTime};

use http::header::{CONTENT_ENCODING, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use latimer_protocol::truncate_for_display;

use super::endpoint::Endpoint;
use crate::error::Error;

/// Maximum delay that a server can ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum length of the name of an encoding in an error.
const MAX_ENCODING_CHARS: usize = 16;

/// Adds status, `Retry-After` and `Content-Encoding` of an error response to the resulting
/// [`Error`].
#[derive(Debug)]
pub(super) struct ResponseHead<'a> {
    endpoint: &'a Endpoint,
    status: StatusCode,
    retry_after: Option<Duration>,
    /// Unsupported `Content-Encoding`.
    encoding: Option<String>,
}

impl<'a> ResponseHead<'a> {
    pub(super) fn new<B>(response: &Response<B>, endpoint: &'a Endpoint) -> Self {
        let (status, headers) = (response.status(), response.headers());
        let header_value = |name| headers.get(name).and_then(|it: &HeaderValue| it.to_str().ok());
        Self {
            endpoint,
            status,
            retry_after: parse_retry_after(headers, SystemTime::now()),
            encoding: header_value(CONTENT_ENCODING)
                .filter(|it| *it != "identity")
                .map(|it| truncate_for_display(it, MAX_ENCODING_CHARS)),
        }
    }

    /// Adds the head to an error.
    pub(super) fn annotate(&self, error: Error) -> Error {
        let origin = self.endpoint.origin().to_owned();
        match (&self.encoding, self.retry_after) {
            (Some(encoding), _) if matches!(error, Error::InvalidResponse { .. }) => {
                let status = self.status.as_u16();
                let problem = format!("is compressed ({encoding}), which was not requested");
                Error::InvalidResponse {
                    origin,
                    problem: format!("HTTP status {status}, it {problem}"),
                }
            }
            (_, Some(retry_after)) => error.with_default_retry_after(retry_after),
            (_, None) => error,
        }
    }
}

/// Reads `Retry-After`: seconds, or a date.
fn parse_retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let duration_until = |date: SystemTime| date.duration_since(now).unwrap_or_default();
    let delay = match value.bytes().all(|it| it.is_ascii_digit()) && !value.is_empty() {
        // A number that overflows exceeds the maximum anyway.
        true => Duration::from_secs(value.parse().unwrap_or(u64::MAX)),
        false => duration_until(httpdate::parse_http_date(value).ok()?),
    };
    Some(delay.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_accepts_seconds_and_dates_up_to_maximum() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (value, want) in [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            ("99999999", Some(86_400)),
            ("99999999999999999999999", Some(86_400)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sunday, 06-Nov-94 08:50:37 GMT", Some(60)),
            ("Sat, 05 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sun, 06 Nov 2044 08:49:37 GMT", Some(86_400)),
            ("soon", None),
            ("-7", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(value));
            let got = parse_retry_after(&headers, now).map(|it| it.as_secs());
            assert_eq!(got, want, "{value:?}");
        }
        assert_eq!(parse_retry_after(&HeaderMap::new(), now), None);
    }
}
