//! gRPC services and method names of each version.

use crate::operation::Operation;
use crate::version::Version;

/// Protobuf package of a version. 0.1 has none, so code that handles messages of a package covers
/// every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Package {
    /// `lf.a2a.v1`, of 1.0.
    V1_0,
    /// `a2a.v1`, of 0.3.
    V0_3,
}

impl Package {
    /// All packages, newest first.
    pub const ALL: [Self; 2] = [Self::V1_0, Self::V0_3];

    /// Returns the package of `version`; `None` for 0.1.
    #[must_use]
    pub fn for_version(version: Version) -> Option<Self> {
        match version {
            Version::V1_0 => Some(Self::V1_0),
            Version::V0_3 => Some(Self::V0_3),
            Version::V0_1 => None,
        }
    }

    /// Returns the protocol version of the package.
    #[must_use]
    pub fn version(self) -> Version {
        match self {
            Self::V1_0 => Version::V1_0,
            Self::V0_3 => Version::V0_3,
        }
    }

    /// Returns the full name of the service.
    #[must_use]
    pub fn service(self) -> &'static str {
        match self {
            Self::V1_0 => "lf.a2a.v1.A2AService",
            Self::V0_3 => "a2a.v1.A2AService",
        }
    }
}

/// Returns the full method path of `operation`, if the package has one.
///
/// ```
/// # use latimer_protocol::Operation;
/// # use latimer_protocol::binding::grpc::{Package, path};
/// let path = path(Operation::SubscribeToTask, Package::V0_3);
/// assert_eq!(path.as_deref(), Some("/a2a.v1.A2AService/TaskSubscription"));
/// ```
#[must_use]
pub fn path(operation: Operation, package: Package) -> Option<String> {
    Some(format!("/{}/{}", package.service(), operation.rpc(package.version())?))
}

/// Returns the operation and package of a full method path.
#[must_use]
pub fn parse_path(path: &str) -> Option<(Operation, Package)> {
    let (name, rpc) = path.strip_prefix('/')?.split_once('/')?;
    let package = Package::ALL.into_iter().find(|it| it.service() == name)?;
    let version = package.version();
    let operation = Operation::ALL.into_iter().find(|it| it.rpc(version) == Some(rpc))?;
    Some((operation, package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_paths_round_trip_to_operation_and_package() {
        let mut count = 0;
        for operation in Operation::ALL {
            for package in Package::ALL {
                let Some(path) = path(operation, package) else { continue };
                assert_eq!(parse_path(&path), Some((operation, package)), "{path}");
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
