//! gRPC statuses of errors, with the `google.rpc.Status` of the `grpc-status-details-bin` trailer.

use latimer_pb::rpc::{BadRequest, ErrorInfo, RetryInfo, Status, bad_request::FieldViolation};
use prost::Message;
use prost_types::{Any, Duration};

use super::detail::{DOMAIN, refine};
use super::{Error, ErrorKind};
use crate::json::InvalidField;
use crate::version::Version;

/// gRPC status of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcStatus {
    /// Status code.
    pub code: i32,
    /// Human-readable message.
    pub message: String,
    /// Encoded `google.rpc.Status`; empty without details.
    pub details: Vec<u8>,
}

impl Error {
    /// Encodes the error for a caller of `version`.
    #[must_use]
    pub fn to_grpc(&self, version: Version) -> GrpcStatus {
        let code = self.kind.codes(version).grpc;
        let info = ErrorInfo {
            reason: self.kind.reason().to_owned(),
            domain: DOMAIN.to_owned(),
            metadata: self.metadata.clone(),
        };
        let mut details = vec![to_any(&info)];
        if let Some(seconds) = self.retry_after_seconds() {
            let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
            let retry_delay = Some(Duration { seconds, nanos: 0 });
            details.push(to_any(&RetryInfo { retry_delay }));
        }
        if !self.violations.is_empty() {
            let violation = |it: &InvalidField| FieldViolation {
                field: it.field.clone(),
                description: it.problem.clone(),
                ..FieldViolation::default()
            };
            let field_violations = self.violations.iter().map(violation).collect();
            details.push(to_any(&BadRequest { field_violations }));
        }
        let message = match version {
            Version::V1_0 => self.message.clone().into_owned(),
            // One SDK identifies errors of 0.3 only by a prefix of the message.
            Version::V0_3 | Version::V0_1 => {
                format!("{}: {}", self.kind.type_name(), self.message)
            }
        };
        let status = Status { code, message: message.clone(), details };
        GrpcStatus { code, message, details: status.encode_to_vec() }
    }

    /// Decodes the gRPC status of a peer. Never fails: without readable details the kind follows
    /// from the code.
    #[must_use]
    pub fn from_grpc(status: &GrpcStatus) -> Self {
        let kind = ErrorKind::from_grpc_code(status.code);
        let prefixed = status.message.split_once(": ").and_then(|(name, message)| {
            ErrorKind::from_type_name(name).map(|kind| (kind, message))
        });
        let mut error = match (prefixed, status.message.as_str()) {
            (Some((named_kind, message)), _) => {
                Self::new(refine(kind, named_kind), message.to_owned())
            }
            (None, "") => kind.into(),
            (None, message) => Self::new(kind, message.to_owned()),
        };
        let details = Status::decode(status.details.as_slice()).unwrap_or_default().details;
        for detail in details {
            if let Ok(info) = detail.to_msg::<ErrorInfo>() {
                if let Some(kind) = ErrorKind::from_reason(&info.reason) {
                    error.kind = refine(error.kind, kind);
                }
                error.metadata.extend(info.metadata);
            } else if let Ok(request) = detail.to_msg::<BadRequest>() {
                let to_invalid_field =
                    |it: FieldViolation| InvalidField::new(it.field, it.description);
                error.violations.extend(request.field_violations.into_iter().map(to_invalid_field));
            }
        }
        error
    }
}

fn to_any<M: prost::Name>(message: &M) -> Any {
    Any { type_url: M::type_url(), value: message.encode_to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_round_trips_through_grpc_status() {
        for version in [Version::V1_0, Version::V0_3] {
            for kind in ErrorKind::ALL {
                let error = Error::from(*kind)
                    .with_metadata("taskId", "t1")
                    .with_violation(InvalidField::missing("message.parts"));
                let decoded = Error::from_grpc(&error.to_grpc(version));
                assert_eq!(decoded.kind().reason(), kind.reason(), "{kind:?} in {version}");
                assert_eq!(decoded.metadata(), error.metadata());
                assert_eq!(decoded.violations(), error.violations());
                assert_eq!(decoded.message(), error.message());
            }
        }
    }

    #[test]
    fn retry_delay_is_sent_in_whole_seconds() {
        let wait = std::time::Duration::from_millis(2100);
        let error = Error::from(ErrorKind::RateLimited).with_retry_after(wait);
        let status = error.to_grpc(Version::V1_0);
        let details = Status::decode(status.details.as_slice()).unwrap().details;
        let retry = details.iter().find_map(|it| it.to_msg::<RetryInfo>().ok()).unwrap();
        assert_eq!(retry.retry_delay, Some(Duration { seconds: 3, nanos: 0 }));
        assert_eq!(Error::from_grpc(&status).retry_after_seconds(), Some(3));
        let body = error.to_http(Version::V1_0).body;
        assert_eq!(body["error"]["details"][1]["retryDelay"], "3s");
        let immediate =
            Error::from(ErrorKind::RateLimited).with_retry_after(std::time::Duration::ZERO);
        assert_eq!(immediate.retry_after_seconds(), Some(1));
    }

    #[test]
    fn invalid_grpc_status_details_are_ignored() {
        for details in [vec![], vec![0xff; 20], b"text".to_vec()] {
            let status = GrpcStatus { code: 5, message: "gone".into(), details };
            let error = Error::from_grpc(&status);
            assert_eq!((error.kind(), error.message()), (ErrorKind::TaskNotFound, "gone"));
        }
    }
}
