//! Check of the declared version against the version of the request.

use crate::error::{Error, ErrorKind};
use crate::version::Version;

/// Policy for requests that declare no version.
///
/// §3.6.2 defines a missing version as 0.3. Many 1.0 clients omit it nevertheless, and a method,
/// path or service that exists only in 1.0 identifies the version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VersionPolicy {
    /// Serves a request that exists only in 1.0 as 1.0.
    #[default]
    Lenient,
    /// Rejects a request that exists only in 1.0 unless it declares 1.0.
    Strict,
}

impl VersionPolicy {
    /// Checks a request of version `native` against the version that the client declared.
    ///
    /// `alternative` is the name of the operation in the declared version, for the error message.
    ///
    /// ```
    /// # use latimer_protocol::{Version, binding::VersionPolicy};
    /// let (policy, older) = (VersionPolicy::Lenient, Some(Version::V0_3));
    /// assert!(policy.check(Version::V1_0, None, None).is_ok());
    /// let error = policy.check(Version::V1_0, older, Some("message/send")).unwrap_err();
    /// assert_eq!(
    ///     error.message(),
    ///     "the request is A2A 1.0, but the client declared 0.3: \
    ///      send A2A-Version: 1.0, or use message/send",
    /// );
    /// ```
    ///
    /// # Errors
    /// Returns [`ErrorKind::VersionNotSupported`] with a correction if the client declared another
    /// version, or if it declared none, the request is 1.0 and the policy is
    /// [`VersionPolicy::Strict`].
    pub fn check(
        self,
        native: Version,
        declared: Option<Version>,
        alternative: Option<&str>,
    ) -> Result<(), Error> {
        let mismatch = match (declared, self) {
            (Some(declared), _) if declared == native => return Ok(()),
            (Some(declared), _) => format!("the client declared {declared}"),
            (None, Self::Strict) if native == Version::V1_0 => {
                format!("the client declared no version, which means {}", Version::V0_3)
            }
            (None, Self::Lenient | Self::Strict) => return Ok(()),
        };
        let alternative = alternative.map(|it| format!(", or use {it}")).unwrap_or_default();
        Err(Error::new(
            ErrorKind::VersionNotSupported,
            format!(
                "the request is A2A {native}, but {mismatch}: \
                 send A2A-Version: {native}{alternative}"
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
