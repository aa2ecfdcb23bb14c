//! Timestamps.

use std::fmt::{self, Write};
use std::ops::RangeInclusive;
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::Offset;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Point in time with millisecond precision, in the years 0000 to 9999.
///
/// Formatted as `YYYY-MM-DDTHH:mm:ss.sssZ`. Parsing accepts any RFC 3339 string, truncates it to
/// milliseconds, and assumes UTC if the offset is missing.
///
/// ```
/// # use latimer_protocol::Timestamp;
/// let time: Timestamp = "2026-01-01T02:00:00.123456+02:00".parse()?;
/// assert_eq!(time.to_string(), "2026-01-01T00:00:00.123Z");
/// # Ok::<(), latimer_protocol::InvalidTimestamp>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

/// A value is not a point in time between the years 0000 and 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a timestamp: write it like 2026-01-31T12:00:00.000Z")]
pub struct InvalidTimestamp;

impl Timestamp {
    /// The Unix epoch, 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(0);

    /// Creates a timestamp from milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// Returns [`InvalidTimestamp`] outside the years 0000 to 9999.
    pub fn from_millis(milliseconds: i64) -> Result<Self, InvalidTimestamp> {
        match VALID_MILLIS.contains(&milliseconds) {
            true => Ok(Self(milliseconds)),
            false => Err(InvalidTimestamp),
        }
    }

    /// Returns the milliseconds since the Unix epoch.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0
    }
}

/// Valid range, the years 0000 to 9999, in milliseconds since the Unix epoch.
const VALID_MILLIS: RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// The Unix epoch.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Converts milliseconds since the Unix epoch to date and time in UTC.
fn utc_date_time(milliseconds: i64) -> Option<DateTime> {
    EPOCH.checked_add(SignedDuration::from_millis(milliseconds)).ok()
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let pieces = Pieces::parse(text).map_err(|_| InvalidTimestamp)?;
        // A date without a time means midnight.
        let local = pieces.date().to_datetime(pieces.time().unwrap_or_default());
        let offset = pieces.to_numeric_offset().map_or(0, Offset::seconds);
        let nanoseconds =
            local.duration_since(EPOCH).as_nanos() - i128::from(offset) * 1_000_000_000;
        let milliseconds = i64::try_from(nanoseconds.div_euclid(1_000_000));
        Self::from_millis(milliseconds.map_err(|_| InvalidTimestamp)?)
    }
}

impl Timestamp {
    /// Formats the timestamp without `fmt` machinery, because every stream event contains one.
    fn to_ascii(self) -> [u8; 24] {
        let mut text = *b"0000-00-00T00:00:00.000Z";
        // The value is in range by construction.
        let time = utc_date_time(self.0).unwrap_or(EPOCH);
        // All fields are non-negative and have at most `digits` digits.
        for (index, digits, value) in [
            (0, 4, time.year()),
            (5, 2, i16::from(time.month())),
            (8, 2, i16::from(time.day())),
            (11, 2, i16::from(time.hour())),
            (14, 2, i16::from(time.minute())),
            (17, 2, i16::from(time.second())),
            (20, 3, time.millisecond()),
        ] {
            let mut remainder = value.unsigned_abs();
            for digit in text[index..index + digits].iter_mut().rev() {
                *digit += u8::try_from(remainder % 10).unwrap_or_default();
                remainder /= 10;
            }
        }
        text
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_ascii().into_iter().try_for_each(|byte| out.write_char(byte.into()))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Timestamp({self})")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // ASCII, so the conversion cannot fail.
        serializer.serialize_str(std::str::from_utf8(&self.to_ascii()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TimestampVisitor;

        impl Visitor<'_> for TimestampVisitor {
            type Value = Timestamp;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a timestamp")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(TimestampVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_timestamp_spellings_parse_equal() {
        for text in [
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.000Z",
            "2026-01-01T00:00:00.000000001Z",
            "2026-01-01T01:00:00+01:00",
            "2025-12-31T19:00:00.0-05:00",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.000999",
            "2026-01-01t00:00:00z",
        ] {
            let time: Timestamp = text.parse().unwrap();
            assert_eq!(time.to_string(), "2026-01-01T00:00:00.000Z", "{text}");
        }
    }

    #[test]
    fn invalid_timestamps_are_rejected() {
        for text in ["", "now", "2026-13-01T00:00:00Z", "1767225600", "10000-01-01T00:00:00Z"] {
            assert_eq!(text.parse::<Timestamp>(), Err(InvalidTimestamp), "{text}");
        }
        assert!(Timestamp::from_millis(i64::MIN).is_err());
        assert!(Timestamp::from_millis(i64::MAX).is_err());
    }

    #[test]
    fn timestamp_formatting_matches_jiff() {
        for seconds in (-62_167_219_200..253_402_200_000i64).step_by(86_400_017 * 3) {
            let time = Timestamp::from_millis(seconds * 1000 + 7).unwrap();
            let text = jiff::Timestamp::from_millisecond(seconds * 1000 + 7).unwrap();
            assert_eq!(time.to_string(), format!("{text:.3}"));
        }
    }

    #[test]
    fn timestamps_cover_years_0000_to_9999_only() {
        for text in ["0000-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"] {
            assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), text);
        }
        assert!("9999-12-31T23:59:59-01:00".parse::<Timestamp>().is_err());
        assert!(Timestamp::from_millis(VALID_MILLIS.start() - 1).is_err());
        assert!(Timestamp::from_millis(VALID_MILLIS.end() + 1).is_err());
    }

    #[test]
    fn times_before_1970_round_down() {
        let time: Timestamp = "1969-12-31T23:59:59.9999Z".parse().unwrap();
        assert_eq!(time.to_string(), "1969-12-31T23:59:59.999Z");
    }
}
