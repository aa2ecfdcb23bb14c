//! JSON-RPC 2.0: the envelope around a payload, for both sides.
//!
//! Envelopes are read in one pass that keeps payloads as the raw JSON they came as, and written
//! around payloads that are encoded already. Batches are not served: A2A has no use for them.

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

/// The envelope of a result, ready to be put around any number of them.
///
/// A stream answers one request many times; its events are encoded once, for all readers, and each
/// reader has its own envelope.
///
/// ```
/// # use latimer_protocol::binding::jsonrpc::{Envelope, Id};
/// let envelope = Envelope::new(&Id::from(7));
/// assert_eq!(envelope.wrap(b"{}").concat(), br#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
/// ```
#[derive(Clone, Debug)]
pub struct Envelope(Vec<u8>);

impl Envelope {
    /// The envelope of answers to the request `id`.
    #[must_use]
    pub fn new(id: &Id<'_>) -> Self {
        let mut head = Vec::with_capacity(id.as_json().len() + 40);
        write_envelope_head(&mut head, id);
        head.extend_from_slice(br#""result":"#);
        Self(head)
    }

    /// The pieces that make up the answer with `result`, which must be JSON.
    #[must_use]
    pub fn wrap<'a>(&'a self, result: &'a [u8]) -> [&'a [u8]; 3] {
        [&self.0, result, b"}"]
    }
}

/// The answer to the request `id` that it failed, for a caller of `version`.
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
