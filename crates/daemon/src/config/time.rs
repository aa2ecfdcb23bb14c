//! Durations.

use std::time::Duration;

use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use super::diagnostic::Diagnostics;
use super::key::{KeyKind, ValueKind};
use super::location::Location;
use super::read::{ConfigValue, read_value};
use super::resolve::Resolve;

/// A duration as written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum DurationInput {
    /// A string such as `"90s"`, `"1h30m"` or `"7d"`.
    Text(Duration),
    /// A number of seconds, or of another unit that the key declares.
    Number(f64),
}

const EXPECTED: &str = "a duration such as \"30s\", \"5m\" or \"7d\", or a number of seconds";

impl DurationInput {
    /// Returns the duration, with this unit for a plain number; `None` if it is out of range.
    fn to_duration(self, unit: Duration) -> Option<Duration> {
        match self {
            Self::Text(time) => Some(time),
            Self::Number(count) => Duration::try_from_secs_f64(count * unit.as_secs_f64()).ok(),
        }
    }
}

impl ConfigValue for Duration {
    const KIND: KeyKind = KeyKind::Value("duration", ValueKind::Other);

    fn read(at: &Location<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        let input: DurationInput = read_value(at, Self::KIND, diagnostics)?;
        // A number that serde accepts as seconds is also in range for a smaller unit.
        input.to_duration(at.number_unit)
    }
}

impl Resolve for Duration {}

impl<'de> Deserialize<'de> for DurationInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DurationInputVisitor;

        impl Visitor<'_> for DurationInputVisitor {
            type Value = DurationInput;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(EXPECTED)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<DurationInput, E> {
                let invalid = || E::invalid_value(Unexpected::Str(text), &self);
                parse(text).map(DurationInput::Text).ok_or_else(invalid)
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<DurationInput, E> {
                self.visit_f64(count as f64)
            }

            fn visit_i64<E: de::Error>(self, count: i64) -> Result<DurationInput, E> {
                self.visit_f64(count as f64)
            }

            fn visit_f64<E: de::Error>(self, count: f64) -> Result<DurationInput, E> {
                match Duration::try_from_secs_f64(count) {
                    Ok(_) => Ok(DurationInput::Number(count)),
                    Err(_) => Err(E::invalid_value(Unexpected::Float(count), &self)),
                }
            }
        }

        deserializer.deserialize_any(DurationInputVisitor)
    }
}

/// Parses a sequence of numbers with units, such as `1h30m`.
///
/// Not parsed with `jiff`, which accepts a different set of strings: it rejects `1.5d`, `1.5h30m`,
/// `30m1h` and more than 7,304,484 days, which existing configurations may contain, and accepts
/// `PT5S`, `1:30:00` and `1w`.
fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let number_len = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let (number, after) = rest.split_at(number_len);
        let after = after.trim_start();
        let unit_len = after.find(|it: char| !it.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_len);
        let seconds = match unit {
            "ms" => 0.001,
            "s" | "sec" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        let time = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
        total = total.checked_add(time)?;
        rest = after.trim_start();
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_parse_from_strings() {
        for (text, want) in [
            ("500ms", 500),
            ("0.1ms", 0),
            ("5s", 5_000),
            ("5sec", 5_000),
            ("1.5s", 1_500),
            (".5s", 500),
            ("5.s", 5_000),
            ("0s", 0),
            ("10 m", 600_000),
            ("10\tmin", 600_000),
            (" 5s ", 5_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            ("30m1h", 5_400_000),
            ("5s5s", 10_000),
            ("1.5h30m", 7_200_000),
            ("7d", 604_800_000),
            ("1.5d", 129_600_000),
            ("1d12h", 129_600_000),
            ("36500d", 3_153_600_000_000),
            ("99999999d", 8_639_999_913_600_000),
        ] {
            let parsed = parse(text).map(|it| it.as_millis());
            assert_eq!(parsed, Some(want), "{text}");
        }
    }

    #[test]
    fn strings_without_valid_units_are_rejected() {
        for text in [
            "",
            " ",
            "5",
            "s",
            "5 parsecs",
            "1..5s",
            "-5s",
            "+5s",
            "5S",
            "5H",
            "5,5s",
            "1h, 30m",
            "1_000s",
            "1e3s",
            "1w",
            "1mo",
            "1y",
            "100us",
            "5hr",
            "5 seconds",
            "5s ago",
            "PT5S",
            "1:30:00",
            "99999999999999999999s",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_count_seconds() {
        for (text, want) in [
            ("30", Some(30_000)),
            ("0", Some(0)),
            ("0.25", Some(250)),
            (r#""5s""#, Some(5_000)),
            (r#""5""#, None),
            ("-1", None),
            ("-0.5", None),
            ("1e300", None),
            ("18446744073709551615", None),
            ("true", None),
            ("[]", None),
            ("null", None),
        ] {
            let input = serde_json::from_str::<DurationInput>(text).ok();
            let time = input.and_then(|it| it.to_duration(Duration::from_secs(1)));
            assert_eq!(time, want.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn number_unit_is_chosen_by_the_reader() {
        let number: DurationInput = serde_json::from_str("60000").unwrap();
        assert_eq!(number.to_duration(Duration::from_millis(1)), Some(Duration::from_secs(60)));
        let text: DurationInput = serde_json::from_str("\"60s\"").unwrap();
        assert_eq!(text.to_duration(Duration::from_millis(1)), Some(Duration::from_secs(60)));
    }
}
