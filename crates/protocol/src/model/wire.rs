//! Serde helpers for the optional and lenient values of ProtoJSON, for use in `deserialize_with`.
//!
//! `null` means absent, and so does an empty string where the field has no explicit presence.
//! Numbers may be encoded as decimal strings, and bytes in either base64 alphabet.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serializer};

/// Deserializes a value, with `null` as its default.
pub(crate) fn nullable<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Deserializes an optional value from a string; `null` and an empty string are `None`.
pub(crate) fn optional_text<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_option(TextVisitor(PhantomData))
}

/// Deserializes a non-negative integer from a number, a decimal string or an integral float.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    deserializer.deserialize_option(CountVisitor)
}

/// Deserializes a boolean; accepts the strings `true` and `false`, which query strings use.
pub(crate) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    deserializer.deserialize_option(BoolVisitor)
}

/// Deserializes a boolean that is false if absent.
pub(crate) fn bool_or_false<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(flag(deserializer)?.unwrap_or_default())
}

/// Deserializes bytes from base64 in either alphabet, with or without padding.
pub(crate) fn base64_bytes<'de, D>(deserializer: D) -> Result<Option<Bytes>, D::Error>
where
    D: Deserializer<'de>,
{
    deserializer.deserialize_option(Base64Visitor)
}

/// Serializes bytes as standard base64 with padding.
pub(crate) fn write_base64<S: Serializer>(bytes: &[u8], out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&to_base64(bytes))
}

/// Encodes bytes as standard base64 with padding.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Decodes base64 in either alphabet, with or without padding.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    const PLAIN: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
    const URL: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);
    let url_safe = text.bytes().any(|byte| matches!(byte, b'-' | b'_'));
    let alphabet = if url_safe { URL } else { PLAIN };
    alphabet.decode(text).ok()
}

/// Deserializes a present value; `null` is a value, not absence.
pub(crate) fn present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// Returns the only candidate that is present.
pub(crate) fn exactly_one<T>(
    candidates: impl IntoIterator<Item = Option<T>>,
) -> Result<T, ExactlyOneError> {
    let mut given = candidates.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(value), None) => Ok(value),
        (None, _) => Err(ExactlyOneError::None),
        (Some(_), Some(_)) => Err(ExactlyOneError::Several),
    }
}

/// Reason why a set of alternatives is invalid.
pub(crate) enum ExactlyOneError {
    /// No alternative is present.
    None,
    /// More than one alternative is present.
    Several,
}

/// Returns whether a flag is false, for `skip_serializing_if`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Implements the parts that visitors of optional values share: `null` is `None`, other values go
/// to the `visit_*` methods.
macro_rules! optional_visitor {
    ($what:literal) => {
        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str($what)
        }

        fn visit_none<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Self::Value, D::Error> {
            inner.deserialize_any(self)
        }
    };
}

struct TextVisitor<T>(PhantomData<T>);

impl<'de, T: FromStr<Err: Display>> Visitor<'de> for TextVisitor<T> {
    type Value = Option<T>;

    optional_visitor!("a string");

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Option<T>, E> {
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(E::custom)
    }
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Option<u32>;

    optional_visitor!("a whole number");

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Option<u32>, E> {
        // The wire type is int32.
        match i32::try_from(number) {
            Ok(number) => Ok(Some(number.unsigned_abs())),
            Err(_) => Err(E::custom("must not be greater than 2147483647")),
        }
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Option<u32>, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::custom("must not be negative")),
        }
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Option<u32>, E> {
        if number.fract() != 0.0 || number.abs() > 1e15 {
            return Err(E::invalid_type(de::Unexpected::Float(number), &self));
        }
        #[expect(clippy::cast_possible_truncation, reason = "integral, and far below 2^63")]
        self.visit_i64(number as i64)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Option<u32>, E> {
        match text.parse::<i64>() {
            Ok(number) => self.visit_i64(number),
            Err(_) => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }
}

struct BoolVisitor;

impl<'de> Visitor<'de> for BoolVisitor {
    type Value = Option<bool>;

    optional_visitor!("true or false");

    fn visit_bool<E>(self, flag: bool) -> Result<Option<bool>, E> {
        Ok(Some(flag))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Option<bool>, E> {
        match text {
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }
}

struct Base64Visitor;

impl<'de> Visitor<'de> for Base64Visitor {
    type Value = Option<Bytes>;

    optional_visitor!("base64 text");

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Option<Bytes>, E> {
        match from_base64(text) {
            Some(bytes) => Ok(Some(bytes.into())),
            None => Err(E::custom("is not base64")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_in_both_alphabets_with_or_without_padding() {
        let bytes = [0xfb, 0xff, 0xbe, 0x01];
        for text in ["+/++AQ==", "+/++AQ", "-_--AQ==", "-_--AQ"] {
            assert_eq!(from_base64(text).unwrap(), bytes, "{text}");
        }
        for text in ["*", "A", "+-AA", "a b=", "é"] {
            assert_eq!(from_base64(text), None, "{text}");
        }
    }
}
