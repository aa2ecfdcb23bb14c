//! Answers in parts: heads, headers, and what an error adds to them.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use latimer_protocol::binding::{parameters, rest, sse};
use latimer_protocol::{Challenge, Error, ErrorKind, Version};

use super::body::Body;
use super::sse::SseBody;

/// When to try again, unless the error says it.
const DEFAULT_RETRY_SECONDS: u64 = 1;

/// An answer that is all there.
pub(super) fn with_body(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// JSON, all there and well.
pub(super) fn json(body: impl Into<Bytes>) -> Response<Body> {
    with_body(StatusCode::OK, rest::JSON, body)
}

/// A stream of server-sent events.
pub(super) fn event_stream(events: SseBody) -> Response<Body> {
    streaming(Body::Sse(Box::new(events)))
}

/// A stream of server-sent events of which all are there.
pub(super) fn buffered_events(events: Vec<u8>) -> Response<Body> {
    streaming(Body::from(events))
}

fn streaming(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(sse::CONTENT_TYPE));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // nginx would keep events back otherwise.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// Names the methods that an address takes.
pub(super) fn with_allow_header(
    mut response: Response<Body>,
    methods: &'static str,
) -> Response<Body> {
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// Names the extensions that are active.
pub(super) fn with_extensions_header(
    mut response: Response<Body>,
    active: &[String],
    version: Version,
) -> Response<Body> {
    if active.is_empty() {
        return response;
    }
    // Names with other characters cannot have come in a header, and nobody is told of them.
    if let Ok(value) = HeaderValue::try_from(active.join(", ")) {
        let name = HeaderName::from_static(parameters::extensions_header(version));
        response.headers_mut().insert(name, value);
    }
    response
}

/// Adds what headers say about an error.
pub(super) fn with_error_headers(
    mut response: Response<Body>,
    error: &Error,
    challenge: &str,
) -> Response<Body> {
    let headers = response.headers_mut();
    match error.kind() {
        ErrorKind::Unavailable | ErrorKind::RateLimited => {
            headers.insert(RETRY_AFTER, retry_after(error));
        }
        ErrorKind::Unauthenticated => {
            headers.insert(WWW_AUTHENTICATE, challenge_header(challenge, error));
        }
        // A client that lacks a scope can request a token that has it.
        ErrorKind::PermissionDenied if error.challenge().is_some() => {
            headers.insert(WWW_AUTHENTICATE, challenge_header(challenge, error));
        }
        _ => {}
    }
    response
}

/// A challenge with what was wrong with what was shown, as RFC 6750 says it.
fn challenge_header(challenge: &str, error: &Error) -> HeaderValue {
    let mut text = challenge.to_owned();
    // What could end a quoted text has no place in one.
    let escape_quotes = |it: &str| it.replace(['"', '\\'], "'");
    if let Some(reason) = error.challenge() {
        let comma = if text.contains('=') { "," } else { "" };
        let (code, description) = (reason.code(), escape_quotes(error.message()));
        text.push_str(&format!("{comma} error=\"{code}\", error_description=\"{description}\""));
        match reason {
            Challenge::InvalidToken | Challenge::InvalidRequest => {}
            Challenge::InsufficientScope(scopes) => {
                text.push_str(&format!(", scope=\"{}\"", escape_quotes(&scopes.join(" "))));
            }
        }
    }
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("Bearer"))
}

/// When to try again, in seconds.
pub(super) fn retry_after(error: &Error) -> HeaderValue {
    HeaderValue::from(error.retry_after_seconds().unwrap_or(DEFAULT_RETRY_SECONDS))
}
