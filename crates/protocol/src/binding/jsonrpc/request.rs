//! Request envelopes, for servers.

use std::borrow::Cow;
use std::fmt;

use super::members::{self, ObjectError};
use super::{Id, write_error};
use crate::error::{Error, ErrorKind};
use crate::version::Version;

/// Request with its parameters as raw JSON.
///
/// ```
/// # use latimer_protocol::binding::jsonrpc::{Envelope, Request};
/// let body = br#"{"jsonrpc":"2.0","id":1.0,"method":"GetTask","params":{"id":"t1"}}"#;
/// let request = Request::read(body)?;
/// assert_eq!((&*request.method, request.params), ("GetTask", r#"{"id":"t1"}"#));
/// let response = Envelope::new(&request.id).wrap(b"{}").concat();
/// assert_eq!(response, br#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#);
/// # Ok::<(), latimer_protocol::binding::jsonrpc::Rejection>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// Id that the response repeats; `null` for a notification, which has none.
    pub id: Id<'a>,
    /// The method; not empty.
    pub method: Cow<'a, str>,
    /// The parameters, a JSON object; `{}` if there are none.
    pub params: &'a str,
}

impl fmt::Debug for Request<'_> {
    /// Omits the parameters, which may contain secrets.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, method, .. } = self;
        out.debug_struct("Request").field("id", id).field("method", method).finish_non_exhaustive()
    }
}

/// Request that was rejected, with the error and the id for the response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Rejection {
    /// Id of the request; `null` if it could not be decoded.
    pub id: Id<'static>,
    /// The error to return.
    pub error: Error,
}

impl Rejection {
    /// Encodes the error response in `version`.
    #[must_use]
    pub fn to_response(&self, version: Version) -> Vec<u8> {
        write_error(version, &self.id, &self.error)
    }
}

impl<'a> Request<'a> {
    /// Decodes a request envelope in one pass without copying.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Parse`] if the bytes are not JSON, [`ErrorKind::InvalidRequest`] if
    /// they are not a single request (for example a batch) or repeat a member, and
    /// [`ErrorKind::InvalidParams`] for positional parameters.
    pub fn read(body: &'a [u8]) -> Result<Self, Rejection> {
        const NAMES: [&str; 4] = ["jsonrpc", "id", "method", "params"];
        let object =
            members::find(body, &NAMES).map_err(|error| unreadable_request(body, error))?;
        let [jsonrpc, id, method, params] = object.values;
        // If the id is repeated, the response must not use either one.
        let [_, ambiguous, _, _] = object.repeated;
        let id = match id.filter(|_| !ambiguous) {
            Some(id) => Id::from_json(id).map_err(|problem| invalid_request(Id::NULL, problem))?,
            None => Id::NULL,
        };
        if let Some(index) = object.repeated.iter().position(|it| *it) {
            return Err(invalid_request(id, format!("{} is repeated", NAMES[index])));
        }
        if jsonrpc.and_then(string_value).as_deref() != Some("2.0") {
            return Err(invalid_request(id, "jsonrpc must be \"2.0\""));
        }
        let Some(method) = method.and_then(string_value).filter(|it| !it.is_empty()) else {
            return Err(invalid_request(id, "method must be a non-empty string"));
        };
        match params.unwrap_or("null") {
            "null" => Ok(Self { id, method, params: "{}" }),
            params if params.starts_with('{') => Ok(Self { id, method, params }),
            _ => {
                let error = Error::new(ErrorKind::InvalidParams, "params must be an object");
                Err(Rejection { id: id.into_owned(), error })
            }
        }
    }
}

/// Returns the value of a JSON string; borrowed if it contains no escapes.
fn string_value(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(json).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

#[cold]
fn invalid_request(id: Id<'_>, problem: impl Into<Cow<'static, str>>) -> Rejection {
    let message = format!("invalid request: {}", problem.into());
    Rejection { id: id.into_owned(), error: Error::new(ErrorKind::InvalidRequest, message) }
}

#[cold]
fn unreadable_request(body: &[u8], error: ObjectError) -> Rejection {
    match error {
        ObjectError::Malformed(parse_error) => {
            Rejection { id: Id::NULL, error: parse_error.into() }
        }
        ObjectError::NotAnObject if body.trim_ascii_start().starts_with(b"[") => {
            invalid_request(Id::NULL, "batches are not supported: send one request at a time")
        }
        ObjectError::NotAnObject => invalid_request(Id::NULL, "a request must be a JSON object"),
    }
}
