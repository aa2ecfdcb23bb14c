//! JSON-RPC 2.0 envelopes, for clients and servers.
//!
//! Envelopes are read in one pass that leaves payloads as raw JSON, and written around encoded
//! payloads. Batches are not supported, because A2A does not use them.
//!
//! | module | content |
//! | --- | --- |
//! | `call` | complete calls and replies: envelope and payload |
//! | `id` | request ids |
//! | `members` | one-pass extraction of object members |
//! | `method` | mapping from methods to operations and versions |
//! | `request` | request envelopes |
//! | `response` | response envelopes |

mod call;
mod id;
mod members;
mod method;
mod request;
mod response;
#[cfg(test)]
mod tests;

pub use call::{Call, read_event, read_reply, write_call, write_reply};
pub use id::{Id, MAX_ID_BYTES};
pub use method::resolve_method;
pub use request::{Rejection, Request};
pub use response::{Response, ResponsePayload};

use crate::error::Error;
use crate::json;
use crate::version::Version;

/// Envelope of a result, reusable for any number of results.
///
/// A stream sends many results for one request. Its events are encoded once for all readers, and
/// each reader wraps them in its own envelope.
///
/// ```
/// # use latimer_protocol::binding::jsonrpc::{Envelope, Id};
/// let envelope = Envelope::new(&Id::from(7));
/// assert_eq!(envelope.wrap(b"{}").concat(), br#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
/// ```
#[derive(Clone, Debug)]
pub struct Envelope(Vec<u8>);

impl Envelope {
    /// Creates the envelope for results of the request `id`.
    #[must_use]
    pub fn new(id: &Id<'_>) -> Self {
        let mut head = Vec::with_capacity(id.as_json().len() + 40);
        write_envelope_head(&mut head, id);
        head.extend_from_slice(br#""result":"#);
        Self(head)
    }

    /// Returns the slices that form the response with `result`, which must be JSON.
    #[must_use]
    pub fn wrap<'a>(&'a self, result: &'a [u8]) -> [&'a [u8]; 3] {
        [&self.0, result, b"}"]
    }
}

/// Encodes an error response to the request `id` in `version`.
#[must_use]
pub fn write_error(version: Version, id: &Id<'_>, error: &Error) -> Vec<u8> {
    let mut out = Vec::new();
    write_envelope_head(&mut out, id);
    out.extend_from_slice(br#""error":"#);
    json::write(&mut out, &error.to_jsonrpc(version));
    out.push(b'}');
    out
}

fn write_request_head(out: &mut Vec<u8>, id: &Id<'_>, method: &str) {
    write_envelope_head(out, id);
    out.extend_from_slice(br#""method":"#);
    json::write(out, method);
    out.extend_from_slice(br#","params":"#);
}

fn write_envelope_head(out: &mut Vec<u8>, id: &Id<'_>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_json().as_bytes());
    out.push(b',');
}
