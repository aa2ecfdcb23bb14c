//! Dialects: how each version spells requests, replies and events.
//!
//! A dialect knows a version and no transport. Both directions are here: a server reads requests
//! and writes replies, a client the reverse. Each module says what its version cannot carry.

mod each;
mod field;
mod older;
mod oldest;
mod source;
mod v0_1;
mod v0_3;
mod v1_0;
mod wellknown;

use older::Shape;
pub(crate) use source::Source;

use crate::error::{Error, HttpError};
use crate::json::{Invalid, Unreadable};
use crate::model::{
    ArtifactId, MessageId, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent,
};
use crate::operation::Operation;
use crate::service::{Reply, Request};
use crate::version::Version;

/// Protobuf, for gRPC: the messages of both packages convert to the model with `TryFrom`, and the
/// model to them with `From`. Where the model alone does not say it all, there is a function.
pub mod protobuf {
    pub use super::v0_3::protobuf::stream_response as v0_3_stream_response;
}

/// One way to spell the protocol as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// The REST from before the protocol had versions.
    Oldest,
    /// 0.1.
    V0_1,
    /// 0.3 and 0.2.x as the JSON schema has them: over JSON-RPC.
    V0_3,
    /// 0.3 as the protobuf file has it: over HTTP+JSON.
    V0_3Proto,
    /// 1.0.
    V1_0,
}

impl Dialect {
    /// Every dialect, newest first.
    pub const ALL: [Self; 5] = [Self::V1_0, Self::V0_3Proto, Self::V0_3, Self::V0_1, Self::Oldest];

    /// The dialect of a version over JSON-RPC.
    #[must_use]
    pub fn over_jsonrpc(version: Version) -> Self {
        match version {
            Version::V1_0 => Self::V1_0,
            Version::V0_3 => Self::V0_3,
            Version::V0_1 => Self::V0_1,
        }
    }

    /// The dialect of a version over HTTP+JSON.
    #[must_use]
    pub fn over_http(version: Version) -> Self {
        match version {
            Version::V1_0 => Self::V1_0,
            Version::V0_3 => Self::V0_3Proto,
            Version::V0_1 => Self::Oldest,
        }
    }

    /// The version it belongs to.
    #[must_use]
    pub fn version(self) -> Version {
        match self {
            Self::V1_0 => Version::V1_0,
            Self::V0_3 | Self::V0_3Proto => Version::V0_3,
            Self::V0_1 | Self::Oldest => Version::V0_1,
        }
    }

    /// Whether a caller chooses the id of a task it begins. Elsewhere an unknown id is an error.
    #[must_use]
    pub fn callers_name_tasks(self) -> bool {
        self.version() == Version::V0_1
    }

    /// Whether messages have ids of their own. Elsewhere the reader makes them, and two equal
    /// requests are two requests.
    #[must_use]
    pub fn messages_have_ids(self) -> bool {
        self.version() != Version::V0_1
    }

    fn shape(self) -> Shape {
        match self {
            Self::V0_3Proto => Shape::Proto,
            Self::Oldest | Self::V0_1 | Self::V0_3 | Self::V1_0 => Shape::Schema,
        }
    }

    /// Reads the parameters of a call, and checks them. `new_id` names the message where the
    /// dialect's messages have no ids.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidParams`](crate::ErrorKind::InvalidParams) with the field that is wrong.
    pub fn read_request(
        self,
        operation: Operation,
        text: &[u8],
        new_id: impl FnOnce() -> MessageId,
    ) -> Result<Request, Error> {
        self.read_source(operation, Source::Text(text), new_id)
    }

    /// The same for parameters from anywhere.
    pub(crate) fn read_source(
        self,
        operation: Operation,
        source: Source<'_>,
        new_id: impl FnOnce() -> MessageId,
    ) -> Result<Request, Error> {
        let mut request = match self {
            Self::V1_0 => v1_0::read_request(operation, source)?,
            Self::V0_3 | Self::V0_3Proto | Self::V0_1 | Self::Oldest => {
                let name = || (!self.messages_have_ids()).then(new_id);
                older::read_request(operation, source, self.shape(), name)?
            }
        };
        if self == Self::V0_1 {
            v0_1::hide_history(&mut request);
        }
        request.validate().map_err(|invalid| Error::from(self.respell(invalid)))?;
        Ok(request)
    }

    /// A rule names fields as 1.0 spells them; the caller knows its own spelling.
    fn respell(self, invalid: Invalid) -> Invalid {
        if self == Self::V1_0 {
            return invalid;
        }
        let Invalid { field, problem } = invalid;
        Invalid::new(field.replace("taskPushNotificationConfig", "pushNotificationConfig"), problem)
    }

    /// Writes the parameters of a call.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedOperation`](crate::ErrorKind::UnsupportedOperation) when the version
    /// has no such operation.
    pub fn write_request(self, request: &Request) -> Result<Vec<u8>, Error> {
        match self {
            Self::V1_0 => Ok(v1_0::write_request(request)),
            Self::V0_3 => Ok(v0_3::json::write_request(request)),
            Self::V0_3Proto => Ok(v0_3::protojson::write_request(request)),
            Self::V0_1 => v0_1::write_request(request),
            Self::Oldest => oldest::write_request(request),
        }
    }

    /// Reads the reply to `operation`; of a stream, see [`Self::read_event`].
    ///
    /// # Errors
    /// When it is no such reply; the field that is wrong is named.
    pub fn read_reply(self, operation: Operation, text: &[u8]) -> Result<Reply, Unreadable> {
        match self {
            Self::V1_0 => v1_0::read_reply(operation, text),
            Self::V0_3 | Self::V0_3Proto | Self::V0_1 | Self::Oldest => {
                older::read_reply(operation, text, self.shape())
            }
        }
    }

    /// Writes the reply to `request`; of a stream, see [`EventWriter`].
    ///
    /// # Errors
    /// [`ErrorKind::Internal`](crate::ErrorKind::Internal) when the reply is a stream.
    pub fn write_reply(self, request: &Request, reply: &Reply) -> Result<Vec<u8>, Error> {
        match self {
            Self::V1_0 => v1_0::write_reply(request, reply),
            Self::V0_3 => v0_3::json::write_reply(request, reply),
            Self::V0_3Proto => v0_3::protojson::write_reply(reply),
            Self::V0_1 => v0_1::write_reply(request, reply),
            Self::Oldest => oldest::write_reply(request, reply),
        }
    }

    /// Reads one event of a stream.
    ///
    /// # Errors
    /// When it is no event; the field that is wrong is named.
    pub fn read_event(self, text: &[u8]) -> Result<StreamResponse, Unreadable> {
        match self {
            Self::V1_0 => v1_0::read_event(text),
            Self::V0_3 | Self::V0_3Proto | Self::V0_1 | Self::Oldest => {
                older::read_event(text, self.shape())
            }
        }
    }

    /// Writes an error as an HTTP response.
    #[must_use]
    pub fn write_error(self, error: &Error) -> HttpError {
        match self {
            Self::V1_0 | Self::V0_3 | Self::V0_3Proto | Self::V0_1 => error.to_http(self.version()),
            Self::Oldest => oldest::write_error(error),
        }
    }
}

/// Writes the events of one stream.
///
/// In most dialects an event is written the same for every reader, and may be shared among them: see
/// [`EventWriter::is_shared`]. In 0.1 artifacts have numbers, so a stream must know its task.
#[derive(Clone, Debug)]
pub struct EventWriter {
    dialect: Dialect,
    request: Request,
    artifacts: Vec<ArtifactId>,
}

impl EventWriter {
    /// A writer for the answer to `request`. `task` is the task as the reader knows it, when it
    /// resumes.
    #[must_use]
    pub fn new(dialect: Dialect, request: Request, task: Option<&Task>) -> Self {
        let mut writer = Self { dialect, request, artifacts: Vec::new() };
        if let Some(task) = task {
            writer.know(task);
        }
        writer
    }

    /// Whether what is written depends on the dialect and the event alone.
    #[must_use]
    pub fn is_shared(dialect: Dialect) -> bool {
        dialect.version() != Version::V0_1
    }

    /// Writes one event, as one or several; `closes` when the stream ends with it.
    ///
    /// # Errors
    /// When the dialect has no way to say it.
    pub fn write(&mut self, event: &StreamResponse, closes: bool) -> Result<Vec<Vec<u8>>, Error> {
        Ok(match self.dialect {
            Dialect::V1_0 => vec![v1_0::write_event(event)],
            Dialect::V0_3 => vec![crate::json::to_vec(&v0_3::json::Event::of(event, closes))],
            Dialect::V0_3Proto => {
                vec![crate::json::to_vec(&v0_3::protojson::Event::of(event, closes))]
            }
            Dialect::V0_1 | Dialect::Oldest => self.write_numbered(event, closes)?,
        })
    }

    fn write_numbered(
        &mut self,
        event: &StreamResponse,
        closes: bool,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let whole = match event {
            StreamResponse::Task(task) => task.clone(),
            StreamResponse::Message(message) => v0_1::answer(&self.request, message)?,
            StreamResponse::StatusUpdate(_) => {
                return Ok(vec![v0_1::write_event(event, 0, closes)]);
            }
            StreamResponse::ArtifactUpdate(update) => {
                let place = self.place(&update.artifact.artifact_id);
                return Ok(vec![v0_1::write_event(event, place, closes)]);
            }
        };
        self.know(&whole);
        let Task { id, status, artifacts, .. } = whole;
        let pieces = artifacts.into_iter().enumerate().map(|(place, artifact)| {
            let update = TaskArtifactUpdateEvent::new(id.clone(), artifact);
            v0_1::write_event(&StreamResponse::ArtifactUpdate(update), place, false)
        });
        let mut events: Vec<_> = pieces.collect();
        let status = StreamResponse::StatusUpdate(TaskStatusUpdateEvent::new(id.clone(), status));
        events.push(v0_1::write_event(&status, 0, closes));
        Ok(events)
    }

    fn know(&mut self, task: &Task) {
        for artifact in &task.artifacts {
            self.place(&artifact.artifact_id);
        }
    }

    fn place(&mut self, artifact: &ArtifactId) -> usize {
        let known = self.artifacts.iter().position(|it| it == artifact);
        known.unwrap_or_else(|| {
            self.artifacts.push(artifact.clone());
            self.artifacts.len() - 1
        })
    }
}
