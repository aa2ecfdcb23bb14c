//! Dialects: how each version spells requests, replies and events.
//!
//! A dialect knows a version and no transport. Both directions are here: a server reads requests
//! and writes replies, a client the reverse. Each module says what its version cannot carry.

mod each;
mod event;
mod field;
mod older;
mod oldest;
mod v0_1;
mod v0_3;
mod v1_0;
mod wellknown;

pub use event::EventWriter;
use older::Shape;
use serde::de::DeserializeSeed;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::error::{Error, HttpError};
use crate::json::{self, Invalid, Unreadable};
use crate::model::{MessageId, SendMessageResponse, StreamResponse};
use crate::operation::Operation;
use crate::service::{Reply, Request};
use crate::version::Version;

/// Protobuf, for gRPC: the messages of both packages convert to the model with `TryFrom`, and the
/// model to them with `From`. Where the model alone does not say it all, there is a function.
pub mod protobuf {
    pub use super::v0_3::protobuf::card as v0_3_card;
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

    /// Reads the parameters of a call, and checks them; nothing and `null` are no parameters.
    /// `new_id` names the message where the dialect's messages have no ids.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidParams`](crate::ErrorKind::InvalidParams) with the field that is wrong.
    pub fn read_request(
        self,
        operation: Operation,
        text: &str,
        new_id: &dyn Fn() -> MessageId,
    ) -> Result<Request, Error> {
        let text = match text.trim_ascii() {
            "" | "null" => "{}",
            _ => text,
        };
        json::seed_from_str(text, Params { dialect: self, operation, new_id })?
    }

    /// The same for parameters that were collected from an address and a body.
    pub(crate) fn read_members(
        self,
        operation: Operation,
        members: Map<String, Value>,
        new_id: &dyn Fn() -> MessageId,
    ) -> Result<Request, Error> {
        let params = Params { dialect: self, operation, new_id };
        json::seed_from_value(&Value::Object(members), params)?
    }

    /// Writes the parameters of a call.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedOperation`](crate::ErrorKind::UnsupportedOperation) when the version
    /// has no such operation.
    pub fn write_request(self, request: &Request) -> Result<Vec<u8>, Error> {
        let mut out = Vec::with_capacity(ROOM);
        self.write_request_to(&mut out, request)?;
        Ok(out)
    }

    /// The same, behind whatever is in `out`.
    pub(crate) fn write_request_to(
        self,
        out: &mut Vec<u8>,
        request: &Request,
    ) -> Result<(), Error> {
        match self {
            Self::V1_0 => v1_0::write_request(request, out),
            Self::V0_3 => v0_3::json::write_request(request, out),
            Self::V0_3Proto => v0_3::protojson::write_request(request, out),
            Self::V0_1 => v0_1::write_request(request, out)?,
            Self::Oldest => oldest::write_request(request, out)?,
        }
        Ok(())
    }

    /// Reads the reply to `operation`; of a stream, see [`Self::read_event`].
    ///
    /// # Errors
    /// When it is no such reply; the field that is wrong is named.
    pub fn read_reply(self, operation: Operation, text: &str) -> Result<Reply, Unreadable> {
        match self {
            Self::V1_0 if text.is_empty() => {
                Ok(json::seed_from_str("null", self.answer(operation))??)
            }
            Self::V1_0 => Ok(json::seed_from_str(text, self.answer(operation))??),
            Self::V0_3 | Self::V0_3Proto | Self::V0_1 | Self::Oldest => {
                older::read_reply(operation, text, self.shape())
            }
        }
    }

    /// What reads the likeliest reply to `operation` in one pass.
    pub(crate) fn answer(self, operation: Operation) -> Answer {
        Answer { dialect: self, operation }
    }

    /// Writes the reply to `request`; of a stream, see [`EventWriter`].
    ///
    /// # Errors
    /// [`ErrorKind::Internal`](crate::ErrorKind::Internal) when the reply is a stream.
    pub fn write_reply(self, request: &Request, reply: &Reply) -> Result<Vec<u8>, Error> {
        let mut out = Vec::with_capacity(ROOM);
        self.write_reply_to(&mut out, request, reply)?;
        Ok(out)
    }

    /// The same, behind whatever is in `out`.
    pub(crate) fn write_reply_to(
        self,
        out: &mut Vec<u8>,
        request: &Request,
        reply: &Reply,
    ) -> Result<(), Error> {
        match self {
            Self::V1_0 => v1_0::write_reply(request, reply, out),
            Self::V0_3 => v0_3::json::write_reply(request, reply, out),
            Self::V0_3Proto => v0_3::protojson::write_reply(reply, out),
            Self::V0_1 => v0_1::write_reply(request, reply, out),
            Self::Oldest => oldest::write_reply(request, reply, out),
        }
    }

    /// Reads one event of a stream.
    ///
    /// # Errors
    /// When it is no event; the field that is wrong is named.
    pub fn read_event(self, text: &str) -> Result<StreamResponse, Unreadable> {
        match self {
            Self::V1_0 => json::from_str(text),
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

/// What a short request or reply needs, so that most are written without moving the buffer.
const ROOM: usize = 1024;

/// Reads the parameters of a call from any source.
#[derive(Clone, Copy)]
pub(crate) struct Params<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) operation: Operation,
    pub(crate) new_id: &'a dyn Fn() -> MessageId,
}

impl<'de> DeserializeSeed<'de> for Params<'_> {
    type Value = Result<Request, Error>;

    fn deserialize<D: Deserializer<'de>>(self, params: D) -> Result<Self::Value, D::Error> {
        let Self { dialect, operation, new_id } = self;
        let read = match dialect {
            Dialect::V1_0 => Ok(v1_0::read_request(operation, params)?),
            Dialect::V0_3 | Dialect::V0_3Proto | Dialect::V0_1 | Dialect::Oldest => {
                let name = || (!dialect.messages_have_ids()).then(new_id);
                older::read_request(operation, params, dialect.shape(), name)?
            }
        };
        Ok(read.and_then(|request| dialect.check(request)).map_err(Error::from))
    }
}

impl Dialect {
    /// Applies the rules of the protocol, and what is peculiar to the dialect.
    fn check(self, mut request: Request) -> Result<Request, Invalid> {
        if self == Self::V1_0 {
            v1_0::check(&request)?;
        }
        if self == Self::V0_1 {
            v0_1::hide_history(&mut request);
        }
        request.validate().map_err(|invalid| self.respell(invalid))?;
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
}

/// Reads the likeliest reply to an operation in one pass. What it cannot read may still be a reply:
/// before 1.0 only a look at the whole tells which of several shapes it has.
#[derive(Clone, Copy)]
pub(crate) struct Answer {
    dialect: Dialect,
    operation: Operation,
}

impl<'de> DeserializeSeed<'de> for Answer {
    type Value = Result<Reply, Invalid>;

    fn deserialize<D: Deserializer<'de>>(self, result: D) -> Result<Self::Value, D::Error> {
        if self.dialect == Dialect::V1_0 {
            return v1_0::read_reply(self.operation, result);
        }
        let task = older::Task::deserialize(result)?;
        let says_so = task.says_so();
        Ok(task.into_model(self.dialect.shape()).and_then(|task| match self.operation {
            Operation::GetTask | Operation::CancelTask => Ok(Reply::Task(task)),
            Operation::SendMessage if says_so => Ok(Reply::Sent(SendMessageResponse::Task(task))),
            _ => Err(Invalid::new("", "may be something else")),
        }))
    }
}
