//! An event that many readers share.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use prost::Message as _;

use crate::dialect::{Dialect, EventWriter, Then, protobuf};
use crate::error::Error;
use crate::model::StreamResponse;
use crate::version::Version;

/// An event of a stream, encoded at most once per dialect however many read it. Cheap to clone.
///
/// ```
/// # use latimer_protocol::{Dialect, Message, MessageId, SharedEvent, StreamResponse, Then};
/// let message = Message::agent(MessageId::new("m1")?, "hi");
/// let event = SharedEvent::new(StreamResponse::Message(message));
/// let written = event.json(Dialect::V1_0, Then::Closes).expect("1.0 shares its events");
/// assert_eq!(
///     written,
///     br#"{"message":{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}"#[..],
/// );
/// # Ok::<(), latimer_protocol::InvalidId>(())
/// ```
#[derive(Clone)]
pub struct SharedEvent(Arc<Inner>);

struct Inner {
    event: StreamResponse,
    /// By [`slot`].
    written: [OnceLock<Bytes>; SLOTS],
}

/// 1.0 does not say whether a stream goes on, and the two forms of 0.3 do; each as JSON, and two as
/// protobuf.
const SLOTS: usize = 8;

impl SharedEvent {
    /// Shares an event.
    #[must_use]
    pub fn new(event: StreamResponse) -> Self {
        Self(Arc::new(Inner { event, written: [const { OnceLock::new() }; SLOTS] }))
    }

    /// The event.
    #[must_use]
    pub fn event(&self) -> &StreamResponse {
        &self.0.event
    }

    /// The event as JSON of a dialect that writes it the same for everybody; none in the others,
    /// whose streams need an [`EventWriter`] of their own.
    #[must_use]
    pub fn json(&self, dialect: Dialect, then: Then) -> Option<Bytes> {
        let slot = match (dialect, then) {
            (Dialect::V1_0, _) => 0,
            (Dialect::V0_3, Then::Continues) => 1,
            (Dialect::V0_3, Then::Closes) => 2,
            (Dialect::V0_3Proto, Then::Continues) => 3,
            (Dialect::V0_3Proto, Then::Closes) => 4,
            (Dialect::V0_1 | Dialect::Oldest, _) => return None,
        };
        if let Some(written) = self.0.written[slot].get() {
            return Some(written.clone());
        }
        let written = EventWriter::write_shared(dialect, &self.0.event, then)?.into();
        Some(self.0.written[slot].get_or_init(|| written).clone())
    }

    /// The event as the protobuf message of a version.
    ///
    /// # Errors
    /// When the version has no protobuf form.
    pub fn protobuf(&self, version: Version, then: Then) -> Result<Bytes, Error> {
        let event = &self.0.event;
        Ok(match (version, then) {
            (Version::V1_0, _) => self.0.written[5]
                .get_or_init(|| latimer_pb::v1::StreamResponse::from(event).encode_to_vec().into()),
            (Version::V0_3, Then::Continues) => self.0.written[6]
                .get_or_init(|| protobuf::v0_3_stream_response(event, then).encode_to_vec().into()),
            (Version::V0_3, Then::Closes) => self.0.written[7]
                .get_or_init(|| protobuf::v0_3_stream_response(event, then).encode_to_vec().into()),
            (Version::V0_1, _) => return Err(Error::internal()),
        }
        .clone())
    }
}

impl fmt::Debug for SharedEvent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.event.fmt(out)
    }
}

impl PartialEq for SharedEvent {
    fn eq(&self, other: &Self) -> bool {
        self.0.event == other.0.event
    }
}

impl From<StreamResponse> for SharedEvent {
    fn from(event: StreamResponse) -> Self {
        Self::new(event)
    }
}
