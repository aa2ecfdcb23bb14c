//! Events that are encoded once for all readers.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use prost::Message as _;

use crate::binding::grpc::Package;
use crate::dialect::{Dialect, EventWriter, Finality, protobuf};
use crate::model::StreamResponse;

/// An event of a stream. All readers share its encodings, so each dialect encodes it at most once.
/// Cheap to clone.
///
/// ```
/// # use latimer_protocol::{Dialect, Finality, Message, MessageId, SharedEvent, StreamResponse};
/// let message = Message::agent(MessageId::new("m1")?, "hi");
/// let event = SharedEvent::new(StreamResponse::Message(message));
/// let json = event.encode_json(Dialect::V1_0, Finality::Last).expect("1.0 shares its events");
/// assert_eq!(
///     json,
///     br#"{"message":{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"hi"}]}}"#[..],
/// );
/// # Ok::<(), latimer_protocol::InvalidId>(())
/// ```
#[derive(Clone)]
pub struct SharedEvent(Arc<Inner>);

struct Inner {
    event: StreamResponse,
    /// Encodings, by the slots that the methods use.
    encoded: [OnceLock<Bytes>; SLOTS],
}

/// Number of encodings. Each of 1.0 and the two dialects of 0.3 has a JSON encoding, and each
/// version a protobuf one; those of 0.3 depend on the finality.
const SLOTS: usize = 8;

impl SharedEvent {
    /// Creates a shared event. Encodes nothing yet.
    #[must_use]
    pub fn new(event: StreamResponse) -> Self {
        Self(Arc::new(Inner { event, encoded: [const { OnceLock::new() }; SLOTS] }))
    }

    /// Returns the event.
    #[must_use]
    pub fn event(&self) -> &StreamResponse {
        &self.0.event
    }

    /// Encodes the event as JSON, or returns the existing encoding. `None` for dialects whose
    /// encoding depends on the reader; these need an [`EventWriter`] for each stream.
    #[must_use]
    pub fn encode_json(&self, dialect: Dialect, finality: Finality) -> Option<Bytes> {
        let slot = match (dialect, finality) {
            (Dialect::V1_0, _) => 0,
            (Dialect::V0_3, Finality::More) => 1,
            (Dialect::V0_3, Finality::Last) => 2,
            (Dialect::V0_3Proto, Finality::More) => 3,
            (Dialect::V0_3Proto, Finality::Last) => 4,
            (Dialect::V0_1 | Dialect::Legacy, _) => return None,
        };
        if let Some(encoded) = self.0.encoded[slot].get() {
            return Some(encoded.clone());
        }
        let encoded =
            EventWriter::write_reader_independent(dialect, &self.0.event, finality)?.into();
        Some(self.0.encoded[slot].get_or_init(|| encoded).clone())
    }

    /// Encodes the event as the protobuf message of a package, or returns the existing encoding.
    #[must_use]
    pub fn encode_protobuf(&self, package: Package, finality: Finality) -> Bytes {
        let event = &self.0.event;
        match (package, finality) {
            (Package::V1_0, _) => self.0.encoded[5]
                .get_or_init(|| latimer_pb::v1::StreamResponse::from(event).encode_to_vec().into()),
            (Package::V0_3, Finality::More) => self.0.encoded[6].get_or_init(|| {
                protobuf::v0_3_stream_response(event, finality).encode_to_vec().into()
            }),
            (Package::V0_3, Finality::Last) => self.0.encoded[7].get_or_init(|| {
                protobuf::v0_3_stream_response(event, finality).encode_to_vec().into()
            }),
        }
        .clone()
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
