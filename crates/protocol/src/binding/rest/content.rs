//! Media types of bodies, and bodies that are not there.

/// JSON.
pub const JSON: &str = "application/json";
/// JSON of A2A, from 1.0.1 on.
pub const A2A_JSON: &str = "application/a2a+json";

/// The media type to answer in.
///
/// The specification wants `application/a2a+json`, and one client drops the body of an error that
/// does not begin with `application/json`: so the first is for those that ask for it by name.
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

/// Whether an `Accept` names a media type, and gives it no less weight than the usual one.
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

/// Whether a `Content-Type` is one of JSON; parameters such as `charset` do not matter.
#[must_use]
pub fn is_json(content_type: &str) -> bool {
    let essence = essence(content_type);
    [JSON, A2A_JSON].iter().any(|it| essence.eq_ignore_ascii_case(it))
}

/// Whether a body with this `Content-Type`, or none, is to be read as JSON.
///
/// An empty body needs no type. Anything else does: browsers let any page send a body without one, and
/// would ask first if it said JSON.
#[must_use]
pub fn is_readable(content_type: Option<&str>, body: &[u8]) -> bool {
    body.is_empty() || content_type.is_some_and(is_json)
}

/// The body as the JSON of a request: nothing and `null` are an empty one.
#[must_use]
pub fn json_body(bytes: &[u8]) -> &[u8] {
    match bytes.trim_ascii() {
        b"" | b"null" => b"{}",
        bytes => bytes,
    }
}

/// A media type without its parameters.
fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// The weight of a media range: 1 unless a `q` says otherwise.
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
