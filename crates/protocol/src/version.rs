//! Protocol versions, and how a caller declares one.
//!
//! [`Dialect`](crate::Dialect) defines how each version encodes its payloads.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// Version of A2A that the model follows, as written in cards and headers.
pub const PROTOCOL_VERSION: &str = "1.0";

/// A supported protocol version. Patch numbers are ignored, and 0.2 is treated as 0.3.
///
/// ```
/// use latimer_protocol::Version;
///
/// assert_eq!("0.2.5".parse(), Ok(Version::V0_3));
/// assert_eq!(Version::V1_0.as_str(), "1.0");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// 0.1, whose send method is `tasks/send`.
    V0_1,
    /// 0.3 and 0.2.x, whose send method is `message/send`.
    V0_3,
    /// 1.0, whose send method is `SendMessage`.
    V1_0,
}

impl Version {
    /// All supported versions, newest first.
    pub const ALL: [Self; 3] = [Self::V1_0, Self::V0_3, Self::V0_1];

    /// Returns the version as written in headers and cards.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1",
            Self::V0_3 => "0.3",
            Self::V1_0 => PROTOCOL_VERSION,
        }
    }

    /// Parses the version that a caller declared in the header or, without one, in the query
    /// parameter `A2A-Version`.
    ///
    /// Returns `None` if both are absent or empty. §3.6.2 treats such a request as 0.3; the binding
    /// decides whether it also accepts a request that is only valid in 1.0.
    ///
    /// ```
    /// # use latimer_protocol::Version;
    /// assert_eq!(Version::declared(Some("1.0.3"), None)?, Some(Version::V1_0));
    /// assert_eq!(Version::declared(Some(""), None)?, None);
    /// assert!(Version::declared(Some("2.0"), None).is_err());
    /// # Ok::<(), latimer_protocol::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::VersionNotSupported`](crate::ErrorKind::VersionNotSupported) for any
    /// other version; its message lists the supported ones.
    pub fn declared(header: Option<&str>, query: Option<&str>) -> Result<Option<Self>, Error> {
        let declared =
            [header, query].into_iter().flatten().map(str::trim).find(|it| !it.is_empty());
        declared
            .map(|text| {
                text.parse().map_err(|_: UnknownVersion| Error::version_not_supported(text))
            })
            .transpose()
    }
}

/// A string is not a supported version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a supported A2A version")]
pub struct UnknownVersion;

impl FromStr for Version {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        // Fast path: the canonical form.
        if let Some(version) = Self::ALL.into_iter().find(|it| it.as_str() == text) {
            return Ok(version);
        }
        let mut numbers = text.split('.').map(parse_number);
        let mut next = || numbers.next().transpose();
        match (next()?, next()?, next()?, next()?) {
            (Some(1), Some(0), _, None) => Ok(Self::V1_0),
            (Some(0), Some(2 | 3), _, None) => Ok(Self::V0_3),
            (Some(0), Some(1), _, None) => Ok(Self::V0_1),
            _ => Err(UnknownVersion),
        }
    }
}

/// Parses a version component: decimal digits without leading zeros.
fn parse_number(text: &str) -> Result<u32, UnknownVersion> {
    let plain =
        text.bytes().all(|it| it.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain).ok_or(UnknownVersion)
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn version_parsing_ignores_the_patch_number() {
        for (text, want) in [
            ("1.0", Version::V1_0),
            ("1.0.0", Version::V1_0),
            ("1.0.7", Version::V1_0),
            ("0.3", Version::V0_3),
            ("0.3.0", Version::V0_3),
            ("0.2.5", Version::V0_3),
            ("0.1.0", Version::V0_1),
        ] {
            assert_eq!(text.parse(), Ok(want), "{text}");
        }
    }

    #[test]
    fn unsupported_version_error_lists_supported_versions() {
        for text in ["1", "1.1", "2.0", "0.5", "abc", "1.0.0.0", "1.0-rc", "-1.0", "+1.0", "01.0"] {
            let error = Version::declared(Some(text), None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::VersionNotSupported, "{text}");
            assert!(error.message().contains("1.0, 0.3, 0.1"), "{error}");
        }
    }

    #[test]
    fn declared_version_prefers_header_and_ignores_empty() {
        assert_eq!(Version::declared(None, None), Ok(None));
        assert_eq!(Version::declared(Some(" "), Some("")), Ok(None));
        assert_eq!(Version::declared(None, Some("1.0")), Ok(Some(Version::V1_0)));
        assert_eq!(Version::declared(Some("0.3"), Some("1.0")), Ok(Some(Version::V0_3)));
    }
}
