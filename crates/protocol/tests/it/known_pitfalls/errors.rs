//! Pitfalls of error codes, statuses and reasons.

use latimer_protocol::binding::grpc;
use latimer_protocol::{Error, ErrorKind, Operation, Version};
use prost::Message as _;
use serde_json::json;

#[test]
fn pitfall_03_errors_use_v1_0_1_statuses_and_reasons_decide() {
    for (kind, http, grpc) in [
        (ErrorKind::TaskNotCancelable, 400, 9),
        (ErrorKind::ContentTypeNotSupported, 400, 3),
        (ErrorKind::InvalidAgentResponse, 500, 13),
        (ErrorKind::PushNotificationNotSupported, 400, 9),
        (ErrorKind::VersionNotSupported, 400, 9),
    ] {
        let code = kind.codes(Version::V1_0);
        assert_eq!((code.http, code.grpc), (http, grpc), "{kind:?}");
        // 1.0.0 had different statuses, so the reason determines the kind.
        let body = Error::from(kind).to_http(Version::V1_0).body.to_string();
        let read = Error::from_http(409, body.as_bytes(), Version::V1_0);
        assert_eq!(read.kind(), kind);
    }
}

#[test]
fn pitfall_40_extended_card_errors_have_documented_codes() {
    for (kind, version, code) in [
        (ErrorKind::UnsupportedOperation, Version::V1_0, -32004),
        (ErrorKind::ExtendedAgentCardNotConfigured, Version::V1_0, -32007),
        (ErrorKind::ExtendedAgentCardNotConfigured, Version::V0_3, -32007),
    ] {
        assert_eq!(kind.codes(version).jsonrpc, code, "{kind:?} in {version}");
    }
    assert_eq!(ErrorKind::Unauthenticated.codes(Version::V1_0).http, 401);
}

#[test]
fn pitfall_47_grpc_errors_carry_reason_and_matching_code() {
    let status = Error::from(ErrorKind::UnsupportedOperation).to_grpc(Version::V1_0);
    assert_eq!(status.code, 9);
    let details = latimer_pb::rpc::Status::decode(status.details.as_slice()).unwrap();
    assert_eq!(details.code, 9);
    let info: latimer_pb::rpc::ErrorInfo = details.details[0].to_msg().unwrap();
    assert_eq!(
        (info.reason.as_str(), info.domain.as_str()),
        ("UNSUPPORTED_OPERATION", "a2a-protocol.org")
    );
    assert_eq!(
        grpc::path(Operation::GetTask, grpc::Package::V1_0).unwrap(),
        "/lf.a2a.v1.A2AService/GetTask"
    );
}

#[test]
fn pitfall_49_v0_1_error_codes_have_other_meanings() {
    for (code, v0_1_kind, v1_0_kind) in [
        (-32006, ErrorKind::StreamingNotSupported, ErrorKind::InvalidAgentResponse),
        (-32007, ErrorKind::Unauthenticated, ErrorKind::ExtendedAgentCardNotConfigured),
        (-32008, ErrorKind::PermissionDenied, ErrorKind::ExtensionSupportRequired),
        (-32009, ErrorKind::TaskFinished, ErrorKind::VersionNotSupported),
    ] {
        let object = json!({"code": code, "message": "m"});
        assert_eq!(Error::from_jsonrpc(&object, Version::V0_1).kind(), v0_1_kind);
        assert_eq!(Error::from_jsonrpc(&object, Version::V1_0).kind(), v1_0_kind);
    }
}
