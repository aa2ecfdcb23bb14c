//! Percent-encoding of paths and queries.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::binding::parameters::VERSION;

/// Characters to encode: all except the unreserved ones of RFC 3986. Encoding `:` keeps an id that
/// ends in `:cancel` intact.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Query parameters that contain timestamps.
const TIME_PARAMETERS: [&str; 6] = [
    "statusTimestampAfter",
    "status_timestamp_after",
    "lastUpdatedAfter",
    "last_updated_after",
    "lastUpdatedTime",
    "last_updated_time",
];

/// Error text for an invalid encoding.
pub(super) const MALFORMED_ENCODING: &str = "is not percent-encoded UTF-8";

/// Encodes a path segment, or the name or value of a query parameter.
pub(super) fn encode(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, RESERVED)
}

/// Decodes a path segment.
pub(super) fn decode(text: &str) -> Result<String, &'static str> {
    let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let mut parts = text.as_bytes().split(|byte| *byte == b'%').skip(1);
    if !parts.all(|it| digit(it.first()) && digit(it.get(1))) {
        return Err(MALFORMED_ENCODING);
    }
    percent_decode_str(text).decode_utf8().map(Cow::into_owned).map_err(|_| MALFORMED_ENCODING)
}

/// Decodes the name or value of a query parameter, where `+` is a space.
pub(in crate::binding) fn decode_form(text: &str) -> Result<String, &'static str> {
    if text.contains('+') { decode(&text.replace('+', " ")) } else { decode(text) }
}

/// Returns whether a segment, encoded or not, equals `literal`.
pub(super) fn is_literal(segment: &str, literal: &str) -> bool {
    segment == literal || percent_decode_str(segment).eq(literal.bytes())
}

/// Returns whether a query parameter, encoded or not, declares the version.
pub(in crate::binding) fn is_version_parameter(name: &str) -> bool {
    let lower = percent_decode_str(name).map(|byte| byte.to_ascii_lowercase());
    lower.eq(VERSION.bytes())
}

/// Restores a `+` before the offset of a timestamp that form decoding turned into a space.
///
/// Applies only after a time of day, because a space between date and time is valid.
pub(super) fn restore_time_offset<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    let Some((time, offset)) = value.rsplit_once(' ') else { return value.into() };
    let is_offset = match offset.as_bytes() {
        [h, i, b':', m, n] | [h, i, m, n] => [h, i, m, n].iter().all(|it| it.is_ascii_digit()),
        [h, i] => h.is_ascii_digit() && i.is_ascii_digit(),
        _ => false,
    };
    if TIME_PARAMETERS.contains(&name) && time.contains(':') && is_offset {
        return format!("{time}+{offset}").into();
    }
    value.into()
}
