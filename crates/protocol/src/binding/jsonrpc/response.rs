//! Answers, as a client reads them.

use serde_json::Value;

use super::Id;
use super::members::{self, ObjectError};
use crate::error::Error;
use crate::json::{self, ParseError};
use crate::version::Version;

/// An answer: its envelope opened, its payload as it came.
///
/// Tolerant of what servers really send: an envelope without `jsonrpc`, a success without a
/// result, `"error": null`, and a payload with no envelope at all.
///
/// ```
/// # use latimer_protocol::{Version, binding::jsonrpc::{Id, Response}};
/// let answer = Response::read(br#"{"jsonrpc":"2.0","id":1,"result":{"task":{}}}"#)?;
/// assert!(answer.matches_request(&Id::from(1)));
/// assert_eq!(answer.result(Version::V1_0)?, r#"{"task":{}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// The request it answers; `None` when it does not say.
    pub id: Option<Id<'a>>,
    /// What is in it.
    pub payload: ResponsePayload<'a>,
}

/// What an answer holds, as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponsePayload<'a> {
    /// The result; `null` when there is none and no error either.
    Result(&'a str),
    /// The error object.
    Error(&'a str),
    /// A payload without an envelope, whole. The oldest servers answer a bare task, and some
    /// streams have an envelope around their first event only.
    Bare(&'a str),
}

impl<'a> Response<'a> {
    /// Opens the envelope, if there is one.
    ///
    /// # Errors
    /// When the bytes are not JSON.
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

    /// Whether it answers the request `id`.
    ///
    /// One that does not say what it answers does: a server that cannot read a request has no other
    /// way to say so, and what has no envelope has no place for it.
    #[must_use]
    pub fn matches_request(&self, id: &Id<'_>) -> bool {
        self.id.as_ref().is_none_or(|it| it.is_null() || it.matches(id))
    }

    /// The payload, as JSON.
    ///
    /// # Errors
    /// What the server says went wrong, by the codes of `version`.
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
