//! Table of error kinds with their codes in each version and binding.

use self::grpc_code::{
    FAILED_PRECONDITION, INTERNAL, INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED,
    RESOURCE_EXHAUSTED, UNAUTHENTICATED, UNAVAILABLE, UNIMPLEMENTED,
};
use super::jsonrpc::code::{
    CONTENT_TYPE_NOT_SUPPORTED, EXTENDED_AGENT_CARD_NOT_CONFIGURED, EXTENSION_SUPPORT_REQUIRED,
    INTERNAL_ERROR, INVALID_AGENT_RESPONSE, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND,
    PARSE_ERROR, PUSH_NOTIFICATION_NOT_SUPPORTED, TASK_NOT_CANCELABLE, TASK_NOT_FOUND,
    UNSUPPORTED_OPERATION, VERSION_NOT_SUPPORTED,
};
use crate::version::Version;

/// Codes of an error kind in the bindings of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCodes {
    /// JSON-RPC error code.
    pub jsonrpc: i32,
    /// HTTP status.
    pub http: u16,
    /// gRPC status code.
    pub grpc: i32,
}

const fn codes(jsonrpc: i32, http: u16, grpc: i32) -> ErrorCodes {
    ErrorCodes { jsonrpc, http, grpc }
}

/// gRPC status codes by name.
pub(super) mod grpc_code {
    pub(in crate::error) const INVALID_ARGUMENT: i32 = 3;
    pub(in crate::error) const NOT_FOUND: i32 = 5;
    pub(in crate::error) const PERMISSION_DENIED: i32 = 7;
    pub(in crate::error) const RESOURCE_EXHAUSTED: i32 = 8;
    pub(in crate::error) const FAILED_PRECONDITION: i32 = 9;
    pub(in crate::error) const UNIMPLEMENTED: i32 = 12;
    pub(in crate::error) const INTERNAL: i32 = 13;
    pub(in crate::error) const UNAVAILABLE: i32 = 14;
    pub(in crate::error) const UNAUTHENTICATED: i32 = 16;

    /// Returns the name of a status code in HTTP bodies.
    pub(in crate::error) const fn name(code: i32) -> &'static str {
        match code {
            0 => "OK",
            1 => "CANCELLED",
            INVALID_ARGUMENT => "INVALID_ARGUMENT",
            4 => "DEADLINE_EXCEEDED",
            NOT_FOUND => "NOT_FOUND",
            6 => "ALREADY_EXISTS",
            PERMISSION_DENIED => "PERMISSION_DENIED",
            RESOURCE_EXHAUSTED => "RESOURCE_EXHAUSTED",
            FAILED_PRECONDITION => "FAILED_PRECONDITION",
            10 => "ABORTED",
            11 => "OUT_OF_RANGE",
            UNIMPLEMENTED => "UNIMPLEMENTED",
            INTERNAL => "INTERNAL",
            UNAVAILABLE => "UNAVAILABLE",
            15 => "DATA_LOSS",
            UNAUTHENTICATED => "UNAUTHENTICATED",
            _ => "UNKNOWN",
        }
    }
}

/// Row of the table: reason, default message, and codes in 1.0, 0.3 and 0.1.
struct Row {
    kind: ErrorKind,
    reason: &'static str,
    /// Name of the error type in 0.3, which some peers send in HTTP bodies.
    name: &'static str,
    message: &'static str,
    v1_0: ErrorCodes,
    v0_3: ErrorCodes,
    v0_1: i32,
}

macro_rules! errors {
    ($($(#[doc = $doc:literal])+ $kind:ident $reason:literal $name:literal $message:literal
        [$v1_0:expr, $v0_3:expr, $v0_1:expr])+) => {
        /// Kind of an error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl ErrorKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];
        }

        const TABLE: &[Row] = &[$(Row {
            kind: ErrorKind::$kind,
            reason: $reason,
            name: $name,
            message: $message,
            v1_0: $v1_0,
            v0_3: $v0_3,
            v0_1: $v0_1,
        }),+];
    };
}

// If several kinds of a version share a code, the code decodes to the first one.
errors! {
    /// The task does not exist or belongs to another caller.
    TaskNotFound "TASK_NOT_FOUND" "TaskNotFoundError" "the task was not found"
        [codes(TASK_NOT_FOUND, 404, NOT_FOUND), codes(-32001, 404, NOT_FOUND), -32001]
    /// The task cannot be canceled, usually because it has ended.
    TaskNotCancelable "TASK_NOT_CANCELABLE" "TaskNotCancelableError" "the task cannot be canceled"
        [codes(TASK_NOT_CANCELABLE, 400, FAILED_PRECONDITION), codes(-32002, 409, FAILED_PRECONDITION), -32002]
    /// The agent does not send push notifications.
    PushNotificationNotSupported "PUSH_NOTIFICATION_NOT_SUPPORTED" "PushNotificationNotSupportedError"
        "push notifications are not supported"
        [codes(PUSH_NOTIFICATION_NOT_SUPPORTED, 400, FAILED_PRECONDITION), codes(-32003, 501, UNIMPLEMENTED), -32003]
    /// The agent does not support the operation, or not in the current state of the task.
    UnsupportedOperation "UNSUPPORTED_OPERATION" "UnsupportedOperationError"
        "the operation is not supported"
        [codes(UNSUPPORTED_OPERATION, 400, FAILED_PRECONDITION), codes(-32004, 501, UNIMPLEMENTED), -32004]
    /// The agent does not support streaming.
    StreamingNotSupported "UNSUPPORTED_OPERATION" "UnsupportedOperationError"
        "streaming is not supported"
        [codes(UNSUPPORTED_OPERATION, 400, FAILED_PRECONDITION), codes(-32004, 501, UNIMPLEMENTED), -32006]
    /// The task has ended and accepts no more messages.
    TaskFinished "UNSUPPORTED_OPERATION" "UnsupportedOperationError"
        "the task has ended and accepts no more messages"
        [codes(UNSUPPORTED_OPERATION, 400, FAILED_PRECONDITION), codes(-32004, 501, UNIMPLEMENTED), -32009]
    /// The agent does not support a media type of the request or of the requested output.
    ContentTypeNotSupported "CONTENT_TYPE_NOT_SUPPORTED" "ContentTypeNotSupportedError"
        "the content type is not supported"
        [codes(CONTENT_TYPE_NOT_SUPPORTED, 400, INVALID_ARGUMENT), codes(-32005, 415, UNIMPLEMENTED), -32005]
    /// The response of the agent violates the protocol.
    InvalidAgentResponse "INVALID_AGENT_RESPONSE" "InvalidAgentResponseError"
        "the response of the agent is invalid"
        [codes(INVALID_AGENT_RESPONSE, 500, INTERNAL), codes(-32006, 502, INTERNAL), -32603]
    /// The agent declares an extended card, but none is configured.
    ExtendedAgentCardNotConfigured "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
        "AuthenticatedExtendedCardNotConfiguredError" "no extended agent card is configured"
        [codes(EXTENDED_AGENT_CARD_NOT_CONFIGURED, 400, FAILED_PRECONDITION), codes(-32007, 404, FAILED_PRECONDITION), -32004]
    /// The agent requires an extension that the caller did not activate.
    ExtensionSupportRequired "EXTENSION_SUPPORT_REQUIRED" "ExtensionSupportRequiredError"
        "an extension is required"
        [codes(EXTENSION_SUPPORT_REQUIRED, 400, FAILED_PRECONDITION), codes(-32004, 400, FAILED_PRECONDITION), -32004]
    /// The caller's protocol version is not supported.
    VersionNotSupported "VERSION_NOT_SUPPORTED" "VersionNotSupportedError"
        "the A2A version is not supported"
        [codes(VERSION_NOT_SUPPORTED, 400, FAILED_PRECONDITION), codes(-32009, 400, FAILED_PRECONDITION), -32004]
    /// The request is not JSON.
    Parse "PARSE_ERROR" "JSONParseError" "the request is not JSON"
        [codes(PARSE_ERROR, 400, INVALID_ARGUMENT), codes(-32700, 400, INTERNAL), -32700]
    /// The JSON value is not a request.
    InvalidRequest "INVALID_REQUEST" "InvalidRequestError" "the request is invalid"
        [codes(INVALID_REQUEST, 400, INVALID_ARGUMENT), codes(-32600, 400, INVALID_ARGUMENT), -32600]
    /// The method or path does not exist.
    MethodNotFound "METHOD_NOT_FOUND" "MethodNotFoundError" "the method does not exist"
        [codes(METHOD_NOT_FOUND, 404, UNIMPLEMENTED), codes(-32601, 404, NOT_FOUND), -32601]
    /// A parameter is missing or invalid.
    InvalidParams "INVALID_PARAMS" "InvalidParamsError" "the parameters are invalid"
        [codes(INVALID_PARAMS, 400, INVALID_ARGUMENT), codes(-32602, 422, INVALID_ARGUMENT), -32602]
    /// The server failed. Retrying does not help.
    Internal "INTERNAL_ERROR" "InternalError" "internal error"
        [codes(INTERNAL_ERROR, 500, INTERNAL), codes(-32603, 500, INTERNAL), -32603]
    /// The caller is not authenticated.
    Unauthenticated "UNAUTHENTICATED" "UnauthenticatedError" "authentication is required"
        [codes(-31401, 401, UNAUTHENTICATED), codes(-31401, 401, UNAUTHENTICATED), -32007]
    /// The caller is not authorized.
    PermissionDenied "UNAUTHORIZED" "UnauthorizedError" "permission denied"
        [codes(-31403, 403, PERMISSION_DENIED), codes(-31403, 403, PERMISSION_DENIED), -32008]
    /// The caller exceeds a rate limit or quota.
    RateLimited "RATE_LIMITED" "RateLimitedError" "too many requests; try again later"
        [codes(-31429, 429, RESOURCE_EXHAUSTED), codes(-31429, 429, RESOURCE_EXHAUSTED), -32010]
    /// The server is temporarily unable to handle the call. Retrying may help.
    Unavailable "UNAVAILABLE" "UnavailableError" "temporarily unavailable; try again later"
        [codes(-31503, 503, UNAVAILABLE), codes(-31503, 503, UNAVAILABLE), -32011]
}

impl ErrorKind {
    fn row(self) -> &'static Row {
        // The table lists every kind in the order of the enum.
        &TABLE[self as usize]
    }

    /// Returns the codes in `version`.
    #[must_use]
    pub fn codes(self, version: Version) -> ErrorCodes {
        let row = self.row();
        match version {
            Version::V1_0 => row.v1_0,
            Version::V0_3 => row.v0_3,
            // 0.1 has only JSON-RPC; the statuses are those of the legacy REST API.
            Version::V0_1 => ErrorCodes { jsonrpc: row.v0_1, ..row.v0_3 },
        }
    }

    /// Returns the machine-readable reason that 1.0 sends.
    #[must_use]
    pub fn reason(self) -> &'static str {
        self.row().reason
    }

    /// Returns the name of the error type in 0.3.
    pub(super) fn type_name(self) -> &'static str {
        self.row().name
    }

    pub(super) fn default_message(self) -> &'static str {
        self.row().message
    }

    /// Returns the kind of a JSON-RPC code in `version`.
    #[must_use]
    pub fn from_jsonrpc(code: i64, version: Version) -> Option<Self> {
        TABLE.iter().map(|row| row.kind).find(|kind| i64::from(kind.codes(version).jsonrpc) == code)
    }

    /// Returns the kind of a reason.
    #[must_use]
    pub fn from_reason(reason: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.reason == reason).map(|row| row.kind)
    }

    pub(super) fn from_type_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.name == name).map(|row| row.kind)
    }

    /// Returns the closest kind for an HTTP status without details.
    #[must_use]
    pub fn from_http_status(status: u16) -> Self {
        match status {
            401 => Self::Unauthenticated,
            403 => Self::PermissionDenied,
            404 => Self::TaskNotFound,
            405 => Self::MethodNotFound,
            409 => Self::TaskNotCancelable,
            415 => Self::ContentTypeNotSupported,
            422 => Self::InvalidParams,
            429 => Self::RateLimited,
            400..=499 => Self::InvalidRequest,
            501 => Self::UnsupportedOperation,
            502 => Self::InvalidAgentResponse,
            503 | 504 => Self::Unavailable,
            _ => Self::Internal,
        }
    }

    /// Returns the closest kind for a gRPC status code without details.
    #[must_use]
    pub fn from_grpc_code(code: i32) -> Self {
        match code {
            INVALID_ARGUMENT => Self::InvalidParams,
            NOT_FOUND => Self::TaskNotFound,
            PERMISSION_DENIED => Self::PermissionDenied,
            RESOURCE_EXHAUSTED => Self::RateLimited,
            FAILED_PRECONDITION | UNIMPLEMENTED => Self::UnsupportedOperation,
            UNAVAILABLE | 1 | 4 => Self::Unavailable,
            UNAUTHENTICATED => Self::Unauthenticated,
            _ => Self::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_table_rows_are_in_enum_order() {
        for (row, kind) in TABLE.iter().zip(ErrorKind::ALL) {
            assert_eq!(row.kind, *kind);
            assert_eq!(kind.row().kind, *kind);
        }
    }

    #[test]
    fn jsonrpc_codes_round_trip_through_error_kinds() {
        for version in Version::ALL {
            for kind in ErrorKind::ALL {
                let code = kind.codes(version).jsonrpc;
                let parsed = ErrorKind::from_jsonrpc(code.into(), version).unwrap();
                assert_eq!(parsed.codes(version).jsonrpc, code, "{kind:?} in {version}");
            }
        }
    }

    #[test]
    fn v1_0_codes_match_the_specification() {
        use ErrorKind as K;
        for (kind, jsonrpc, grpc, http, reason) in [
            (K::TaskNotFound, -32001, 5, 404, "TASK_NOT_FOUND"),
            (K::TaskNotCancelable, -32002, 9, 400, "TASK_NOT_CANCELABLE"),
            (K::PushNotificationNotSupported, -32003, 9, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
            (K::UnsupportedOperation, -32004, 9, 400, "UNSUPPORTED_OPERATION"),
            (K::ContentTypeNotSupported, -32005, 3, 400, "CONTENT_TYPE_NOT_SUPPORTED"),
            (K::InvalidAgentResponse, -32006, 13, 500, "INVALID_AGENT_RESPONSE"),
            (
                K::ExtendedAgentCardNotConfigured,
                -32007,
                9,
                400,
                "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            ),
            (K::ExtensionSupportRequired, -32008, 9, 400, "EXTENSION_SUPPORT_REQUIRED"),
            (K::VersionNotSupported, -32009, 9, 400, "VERSION_NOT_SUPPORTED"),
            (K::Parse, -32700, 3, 400, "PARSE_ERROR"),
            (K::InvalidRequest, -32600, 3, 400, "INVALID_REQUEST"),
            (K::MethodNotFound, -32601, 12, 404, "METHOD_NOT_FOUND"),
            (K::InvalidParams, -32602, 3, 400, "INVALID_PARAMS"),
            (K::Internal, -32603, 13, 500, "INTERNAL_ERROR"),
            (K::Unauthenticated, -31401, 16, 401, "UNAUTHENTICATED"),
            (K::PermissionDenied, -31403, 7, 403, "UNAUTHORIZED"),
        ] {
            assert_eq!(kind.codes(Version::V1_0), ErrorCodes { jsonrpc, http, grpc }, "{kind:?}");
            assert_eq!(kind.reason(), reason);
        }
    }

    #[test]
    fn jsonrpc_codes_are_read_by_version() {
        for (version, code, want) in [
            (Version::V1_0, -32006, ErrorKind::InvalidAgentResponse),
            (Version::V1_0, -32009, ErrorKind::VersionNotSupported),
            (Version::V0_3, -32007, ErrorKind::ExtendedAgentCardNotConfigured),
            (Version::V0_1, -32006, ErrorKind::StreamingNotSupported),
            (Version::V0_1, -32007, ErrorKind::Unauthenticated),
            (Version::V0_1, -32008, ErrorKind::PermissionDenied),
            (Version::V0_1, -32009, ErrorKind::TaskFinished),
            (Version::V0_1, -32010, ErrorKind::RateLimited),
            (Version::V0_1, -32011, ErrorKind::Unavailable),
        ] {
            assert_eq!(ErrorKind::from_jsonrpc(code, version), Some(want), "{version} {code}");
        }
    }
}
