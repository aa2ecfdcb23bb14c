//! What a request means, against what its caller says.

use crate::error::{Error, ErrorKind};
use crate::version::Version;

/// What to make of a caller that says no version.
///
/// §3.6.2 reads no version as 0.3. Many callers of 1.0 say none all the same, and a method, path
/// or service that only 1.0 has leaves no doubt about what they mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VersionRule {
    /// What only 1.0 can mean is served as 1.0.
    #[default]
    Lenient,
    /// What only 1.0 can mean is refused unless 1.0 is said.
    Strict,
}

impl VersionRule {
    /// Checks a request that only the version `native` can mean against what its caller said.
    ///
    /// `instead` is how the version that was said asks for the same, for the message.
    ///
    /// ```
    /// # use latimer_protocol::{Version, binding::VersionRule};
    /// let (rule, older) = (VersionRule::Lenient, Some(Version::V0_3));
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
    /// and under [`VersionRule::Strict`] when it says none and means 1.0.
    pub fn check(
        self,
        native: Version,
        said: Option<Version>,
        instead: Option<&str>,
    ) -> Result<(), Error> {
        let said = match (said, self) {
            (Some(said), _) if said == native => return Ok(()),
            (Some(said), _) => format!("its caller says {said}"),
            (None, Self::Strict) if native == Version::V1_0 => {
                format!("its caller says no version, which means {}", Version::V0_3)
            }
            (None, Self::Lenient | Self::Strict) => return Ok(()),
        };
        let instead = instead.map(|it| format!(", or use {it}")).unwrap_or_default();
        Err(Error::new(
            ErrorKind::VersionNotSupported,
            format!(
                "this is a request of A2A {native}, but {said}: \
                 say A2A-Version: {native}{instead}"
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_decides_only_about_callers_that_say_nothing() {
        use Version::{V0_1, V0_3, V1_0};
        for (native, said, lenient, strict) in [
            (V1_0, None, true, false),
            (V0_3, None, true, true),
            (V0_1, None, true, true),
            (V1_0, Some(V1_0), true, true),
            (V1_0, Some(V0_3), false, false),
            (V0_3, Some(V1_0), false, false),
            (V0_1, Some(V0_3), false, false),
        ] {
            let row = format!("{native} as {said:?}");
            let passes = |rule: VersionRule| rule.check(native, said, None).is_ok();
            assert_eq!(passes(VersionRule::Lenient), lenient, "{row}");
            assert_eq!(passes(VersionRule::Strict), strict, "{row}");
        }
    }
}
