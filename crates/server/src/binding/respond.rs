//! Responses, and the headers of errors.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use latimer_protocol::binding::{parameters, rest, sse};
use latimer_protocol::{Challenge, Error, ErrorKind, Version};

use super::body::Body;
use super::sse::SseBody;

/// Value of `Retry-After` for errors without one.
const DEFAULT_RETRY_SECONDS: u64 = 1;

/// Creates a response with a complete body.
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

/// Creates a successful response with a JSON body.
pub(super) fn json(body: impl Into<Bytes>) -> Response<Body> {
    with_body(StatusCode::OK, rest::JSON, body)
}

/// Creates a response with a stream of server-sent events.
pub(super) fn event_stream(events: SseBody) -> Response<Body> {
    streaming(Body::Sse(Box::new(events)))
}

/// Creates a response with server-sent events that are already encoded.
pub(super) fn buffered_events(events: Vec<u8>) -> Response<Body> {
    streaming(Body::from(events))
}

fn streaming(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(sse::CONTENT_TYPE));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Otherwise nginx buffers events.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// Adds the `Allow` header.
pub(super) fn with_allow_header(
    mut response: Response<Body>,
    methods: &'static str,
) -> Response<Body> {
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// Adds the header with the active extensions, if any.
pub(super) fn with_extensions_header(
    mut response: Response<Body>,
    active: &[String],
    version: Version,
) -> Response<Body> {
    if active.is_empty() {
        return response;
    }
    // The URIs come from a header, so they are valid in one.
    if let Ok(value) = HeaderValue::try_from(active.join(", ")) {
        let name = HeaderName::from_static(parameters::extensions_header(version));
        response.headers_mut().insert(name, value);
    }
    response
}

/// Adds `Retry-After` or `WWW-Authenticate` where the error requires it.
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

/// Creates a `WWW-Authenticate` header with the error parameters of RFC 6750.
fn challenge_header(challenge: &str, error: &Error) -> HeaderValue {
    let mut text = challenge.to_owned();
    // A quote or backslash would end or change the quoted string.
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

/// Returns the value of `Retry-After`, in seconds.
pub(super) fn retry_after(error: &Error) -> HeaderValue {
    HeaderValue::from(error.retry_after_seconds().unwrap_or(DEFAULT_RETRY_SECONDS))
}
