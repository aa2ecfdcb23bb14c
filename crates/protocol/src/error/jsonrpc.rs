//! JSON-RPC error objects of errors.

use serde_json::{Value, json};

use super::{Error, ErrorKind, detail};
use crate::version::Version;

/// JSON-RPC error codes of 1.0.
pub mod code {
    /// The request is not JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// The JSON value is not a request.
    pub const INVALID_REQUEST: i32 = -32600;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// A parameter is missing or invalid.
    pub const INVALID_PARAMS: i32 = -32602;
    /// The server failed.
    pub const INTERNAL_ERROR: i32 = -32603;
    /// The task does not exist.
    pub const TASK_NOT_FOUND: i32 = -32001;
    /// The task cannot be canceled, usually because it has ended.
    pub const TASK_NOT_CANCELABLE: i32 = -32002;
    /// The agent does not send push notifications.
    pub const PUSH_NOTIFICATION_NOT_SUPPORTED: i32 = -32003;
    /// The agent does not support the operation.
    pub const UNSUPPORTED_OPERATION: i32 = -32004;
    /// The agent does not support a media type of the request or of the requested output.
    pub const CONTENT_TYPE_NOT_SUPPORTED: i32 = -32005;
    /// The response of the agent violates the protocol.
    pub const INVALID_AGENT_RESPONSE: i32 = -32006;
    /// No extended card is configured.
    pub const EXTENDED_AGENT_CARD_NOT_CONFIGURED: i32 = -32007;
    /// The agent requires an extension that the caller did not activate.
    pub const EXTENSION_SUPPORT_REQUIRED: i32 = -32008;
    /// The protocol version is not supported.
    pub const VERSION_NOT_SUPPORTED: i32 = -32009;
}

impl Error {
    /// Encodes the error for a caller of `version`.
    #[must_use]
    pub fn to_jsonrpc(&self, version: Version) -> Value {
        json!({
            "code": self.kind.codes(version).jsonrpc,
            "message": self.message,
            "data": detail::write_details(self),
        })
    }

    /// Decodes the error object of a peer of `version`. Never fails: an unreadable object becomes
    /// an internal error.
    #[must_use]
    pub fn from_jsonrpc(object: &Value, version: Version) -> Self {
        let code = object.get("code").and_then(Value::as_i64);
        let known_kind = code.and_then(|code| ErrorKind::from_jsonrpc(code, version));
        let kind = known_kind.unwrap_or(ErrorKind::Internal);
        let error = match object.get("message").and_then(Value::as_str) {
            Some(message) if !message.is_empty() => Self::new(kind, message.to_owned()),
            _ => kind.into(),
        };
        detail::apply_details(error, object.get("data").unwrap_or(&Value::Null))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_round_trips_through_jsonrpc_object() {
        for version in Version::ALL {
            for kind in ErrorKind::ALL {
                let error = Error::from(*kind).with_metadata("taskId", "t1");
                let decoded = Error::from_jsonrpc(&error.to_jsonrpc(version), version);
                assert_eq!(decoded.kind().reason(), kind.reason(), "{kind:?} in {version}");
                assert_eq!(decoded.metadata(), error.metadata());
                assert_eq!(decoded.message(), error.message());
            }
        }
    }

    #[test]
    fn malformed_error_object_becomes_an_internal_error() {
        for object in [json!(null), json!("x"), json!({}), json!({"code": "x", "data": [1, {}]})] {
            assert_eq!(Error::from_jsonrpc(&object, Version::V1_0).kind(), ErrorKind::Internal);
        }
    }
}
