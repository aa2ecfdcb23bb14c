//! Conditional requests for cards.

use std::time::{Duration, SystemTime};

use base16ct::HexDisplay;
use http::header::{IF_MODIFIED_SINCE, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue};
use sha2::{Digest, Sha256};

/// Computes the entity tag of a rendered card.
pub(super) fn etag(card: &[u8]) -> HeaderValue {
    let digest = Sha256::digest(card);
    let value = format!("\"{:x}\"", HexDisplay(&digest[..16]));
    HeaderValue::try_from(value).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Returns whether the client already has the current card, by `If-None-Match` or
/// `If-Modified-Since`.
pub(super) fn is_not_modified(
    headers: &HeaderMap,
    etag: &HeaderValue,
    modified_at: SystemTime,
) -> bool {
    if headers.contains_key(IF_NONE_MATCH) {
        // RFC 9110 13.1.3: a tag takes precedence over a date.
        let tags = headers.get_all(IF_NONE_MATCH).into_iter().filter_map(|it| it.to_str().ok());
        let tags = tags.flat_map(|it| it.split(',')).map(str::trim);
        return tags
            .map(|it| it.strip_prefix("W/").unwrap_or(it))
            .any(|it| it == "*" || it == etag);
    }
    let if_modified_since = headers.get(IF_MODIFIED_SINCE).and_then(|it| it.to_str().ok());
    let if_modified_since = if_modified_since.and_then(|it| httpdate::parse_http_date(it).ok());
    // HTTP dates have a resolution of one second.
    if_modified_since.is_some_and(|since| since + Duration::from_secs(1) > modified_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etag_takes_precedence_over_modification_date() {
        let modified_at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_500);
        let etag = etag(b"card");
        let text = etag.to_str().unwrap().to_owned();
        let date = |seconds| {
            httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
        };
        for (tags, since, want) in [
            (None, None, false),
            (Some(text.clone()), None, true),
            (Some(format!("\"x\", W/{text}")), None, true),
            (Some("*".into()), None, true),
            (Some("\"x\"".into()), Some(date(2000)), false),
            (None, Some(date(1000)), true),
            (None, Some(date(999)), false),
            (None, Some("yesterday".into()), false),
        ] {
            let mut headers = HeaderMap::new();
            let mut insert = |name, value: &Option<String>| {
                value.as_ref().map(|it| headers.insert(name, it.parse().unwrap()))
            };
            insert(IF_NONE_MATCH, &tags);
            insert(IF_MODIFIED_SINCE, &since);
            assert_eq!(is_not_modified(&headers, &etag, modified_at), want, "{tags:?} {since:?}");
        }
    }
}
