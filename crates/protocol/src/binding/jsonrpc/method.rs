//! Mapping from JSON-RPC methods to operations and versions.

use crate::binding::VersionPolicy;
use crate::display::truncate_for_display;
use crate::error::{Error, ErrorKind, MAX_DISPLAYED_CHARS};
use crate::operation::Operation;
use crate::version::Version;

/// Returns the operation of `method`, and the version to serve it in if the client declared
/// `declared`.
///
/// The method determines the version, and the declared version is checked against it:
///
/// | method | undeclared | declared 1.0 | declared 0.3 | declared 0.1 |
/// | --- | --- | --- | --- | --- |
/// | of 1.0 (`SendMessage`) | 1.0; strict: rejected | 1.0 | rejected | rejected |
/// | of 0.3 (`message/send`) | 0.3 | 1.0; strict: rejected | 0.3 | rejected |
/// | of 0.3 and 0.1 (`tasks/get`) | 0.3 | 1.0; strict: rejected | 0.3 | 0.1 |
/// | of 0.1 (`tasks/send`) | 0.1 | rejected | rejected | 0.1 |
///
/// Some clients use 0.3 methods with 1.0 payloads, so the lenient policy trusts a declared 1.0.
///
/// ```
/// # use latimer_protocol::{Operation, Version, binding::{VersionPolicy, jsonrpc::resolve_method}};
/// let resolved = resolve_method("message/send", None, VersionPolicy::Lenient)?;
/// assert_eq!(resolved, (Operation::SendMessage, Version::V0_3));
/// # Ok::<(), latimer_protocol::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::MethodNotFound`] for a method of no version, and
/// [`ErrorKind::VersionNotSupported`] for rejected combinations.
pub fn resolve_method(
    method: &str,
    declared: Option<Version>,
    version_policy: VersionPolicy,
) -> Result<(Operation, Version), Error> {
    let Some((operation, native)) = Operation::from_method(method) else {
        let message =
            format!("unknown method {:?}", truncate_for_display(method, MAX_DISPLAYED_CHARS));
        return Err(Error::new(ErrorKind::MethodNotFound, message));
    };
    let version = match (declared, version_policy) {
        (Some(declared), _) if operation.method(declared) == Some(method) => declared,
        (Some(Version::V1_0), VersionPolicy::Lenient) if native == Version::V0_3 => Version::V1_0,
        _ => native,
    };
    let alternative = declared.unwrap_or(Version::V0_3);
    version_policy.check(version, declared, operation.method(alternative))?;
    Ok((operation, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_version_is_checked_against_the_method() {
        use Version::{V0_1, V0_3, V1_0};
        for (method, declared, lenient, strict) in [
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
            for (policy, want) in
                [(VersionPolicy::Lenient, lenient), (VersionPolicy::Strict, strict)]
            {
                let resolved = resolve_method(method, declared, policy);
                let row = format!("{method} as {declared:?}, {policy:?}");
                match (resolved, want) {
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
    fn version_mismatch_error_suggests_a_fix() {
        let error =
            resolve_method("tasks/send", Some(Version::V1_0), VersionPolicy::Lenient).unwrap_err();
        assert!(error.message().ends_with("send A2A-Version: 0.1, or use SendMessage"), "{error}");
        let error = resolve_method("GetTask", None, VersionPolicy::Strict).unwrap_err();
        assert!(error.message().ends_with("send A2A-Version: 1.0, or use tasks/get"), "{error}");
    }

    #[test]
    fn unknown_method_error_truncates_the_method_name() {
        let error = resolve_method(&"x\n".repeat(500), None, VersionPolicy::Lenient).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MethodNotFound);
        assert_eq!(error.message(), format!("unknown method {:?}", "x".repeat(64)));
    }
}
