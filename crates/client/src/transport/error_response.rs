//! Responses that are errors, or not A2A at all.

use http::StatusCode;
use latimer_protocol::binding::jsonrpc::{Response, ResponsePayload};
use latimer_protocol::{ErrorKind, Version, truncate_for_display};
use serde_json::Value;

use crate::error::Error;

/// Maximum length of the excerpt of a response in an error.
const MAX_EXCERPT_CHARS: usize = 120;

/// Creates the error of a response with an error status.
///
/// Agents send JSON. Any other body comes from a server in front of the agent; the error has its
/// status and an excerpt.
pub(crate) fn status_error(
    origin: &str,
    status: StatusCode,
    body: &[u8],
    version: Version,
) -> Error {
    match serde_json::from_slice::<Value>(body) {
        Ok(Value::Object(object)) if !object.is_empty() => {
            parse_error(body, status.as_u16(), version).into()
        }
        _ if is_gateway_error(status) => gateway_error(origin, status, body),
        // A proxy enforces a rate limit for the agent.
        _ if status == StatusCode::TOO_MANY_REQUESTS => {
            latimer_protocol::Error::from_http(status.as_u16(), b"", version).into()
        }
        _ if status.is_redirection() => {
            invalid_response(origin, status, body, "it is a redirect without a location")
        }
        _ if body.trim_ascii().is_empty() && !status.is_success() => {
            latimer_protocol::Error::from_http(status.as_u16(), body, version).into()
        }
        _ => invalid_response(origin, status, body, "it is not JSON"),
    }
}

/// Returns whether a proxy reports with this status that the agent did not answer.
fn is_gateway_error(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
    )
}

/// Reads the error in a JSON body, with or without an envelope.
pub(super) fn parse_error(json: &[u8], status: u16, version: Version) -> latimer_protocol::Error {
    if let Ok(Response { payload: ResponsePayload::Error(inner), .. }) = Response::read(json)
        && let Ok(object) = serde_json::from_str::<Value>(inner)
    {
        let code = object.get("code").and_then(Value::as_i64);
        // Codes of JSON-RPC are negative; others are HTTP statuses.
        if code.is_some_and(|code| code < 0) {
            return latimer_protocol::Error::from_jsonrpc(&object, version);
        }
        let body_status = code.and_then(|code| u16::try_from(code).ok());
        let status = body_status.filter(|it| (400..600).contains(it)).unwrap_or(status);
        return latimer_protocol::Error::from_http(status, json, version);
    }
    latimer_protocol::Error::from_http(status, json, version)
}

/// Replaces a *task not found* that follows only from the status 404, for a request without a task
/// id: nothing is served at the URL.
pub(super) fn refine_not_found(
    error: Error,
    body: &[u8],
    version: Version,
    not_found_kind: Option<ErrorKind>,
) -> Error {
    let is_task_not_found =
        |error: &latimer_protocol::Error| error.kind() == ErrorKind::TaskNotFound;
    // With another status, the error is *task not found* only if the body states it.
    let other_status = StatusCode::INTERNAL_SERVER_ERROR.as_u16();
    match (error, not_found_kind) {
        (Error::Agent(agent_error), Some(kind))
            if is_task_not_found(&agent_error)
                && !is_task_not_found(&parse_error(body, other_status, version)) =>
        {
            let message = "nothing is served at this URL; the agent may use another version";
            latimer_protocol::Error::new(kind, message).into()
        }
        (error, _) => error,
    }
}

/// Creates the error of an unreadable response, with an excerpt.
pub(super) fn invalid_response(
    origin: &str,
    status: StatusCode,
    body: &[u8],
    problem: &str,
) -> Error {
    let problem = describe(status, body, problem);
    Error::InvalidResponse { origin: origin.to_owned(), problem }
}

/// Creates the error of a proxy whose agent did not answer.
fn gateway_error(origin: &str, status: StatusCode, body: &[u8]) -> Error {
    let problem = describe(status, body, "it is not A2A");
    Error::UpstreamUnavailable { origin: origin.to_owned(), problem, retry_after: None }
}

/// Describes a response: status, problem and excerpt.
fn describe(status: StatusCode, body: &[u8], problem: &str) -> String {
    let excerpt = excerpt(body);
    let excerpt = match excerpt.is_empty() {
        true => "the body is empty".to_owned(),
        false => format!("the body begins with {excerpt:?}"),
    };
    format!("HTTP status {}, {problem}; {excerpt}", status.as_u16())
}

/// Creates the error of JSON that is not the expected reply.
pub(super) fn malformed(origin: &str, problem: &dyn std::fmt::Display) -> Error {
    Error::InvalidResponse { origin: origin.to_owned(), problem: problem.to_string() }
}

/// Returns whether an error means that the response could not be read, rather than an error of the
/// agent.
pub(super) fn is_invalid_response(error: &latimer_protocol::Error) -> bool {
    error.kind() == ErrorKind::InvalidAgentResponse
}

/// Returns the beginning of a response, without HTML tags and control characters.
fn excerpt(body: &[u8]) -> String {
    let head = String::from_utf8_lossy(&body[..body.len().min(MAX_EXCERPT_CHARS * 8)]).into_owned();
    let mut text = String::new();
    let mut in_tag = false;
    for character in head.chars() {
        match character {
            '<' => in_tag = true,
            '>' if in_tag => {
                in_tag = false;
                text.push(' ');
            }
            _ if in_tag => {}
            it if it.is_control() || it.is_whitespace() => text.push(' '),
            it => text.push(it),
        }
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    truncate_for_display(&words.join(" "), MAX_EXCERPT_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_error_shows_status_and_excerpt() {
        let page = b"<html><head><title>502 Bad\x1b[31m Gateway</title></head>\n<body>";
        for (status, want) in [
            (
                StatusCode::BAD_GATEWAY,
                "https://a.example:443 returned a gateway error: HTTP status 502, it is not A2A; the \
                 body begins with \"502 Bad [31m Gateway\"",
            ),
            (
                StatusCode::NOT_FOUND,
                "the response of https://a.example:443 is not A2A: HTTP status 404, it is not JSON; \
                 the body begins with \"502 Bad [31m Gateway\"",
            ),
        ] {
            let error = status_error("https://a.example:443", status, page, Version::V1_0);
            assert_eq!(error.to_string(), want);
        }
    }

    #[test]
    fn error_bodies_of_every_shape_are_parsed() {
        for (status, body, want) in [
            (200, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001}}"#, ErrorKind::TaskNotFound),
            (500, r#"{"error":{"code":-32009,"message":"m"}}"#, ErrorKind::VersionNotSupported),
            (200, r#"{"error":{"code":404,"message":"m"}}"#, ErrorKind::TaskNotFound),
            (
                400,
                r#"{"error":{"code":400,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_CANCELABLE","domain":"a2a-protocol.org"}]}}"#,
                ErrorKind::TaskNotCancelable,
            ),
            (401, r#"{"detail":"who are you?"}"#, ErrorKind::Unauthenticated),
            (429, "", ErrorKind::RateLimited),
            (429, "<h1>Slow down</h1>", ErrorKind::RateLimited),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let error = status_error("o", status, body.as_bytes(), Version::V1_0);
            let Error::Agent(error) = error else { panic!("{body}: {error}") };
            assert_eq!(error.kind(), want, "{body}");
        }
    }
}
