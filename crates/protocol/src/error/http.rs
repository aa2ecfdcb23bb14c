//! HTTP responses of errors.

use serde_json::{Value, json};

use super::table::grpc_code;
use super::{Error, ErrorKind, detail};
use crate::version::Version;

/// HTTP response of an error.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpError {
    /// HTTP status.
    pub status: u16,
    /// JSON body.
    pub body: Value,
}

impl Error {
    /// Encodes the error for a caller of `version`.
    ///
    /// The body for 0.3 contains the members that all SDKs of that version read.
    #[must_use]
    pub fn to_http(&self, version: Version) -> HttpError {
        let codes = self.kind.codes(version);
        let rpc_status = json!({
            "code": codes.http,
            "status": grpc_code::name(codes.grpc),
            "message": self.message,
            "details": detail::write_details(self),
        });
        let body = match version {
            Version::V1_0 => json!({ "error": rpc_status }),
            Version::V0_3 | Version::V0_1 => json!({
                "code": codes.jsonrpc,
                "type": self.kind.type_name(),
                "message": self.message,
                "error": rpc_status,
            }),
        };
        HttpError { status: codes.http, body }
    }

    /// Decodes the HTTP error response of a peer of `version`. Never fails: without a readable body
    /// the kind follows from the status.
    ///
    /// Supports the `google.rpc.Status` of 1.0, the objects of the 0.3 SDKs, problem details, and a
    /// bare string under `error`.
    #[must_use]
    pub fn from_http(status: u16, body: &[u8], version: Version) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let inner = body.get("error").filter(|it| it.is_object()).unwrap_or(&body);
        let texts = [
            inner.get("message"),
            body.get("message"),
            body.get("error"),
            body.get("detail"),
            body.get("title"),
        ];
        let message = texts.into_iter().flatten().find_map(Value::as_str);
        let kind =
            kind_from_body(&body, inner, version).unwrap_or(ErrorKind::from_http_status(status));
        let error = match message {
            Some(message) if !message.is_empty() => Self::new(kind, message.to_owned()),
            _ => Self::new(kind, format!("the peer returned HTTP status {status}")),
        };
        detail::apply_details(error, inner.get("details").unwrap_or(&Value::Null))
    }
}

fn kind_from_body(body: &Value, inner: &Value, version: Version) -> Option<ErrorKind> {
    let code = |object: &Value| {
        let code = object.get("code").and_then(Value::as_i64)?;
        ErrorKind::from_jsonrpc(code, version)
    };
    let named = || ErrorKind::from_type_name(body.get("type")?.as_str()?);
    code(body).or_else(|| code(inner)).or_else(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_round_trips_through_http_response() {
        for version in Version::ALL {
            for kind in ErrorKind::ALL {
                let error = Error::from(*kind).with_metadata("taskId", "t1");
                let HttpError { status, body } = error.to_http(version);
                let decoded = Error::from_http(status, body.to_string().as_bytes(), version);
                assert_eq!(decoded.kind().reason(), kind.reason(), "{kind:?} in {version}");
                assert_eq!(decoded.metadata(), error.metadata());
                assert_eq!(decoded.message(), error.message());
            }
        }
    }

    #[test]
    fn recorded_peer_bodies_are_decoded() {
        for (status, body, kind, message) in [
            (404, r#"{"message":"no task"}"#, ErrorKind::TaskNotFound, "no task"),
            (409, r#"{"message":"m","type":"TaskNotFoundError"}"#, ErrorKind::TaskNotFound, "m"),
            (501, r#"{"code":-32003,"message":"m"}"#, ErrorKind::PushNotificationNotSupported, "m"),
            (400, r#"{"title":"t","detail":"d"}"#, ErrorKind::InvalidRequest, "d"),
            (500, r#"{"error":"broken"}"#, ErrorKind::Internal, "broken"),
            (502, "<html>", ErrorKind::InvalidAgentResponse, "the peer returned HTTP status 502"),
            (429, "", ErrorKind::RateLimited, "the peer returned HTTP status 429"),
        ] {
            let error = Error::from_http(status, body.as_bytes(), Version::V0_3);
            assert_eq!((error.kind(), error.message()), (kind, message), "{body}");
        }
    }
}
