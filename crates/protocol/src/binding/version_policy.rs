//! What a request means, against what its caller says.

use crate::error::{Error, ErrorKind};
use crate::version::Version;

/// What to make of a caller that says no version.
///
/// §3.6.2 reads no version as 0.3. Many callers of 1.0 say none all the same, and a method, path
/// or service that only 1.0 has leaves no doubt about what they mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VersionPolicy {
    /// What only 1.0 can mean is served as 1.0.
    #[default]
    Lenient,
    /// What only 1.0 can mean is refused unless 1.0 is said.
    Strict,
}

impl VersionPolicy {
    /// Checks a request that only the version `native` can mean against what its caller said.
    ///
    /// `instead` is how the version that was said asks for the same, for the message.
    ///
    /// ```
    /// # use latimer_protocol::{Version, binding::VersionPolicy};
    /// let (rule, older) = (VersionPolicy::Lenient, Some(Version::V0_3));
    /// assert!(rule.check(Version::V1_0, None, None).is_ok());
    /// let error = rule.check(Version::V1_0, older, Some("message/send")).unwrap_err();
    /// assert_eq!(
    ///     error.message(),
    ///     "this is a request of A2A 1.0, but its caller says 0.3: \
    ///      say A2A-Version: 1.0, or use message/send",
    /// );
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::VersionNotSupported`], with what to do, when the caller says another version,
    /// and under [`VersionPolicy::Strict`] when it says none and means 1.0.
    pub fn check(
        self,
        native: Version,
        declared: Option<Version>,
        alternative: Option<&str>,
    ) -> Result<(), Error> {
        let mismatch = match (declared, self) {
            (Some(declared), _) if declared == native => return Ok(()),
            (Some(declared), _) => format!("its caller says {declared}"),
            (None, Self::Strict) if native == Version::V1_0 => {
                format!("its caller says no version, which means {}", Version::V0_3)
            }
            (None, Self::Lenient | Self::Strict) => return Ok(()),
        };
        let alternative = alternative.map(|it| format!(", or use {it}")).unwrap_or_default();
        Err(Error::new(
            ErrorKind::VersionNotSupported,
            format!(
                "this is a request of A2A {native}, but {mismatch}: \
                 say A2A-Version: {native}{alternative}"
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_policy_affects_only_undeclared_versions() {
        use Version::{V0_1, V0_3, V1_0};
        for (native, declared, lenient, strict) in [
            (V1_0, None, true, false),
            (V0_3, None, true, true),
            (V0_1, None, true, true),
            (V1_0, Some(V1_0), true, true),
            (V1_0, Some(V0_3), false, false),
            (V0_3, Some(V1_0), false, false),
            (V0_1, Some(V0_3), false, false),
        ] {
            let row = format!("{native} as {declared:?}");
            let is_accepted = |policy: VersionPolicy| policy.check(native, declared, None).is_ok();
            assert_eq!(is_accepted(VersionPolicy::Lenient), lenient, "{row}");
            assert_eq!(is_accepted(VersionPolicy::Strict), strict, "{row}");
        }
    }
}
