//! Which operation a method asks for, and which version serves it.

use crate::binding::VersionRule;
use crate::error::{Error, ErrorKind, shown};
use crate::operation::Operation;
use crate::version::Version;

/// Finds the operation of `method`, and the version to serve it in for a caller that said `said`.
///
/// The name decides, and what is said is checked against it:
///
/// | method | nothing said | 1.0 said | 0.3 said | 0.1 said |
/// | --- | --- | --- | --- | --- |
/// | of 1.0 (`SendMessage`) | 1.0; strict: refused | 1.0 | refused | refused |
/// | of 0.3 (`message/send`) | 0.3 | 1.0; strict: refused | 0.3 | refused |
/// | of 0.3 and 0.1 (`tasks/get`) | 0.3 | 1.0; strict: refused | 0.3 | 0.1 |
/// | of 0.1 (`tasks/send`) | 0.1 | refused | refused | 0.1 |
///
/// There are callers that use the names of 0.3 with the payloads of 1.0: one that says 1.0 is
/// taken at its word.
///
/// ```
/// # use latimer_protocol::{Operation, Version, binding::{VersionRule, jsonrpc::resolve}};
/// let found = resolve("message/send", None, VersionRule::Lenient)?;
/// assert_eq!(found, (Operation::SendMessage, Version::V0_3));
/// # Ok::<(), latimer_protocol::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::MethodNotFound`] for a method of no version, [`ErrorKind::VersionNotSupported`]
/// where the table says refused.
pub fn resolve(
    method: &str,
    said: Option<Version>,
    rule: VersionRule,
) -> Result<(Operation, Version), Error> {
    let Some((operation, native)) = Operation::from_method(method) else {
        let message = format!("there is no method {:?}", shown(method));
        return Err(Error::new(ErrorKind::MethodNotFound, message));
    };
    let version = match (said, rule) {
        (Some(said), _) if operation.method(said) == Some(method) => said,
        (Some(Version::V1_0), VersionRule::Lenient) if native == Version::V0_3 => Version::V1_0,
        _ => native,
    };
    let instead = said.unwrap_or(Version::V0_3);
    rule.check(version, said, operation.method(instead))?;
    Ok((operation, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_checked_against_the_method() {
        use Version::{V0_1, V0_3, V1_0};
        for (method, said, lenient, strict) in [
            ("SendMessage", None, Some(V1_0), None),
            ("SendMessage", Some(V1_0), Some(V1_0), Some(V1_0)),
            ("SendMessage", Some(V0_3), None, None),
            ("message/send", None, Some(V0_3), Some(V0_3)),
            ("message/send", Some(V0_3), Some(V0_3), Some(V0_3)),
            ("message/send", Some(V1_0), Some(V1_0), None),
            ("message/send", Some(V0_1), None, None),
            ("message/sendStreaming", Some(V1_0), Some(V1_0), None),
            ("message/sendStreaming", Some(V0_3), Some(V0_3), Some(V0_3)),
            ("tasks/list", None, Some(V0_3), Some(V0_3)),
            ("tasks/get", None, Some(V0_3), Some(V0_3)),
            ("tasks/get", Some(V0_1), Some(V0_1), Some(V0_1)),
            ("tasks/get", Some(V1_0), Some(V1_0), None),
            ("tasks/send", None, Some(V0_1), Some(V0_1)),
            ("tasks/send", Some(V0_1), Some(V0_1), Some(V0_1)),
            ("tasks/send", Some(V0_3), None, None),
            ("tasks/send", Some(V1_0), None, None),
            ("GetAgentCard", Some(V1_0), Some(V1_0), Some(V1_0)),
        ] {
            for (rule, want) in [(VersionRule::Lenient, lenient), (VersionRule::Strict, strict)] {
                let found = resolve(method, said, rule);
                let row = format!("{method} as {said:?}, {rule:?}");
                match (found, want) {
                    (Ok((_, version)), want) => assert_eq!(Some(version), want, "{row}"),
                    (Err(error), None) => {
                        assert_eq!(error.kind(), ErrorKind::VersionNotSupported, "{row}");
                    }
                    (Err(error), Some(_)) => panic!("{row}: {error}"),
                }
            }
        }
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let error = resolve("tasks/send", Some(Version::V1_0), VersionRule::Lenient).unwrap_err();
        assert!(error.message().ends_with("say A2A-Version: 0.1, or use SendMessage"), "{error}");
        let error = resolve("GetTask", None, VersionRule::Strict).unwrap_err();
        assert!(error.message().ends_with("say A2A-Version: 1.0, or use tasks/get"), "{error}");
    }

    #[test]
    fn an_unknown_method_is_named_but_not_at_length() {
        let error = resolve(&"x\n".repeat(500), None, VersionRule::Lenient).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MethodNotFound);
        assert_eq!(error.message(), format!("there is no method {:?}", "x".repeat(64)));
    }
}
