//! Positions of events in the log of a task.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Position of an event in the log of its task. The first event has revision 1, and each event adds
/// 1.
///
/// Streams send it as the SSE event id. A reader resumes after the last revision it received.
///
/// ```
/// # use latimer_protocol::Revision;
/// let seen: Revision = "41".parse()?;
/// assert_eq!(seen.next().to_string(), "42");
/// # Ok::<(), latimer_protocol::InvalidRevision>(())
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Revision(u64);

impl Revision {
    /// Position before the first event; the revision of an empty log.
    pub const START: Self = Self(0);

    /// Creates a revision from its number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the following revision; saturates at the maximum.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// A string is not a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a revision: expected decimal digits")]
pub struct InvalidRevision;

impl FromStr for Revision {
    type Err = InvalidRevision;

    fn from_str(text: &str) -> Result<Self, InvalidRevision> {
        // `u64::from_str` accepts a leading plus sign.
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidRevision);
        }
        text.parse().map(Self).map_err(|_| InvalidRevision)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revision_parses_only_unsigned_decimal_digits() {
        for (text, want) in [("0", 0), ("7", 7), ("18446744073709551615", u64::MAX)] {
            assert_eq!(text.parse(), Ok(Revision::new(want)), "{text}");
        }
        for text in ["", " 1", "+1", "-1", "1.0", "18446744073709551616", "٣", "a"] {
            assert_eq!(text.parse::<Revision>(), Err(InvalidRevision), "{text:?}");
        }
    }

    #[test]
    fn next_of_the_maximum_revision_saturates() {
        assert_eq!(Revision::START.next(), Revision::new(1));
        assert_eq!(Revision::new(u64::MAX).next(), Revision::new(u64::MAX));
    }
}
