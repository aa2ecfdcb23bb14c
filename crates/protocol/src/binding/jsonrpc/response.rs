//! Response envelopes, for clients.

use serde_json::Value;

use super::Id;
use super::members::{self, ObjectError};
use crate::error::Error;
use crate::json::{self, ParseError};
use crate::version::Version;

/// Response with its payload as raw JSON.
///
/// Accepts deviations of existing servers: an envelope without `jsonrpc`, a success without result,
/// `"error": null`, and a payload without an envelope.
///
/// ```
/// # use latimer_protocol::{Version, binding::jsonrpc::{Id, Response}};
/// let response = Response::read(br#"{"jsonrpc":"2.0","id":1,"result":{"task":{}}}"#)?;
/// assert!(response.matches_request(&Id::from(1)));
/// assert_eq!(response.result(Version::V1_0)?, r#"{"task":{}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// Id of the request; `None` if the response has none.
    pub id: Option<Id<'a>>,
    /// Payload of the envelope.
    pub payload: ResponsePayload<'a>,
}

/// Payload of a response, as raw JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponsePayload<'a> {
    /// The result; `null` if there is neither a result nor an error.
    Result(&'a str),
    /// The error object.
    Error(&'a str),
    /// A payload without an envelope. The oldest servers return a bare task, and some streams wrap
    /// only their first event.
    Bare(&'a str),
}

impl<'a> Response<'a> {
    /// Decodes a response and its envelope, if there is one.
    ///
    /// # Errors
    /// Returns [`ParseError::Malformed`] if the bytes are not JSON.
    pub fn read(body: &'a [u8]) -> Result<Self, ParseError> {
        const NAMES: [&str; 4] = ["jsonrpc", "id", "result", "error"];
        let object = match members::find(body, &NAMES) {
            Ok(object) => object,
            Err(ObjectError::NotAnObject) => return bare_response(body),
            Err(ObjectError::Malformed(error)) => return Err(error),
        };
        let [jsonrpc, id, result, error] = object.values;
        let payload = match (error.filter(|it| *it != "null"), result) {
            (Some(error), _) => ResponsePayload::Error(error),
            (None, Some(result)) => ResponsePayload::Result(result),
            (None, None) if jsonrpc.is_some() || error.is_some() => ResponsePayload::Result("null"),
            (None, None) => return bare_response(body),
        };
        let id = id.and_then(|it| Id::from_json(it).ok());
        Ok(Self { id, payload })
    }

    /// Returns whether the response belongs to the request `id`.
    ///
    /// A response without an id matches every request: servers omit it if they could not decode the
    /// request, and bare payloads have none.
    #[must_use]
    pub fn matches_request(&self, id: &Id<'_>) -> bool {
        self.id.as_ref().is_none_or(|it| it.is_null() || it.matches(id))
    }

    /// Returns the result as raw JSON.
    ///
    /// # Errors
    /// Returns the error in the response, decoded with the codes of `version`.
    pub fn result(&self, version: Version) -> Result<&'a str, Error> {
        match self.payload {
            ResponsePayload::Result(json) | ResponsePayload::Bare(json) => Ok(json),
            ResponsePayload::Error(json) => {
                let object: Value = serde_json::from_str(json).unwrap_or_default();
                Err(Error::from_jsonrpc(&object, version))
            }
        }
    }
}

fn bare_response(body: &[u8]) -> Result<Response<'_>, ParseError> {
    let json = json::utf8_str(body)?;
    Ok(Response { id: None, payload: ResponsePayload::Bare(json.trim_ascii()) })
}
