//! What the head of an answer adds to the error that the answer is.

use std::time::{Duration, SystemTime};

use http::header::{CONTENT_ENCODING, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use super::endpoint::Endpoint;
use crate::error::Error;

/// The longest time that a server is waited for because it says so.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// What the head of an answer says, should the answer be an error.
#[derive(Debug)]
pub(super) struct Head<'a> {
    endpoint: &'a Endpoint,
    status: StatusCode,
    wait: Option<Duration>,
    /// How it is compressed.
    encoding: Option<String>,
}

impl<'a> Head<'a> {
    pub(super) fn of<B>(response: &Response<B>, endpoint: &'a Endpoint) -> Self {
        let (status, headers) = (response.status(), response.headers());
        let said = |name| headers.get(name).and_then(|it: &HeaderValue| it.to_str().ok());
        Self {
            endpoint,
            status,
            wait: wait(headers, SystemTime::now()),
            encoding: said(CONTENT_ENCODING).filter(|it| *it != "identity").map(shown),
        }
    }

    /// The error, with what the head adds to it.
    pub(super) fn explain(&self, error: Error) -> Error {
        let origin = self.endpoint.origin().to_owned();
        match (&self.encoding, self.wait) {
            (Some(encoding), _) if matches!(error, Error::Unreadable { .. }) => {
                let status = self.status.as_u16();
                let problem = format!("is compressed ({encoding}), which nobody asked for");
                Error::Unreadable { origin, problem: format!("HTTP status {status}, it {problem}") }
            }
            (_, Some(wait)) => error.or_retry_after(wait),
            (_, None) => error,
        }
    }
}

/// The name of an encoding, no longer than names are.
fn shown(text: &str) -> String {
    text.chars().take(16).collect()
}

/// How long `Retry-After` asks to wait: so many seconds, or until a date.
fn wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let said = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let until = |date: SystemTime| date.duration_since(now).unwrap_or_default();
    let wait = match said.bytes().all(|it| it.is_ascii_digit()) && !said.is_empty() {
        // More than a number holds is more than anybody waits.
        true => Duration::from_secs(said.parse().unwrap_or(u64::MAX)),
        false => until(httpdate::parse_http_date(said).ok()?),
    };
    Some(wait.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_wait_is_read_in_both_forms_within_reason() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (said, want) in [
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
            headers.insert(RETRY_AFTER, HeaderValue::from_static(said));
            let got = wait(&headers, now).map(|it| it.as_secs());
            assert_eq!(got, want, "{said:?}");
        }
        assert_eq!(wait(&HeaderMap::new(), now), None);
    }
}
