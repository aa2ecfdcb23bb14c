//! Errors as JSON-RPC error objects.

use serde_json::{Value, json};

use super::{Error, ErrorKind, detail};
use crate::version::Version;

/// JSON-RPC error codes by name, as 1.0 has them.
pub mod code {
    /// Not JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// JSON, but no request.
    pub const INVALID_REQUEST: i32 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// A field is wrong.
    pub const INVALID_PARAMS: i32 = -32602;
    /// Something failed that the caller can do nothing about.
    pub const INTERNAL_ERROR: i32 = -32603;
    /// No such task.
    pub const TASK_NOT_FOUND: i32 = -32001;
    /// The task is over and cannot be canceled.
    pub const TASK_NOT_CANCELABLE: i32 = -32002;
    /// The agent does not send push notifications.
    pub const PUSH_NOTIFICATION_NOT_SUPPORTED: i32 = -32003;
    /// The agent does not do that.
    pub const UNSUPPORTED_OPERATION: i32 = -32004;
    /// The agent does not read, or cannot write, this media type.
    pub const CONTENT_TYPE_NOT_SUPPORTED: i32 = -32005;
    /// What the agent answered breaks the protocol.
    pub const INVALID_AGENT_RESPONSE: i32 = -32006;
    /// No extended card is configured.
    pub const EXTENDED_AGENT_CARD_NOT_CONFIGURED: i32 = -32007;
    /// An extension is required.
    pub const EXTENSION_SUPPORT_REQUIRED: i32 = -32008;
    /// The version is not supported.
    pub const VERSION_NOT_SUPPORTED: i32 = -32009;
}

impl Error {
    /// The JSON-RPC error object for a caller of `version`.
    #[must_use]
    pub fn to_jsonrpc(&self, version: Version) -> Value {
        json!({
            "code": self.kind.codes(version).jsonrpc,
            "message": self.message,
            "data": detail::write_details(self),
        })
    }

    /// Reads a JSON-RPC error object of a peer of `version`. Never fails: what cannot be read is an
    /// internal error with whatever message there is.
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
