//! Media types and empty bodies.

/// Media type of JSON.
pub const JSON: &str = "application/json";
/// Media type of A2A JSON, introduced in 1.0.1.
pub const A2A_JSON: &str = "application/a2a+json";

/// Selects the media type of a response.
///
/// The specification requires `application/a2a+json`, but one client discards error bodies whose
/// type does not start with `application/json`. So the former is used only if the client accepts it
/// by name.
///
/// ```
/// # use latimer_protocol::binding::rest::{A2A_JSON, JSON, negotiate_media_type};
/// assert_eq!(negotiate_media_type(Some("application/a2a+json, application/json")), A2A_JSON);
/// assert_eq!(negotiate_media_type(Some("*/*")), JSON);
/// assert_eq!(negotiate_media_type(None), JSON);
/// ```
#[must_use]
pub fn negotiate_media_type(accept: Option<&str>) -> &'static str {
    if prefers(accept, A2A_JSON, JSON) { A2A_JSON } else { JSON }
}

/// Returns whether `accept` names `candidate` explicitly, with at least the weight of
/// `default_type`.
///
/// ```
/// # use latimer_protocol::binding::rest::prefers;
/// assert!(prefers(Some("text/csv, text/plain;q=0.5"), "text/csv", "text/plain"));
/// assert!(!prefers(Some("text/*"), "text/csv", "text/plain"));
/// ```
#[must_use]
pub fn prefers(accept: Option<&str>, candidate: &str, default_type: &str) -> bool {
    let weight = |wanted: &str| {
        let ranges = accept.unwrap_or_default().split(',');
        let mut named = ranges.filter(|it| essence(it).eq_ignore_ascii_case(wanted));
        named.next().map_or(0.0, quality)
    };
    let preferred = weight(candidate);
    preferred > 0.0 && preferred >= weight(default_type)
}

/// Returns whether a `Content-Type` is JSON, ignoring parameters such as `charset`.
#[must_use]
pub fn is_json(content_type: &str) -> bool {
    let essence = essence(content_type);
    [JSON, A2A_JSON].iter().any(|it| essence.eq_ignore_ascii_case(it))
}

/// Returns whether a body with this `Content-Type` can be decoded as JSON.
///
/// Only an empty body may omit the type. Browsers let any page send a cross-origin body without a
/// JSON type, but require a preflight request for JSON.
#[must_use]
pub fn is_readable(content_type: Option<&str>, body: &[u8]) -> bool {
    body.is_empty() || content_type.is_some_and(is_json)
}

/// Returns the JSON of a request body; an empty body and `null` become an empty object.
#[must_use]
pub fn json_body(bytes: &[u8]) -> &[u8] {
    match bytes.trim_ascii() {
        b"" | b"null" => b"{}",
        bytes => bytes,
    }
}

/// Returns a media type without parameters.
fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// Returns the weight of a media range, 1 by default.
fn quality(range: &str) -> f32 {
    let parameters = range.split(';').skip(1).filter_map(|it| it.split_once('='));
    let mut weights = parameters.filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    weights.next().and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a2a_json_is_used_only_when_accepted_by_name() {
        for (accept, want) in [
            ("", JSON),
            ("application/json", JSON),
            ("application/*", JSON),
            ("text/html, */*;q=0.1", JSON),
            ("application/a2a+json", A2A_JSON),
            ("Application/A2A+JSON; charset=utf-8", A2A_JSON),
            ("application/json, application/a2a+json", A2A_JSON),
            ("application/json;q=0.5, application/a2a+json;q=0.5", A2A_JSON),
            ("application/json, application/a2a+json;q=0.9", JSON),
            ("application/a2a+json;q=0", JSON),
            ("application/a2a+json;q=x", A2A_JSON),
            ("application/a2a+jsonx", JSON),
        ] {
            assert_eq!(negotiate_media_type(Some(accept)), want, "{accept}");
        }
    }

    #[test]
    fn json_is_recognized_by_content_type() {
        for (content_type, want) in [
            ("application/json", true),
            ("application/a2a+json", true),
            (" APPLICATION/JSON ; charset=UTF-8", true),
            ("text/plain", false),
            ("application/x-www-form-urlencoded", false),
            ("application/jsonl", false),
            ("", false),
        ] {
            assert_eq!(is_json(content_type), want, "{content_type}");
            assert!(is_readable(Some(content_type), b""), "{content_type}");
            assert_eq!(is_readable(Some(content_type), b"{}"), want, "{content_type}");
        }
        assert!(is_readable(None, b""));
        assert!(!is_readable(None, b"{}"));
    }

    #[test]
    fn missing_body_is_read_as_an_empty_object() {
        for (bytes, want) in
            [("", "{}"), (" \n", "{}"), ("null", "{}"), (" {\"a\":1}", "{\"a\":1}")]
        {
            assert_eq!(json_body(bytes.as_bytes()), want.as_bytes(), "{bytes:?}");
        }
    }
}
