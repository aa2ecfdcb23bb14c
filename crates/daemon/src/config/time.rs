//! Lengths of time in a configuration.

use std::time::Duration;

use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use super::key::described;

/// A length of time: a text such as `"90s"`, `"1h30m"` or `"7d"`, or a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Duration);

/// The same, where what a number counts depends on where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// A text.
    Said(Duration),
    /// A number.
    Counted(f64),
}

described! {
    Time: Other "duration";
    Number: Other "duration";
}

const FORM: &str = "a length of time such as \"30s\", \"5m\" or \"7d\", or a number of seconds";

impl Number {
    /// The time, where a number counts units of this length.
    pub(crate) fn in_units_of(self, unit: Duration) -> Option<Duration> {
        match self {
            Self::Said(time) => Some(time),
            Self::Counted(count) => Duration::try_from_secs_f64(count * unit.as_secs_f64()).ok(),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = Number;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(FORM)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
                let invalid = || E::invalid_value(Unexpected::Str(text), &self);
                parse(text).map(Number::Said).ok_or_else(invalid)
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Number, E> {
                self.visit_f64(count as f64)
            }

            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Number, E> {
                self.visit_f64(count as f64)
            }

            fn visit_f64<E: de::Error>(self, count: f64) -> Result<Number, E> {
                match Duration::try_from_secs_f64(count) {
                    Ok(_) => Ok(Number::Counted(count)),
                    Err(_) => Err(E::invalid_value(Unexpected::Float(count), &self)),
                }
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Number::deserialize(deserializer)?;
        let time = number.in_units_of(Duration::from_secs(1));
        time.map(Self).ok_or_else(|| de::Error::custom(format!("is no {FORM}")))
    }
}

/// Reads numbers with their units, one behind the other.
fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let (number, behind) = rest.split_at(digits);
        let behind = behind.trim_start();
        let letters = behind.find(|it: char| !it.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(letters);
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
        rest = behind.trim_start();
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_texts_with_units_or_seconds() {
        for (text, want) in [
            (r#""500ms""#, Some(500)),
            (r#""5s""#, Some(5_000)),
            (r#""1.5s""#, Some(1_500)),
            (r#""10 m""#, Some(600_000)),
            (r#""1h30m""#, Some(5_400_000)),
            (r#""1h 30m""#, Some(5_400_000)),
            (r#""7d""#, Some(604_800_000)),
            ("30", Some(30_000)),
            ("0", Some(0)),
            ("0.25", Some(250)),
            ("-1", None),
            ("1e300", None),
            (r#""""#, None),
            (r#""5""#, None),
            (r#""s""#, None),
            (r#""5 parsecs""#, None),
            (r#""1..5s""#, None),
            ("true", None),
        ] {
            let time = serde_json::from_str::<Time>(text).ok().map(|it| it.0);
            assert_eq!(time, want.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn what_a_number_counts_may_depend_on_its_place() {
        let number: Number = serde_json::from_str("60000").unwrap();
        assert_eq!(number.in_units_of(Duration::from_millis(1)), Some(Duration::from_secs(60)));
        let said: Number = serde_json::from_str("\"60s\"").unwrap();
        assert_eq!(said.in_units_of(Duration::from_millis(1)), Some(Duration::from_secs(60)));
    }
}
