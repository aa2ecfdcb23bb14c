//! Sizes in bytes.

use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use super::section::plain_value;

/// Size in bytes, written as a string such as `"10MiB"` or `"64kB"`, or as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(pub usize);

plain_value! { ByteSize: Other "size"; }

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ByteSizeVisitor;

        impl Visitor<'_> for ByteSizeVisitor {
            type Value = ByteSize;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a size such as \"10MiB\" or \"64kB\", or a number of bytes")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ByteSize, E> {
                let invalid = || E::invalid_value(Unexpected::Str(text), &self);
                parse(text).map(ByteSize).ok_or_else(invalid)
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<ByteSize, E> {
                let invalid = || E::invalid_value(Unexpected::Unsigned(count), &self);
                usize::try_from(count).map(ByteSize).map_err(|_| invalid())
            }
        }

        deserializer.deserialize_any(ByteSizeVisitor)
    }
}

/// Parses a whole number with an optional unit.
///
/// Not parsed with `bytesize`, which accepts strings that are errors here: it truncates fractions
/// such as `1.5MB`, and saturates sizes that overflow.
fn parse(text: &str) -> Option<usize> {
    let text = text.trim();
    let digits = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let bytes = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" | "k" => 1_000,
        "kib" => 1 << 10,
        "mb" | "m" => 1_000_000,
        "mib" => 1 << 20,
        "gb" | "g" => 1_000_000_000,
        "gib" => 1 << 30,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_from_strings_and_byte_counts() {
        for (text, want) in [
            ("10", Some(10)),
            (r#""10""#, Some(10)),
            (r#""64kB""#, Some(64_000)),
            (r#""64 KiB""#, Some(65_536)),
            (r#""10MiB""#, Some(10 << 20)),
            (r#""1GB""#, Some(1_000_000_000)),
            (r#""MB""#, None),
            (r#""1.5MB""#, None),
            (r#""10 miles""#, None),
            (r#""99999999999999999999GB""#, None),
            ("-1", None),
            ("true", None),
        ] {
            let size = serde_json::from_str::<ByteSize>(text).ok().map(|it| it.0);
            assert_eq!(size, want, "{text}");
        }
    }
}
