//! gRPC services and method names of each version.

use crate::operation::Operation;
use crate::version::Version;

/// gRPC service of 1.0.
pub const SERVICE: &str = "lf.a2a.v1.A2AService";
/// gRPC service of 0.3.
pub const SERVICE_0_3: &str = "a2a.v1.A2AService";

/// Returns the gRPC service of `version`; `None` for 0.1, which does not define one.
#[must_use]
pub fn service(version: Version) -> Option<&'static str> {
    match version {
        Version::V1_0 => Some(SERVICE),
        Version::V0_3 => Some(SERVICE_0_3),
        Version::V0_1 => None,
    }
}

/// Returns the full method path of `operation` in `version`, if the version has one.
///
/// ```
/// # use latimer_protocol::{Operation, Version, binding::grpc};
/// let path = grpc::path(Operation::SubscribeToTask, Version::V0_3);
/// assert_eq!(path.as_deref(), Some("/a2a.v1.A2AService/TaskSubscription"));
/// ```
#[must_use]
pub fn path(operation: Operation, version: Version) -> Option<String> {
    Some(format!("/{}/{}", service(version)?, operation.rpc(version)?))
}

/// Returns the operation and version of a full method path.
#[must_use]
pub fn parse_path(path: &str) -> Option<(Operation, Version)> {
    let (name, rpc) = path.strip_prefix('/')?.split_once('/')?;
    let version = Version::ALL.into_iter().find(|it| service(*it) == Some(name))?;
    let operation = Operation::ALL.into_iter().find(|it| it.rpc(version) == Some(rpc))?;
    Some((operation, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_paths_round_trip_to_operation_and_version() {
        let mut count = 0;
        for operation in Operation::ALL {
            for version in Version::ALL {
                let Some(path) = path(operation, version) else { continue };
                assert_eq!(parse_path(&path), Some((operation, version)), "{path}");
                count += 1;
            }
        }
        assert_eq!(count, 22);
    }

    #[test]
    fn unknown_grpc_paths_are_not_parsed() {
        for path in [
            "",
            "/",
            "lf.a2a.v1.A2AService/GetTask",
            "/lf.a2a.v1.A2AService",
            "/lf.a2a.v1.A2AService/",
            "/lf.a2a.v1.A2AService/TaskSubscription",
            "/a2a.v1.A2AService/SubscribeToTask",
            "/a2a.v2.A2AService/GetTask",
            "/lf.a2a.v1.A2AService/GetTask/",
        ] {
            assert_eq!(parse_path(path), None, "{path}");
        }
    }
}
