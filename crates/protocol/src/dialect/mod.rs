//! Encoding of requests, replies and events in each protocol version.
//!
//! A dialect depends on the version and not on the transport. Every dialect encodes and decodes: a
//! server decodes requests and encodes replies, a client the reverse. The documentation of each
//! module lists what its version cannot represent.
//!
//! | module | content |
//! | --- | --- |
//! | `event` | encoder for the events of a stream |
//! | `field` | conversion of protobuf fields with error paths |
//! | `legacy` | legacy REST API without versions |
//! | `list_as` | serialization of list items as another type |
//! | `notification` | webhook bodies |
//! | `pre_v1` | lenient decoder for all versions before 1.0 |
//! | [`protobuf`] | conversions between protobuf messages and the model |
//! | `v0_1` | encoder for 0.1 |
//! | `v0_3` | encoders for 0.3 |
//! | `v1_0` | codec for 1.0 |
//! | `wellknown` | protobuf `Struct`, `Value` and `Timestamp` |

mod event;
mod field;
mod legacy;
mod list_as;
mod notification;
mod pre_v1;
pub mod protobuf;
mod v0_1;
mod v0_3;
mod v1_0;
mod wellknown;

use std::sync::Arc;

pub use event::{EventWriter, Finality};
pub use notification::Notification;
use pre_v1::JsonFlavor;
use serde::de::{self, DeserializeSeed};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::card::TransitionHistory;
use crate::error::{Error, HttpError};
use crate::json::{self, InvalidField, ParseError};
use crate::model::{MessageId, SendMessageResponse, StreamResponse};
use crate::operation::Operation;
use crate::service::{Reply, Request};
use crate::version::Version;

/// JSON encoding of the protocol in one version.
///
/// ```
/// use latimer_protocol::{ContextId, Dialect, Operation, Reply, Request, Task, TaskId, TaskState};
///
/// let new_id = || unreachable!("0.3 messages have ids");
/// let dialect = Dialect::V0_3;
/// let request = dialect.read_request(Operation::GetTask, r#"{"id":"t1"}"#, &new_id)?;
///
/// let task = Task::new(TaskId::new("t1")?, ContextId::new("c1")?, TaskState::Working);
/// let json = dialect.write_reply(&request, &Reply::Task(task.into()));
/// assert_eq!(
///     String::from_utf8(json)?,
///     r#"{"kind":"task","id":"t1","contextId":"c1","status":{"state":"working"}}"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// Legacy REST API that precedes versions.
    Legacy,
    /// 0.1.
    V0_1,
    /// 0.3 and 0.2.x as defined by the JSON schema; used over JSON-RPC.
    V0_3,
    /// 0.3 as defined by the protobuf file; used over HTTP+JSON.
    V0_3Proto,
    /// 1.0.
    V1_0,
}

impl Dialect {
    /// All dialects, newest first.
    pub const ALL: [Self; 5] = [Self::V1_0, Self::V0_3Proto, Self::V0_3, Self::V0_1, Self::Legacy];

    /// Returns the dialect of a version over JSON-RPC.
    #[must_use]
    pub fn over_jsonrpc(version: Version) -> Self {
        match version {
            Version::V1_0 => Self::V1_0,
            Version::V0_3 => Self::V0_3,
            Version::V0_1 => Self::V0_1,
        }
    }

    /// Returns the dialect of a version over HTTP+JSON.
    #[must_use]
    pub fn over_http(version: Version) -> Self {
        match version {
            Version::V1_0 => Self::V1_0,
            Version::V0_3 => Self::V0_3Proto,
            Version::V0_1 => Self::Legacy,
        }
    }

    /// Returns the protocol version of the dialect.
    #[must_use]
    pub fn version(self) -> Version {
        match self {
            Self::V1_0 => Version::V1_0,
            Self::V0_3 | Self::V0_3Proto => Version::V0_3,
            Self::V0_1 | Self::Legacy => Version::V0_1,
        }
    }

    /// Returns whether the client chooses the id of a new task. In other dialects a message to an
    /// unknown task is an error.
    #[must_use]
    pub fn clients_assign_task_ids(self) -> bool {
        self.version() == Version::V0_1
    }

    /// Returns whether messages have ids. In other dialects the server assigns them, so identical
    /// requests cannot be recognized as retries.
    #[must_use]
    pub fn has_message_ids(self) -> bool {
        self.version() != Version::V0_1
    }

    /// Returns whether a client can list the tasks of a context.
    #[must_use]
    pub fn supports_context_listing(self) -> bool {
        self.version() == Version::V1_0
    }

    fn json_flavor(self) -> JsonFlavor {
        match self {
            Self::V0_3Proto => JsonFlavor::ProtoJson,
            Self::Legacy | Self::V0_1 | Self::V0_3 | Self::V1_0 => JsonFlavor::Schema,
        }
    }

    /// Decodes and validates the parameters of a call; an empty string and `null` mean no
    /// parameters. `new_id` creates the message id in dialects whose messages have none.
    ///
    /// # Errors
    /// Returns [`ErrorKind::InvalidParams`](crate::ErrorKind::InvalidParams) with the invalid
    /// field.
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
        json::seed_from_str(text, ParamsReader { dialect: self, operation, new_id })?
    }

    /// Decodes and validates parameters collected from a request line and a body.
    pub(crate) fn read_members(
        self,
        operation: Operation,
        members: Map<String, Value>,
        new_id: &dyn Fn() -> MessageId,
    ) -> Result<Request, Error> {
        let params = ParamsReader { dialect: self, operation, new_id };
        json::seed_from_value(&Value::Object(members), params)?
    }

    /// Encodes the parameters of a call.
    ///
    /// # Errors
    /// Returns [`ErrorKind::UnsupportedOperation`](crate::ErrorKind::UnsupportedOperation) if the
    /// version does not have the operation.
    pub fn write_request(self, request: &Request) -> Result<Vec<u8>, Error> {
        let mut out = Vec::with_capacity(INITIAL_BUFFER_BYTES);
        self.write_request_to(&mut out, request)?;
        Ok(out)
    }

    /// Encodes the parameters of a call and appends them to `out`.
    pub(crate) fn write_request_to(
        self,
        out: &mut Vec<u8>,
        request: &Request,
    ) -> Result<(), Error> {
        match self {
            Self::V1_0 => v1_0::write_request(out, request),
            Self::V0_3 => v0_3::json::write_request(out, request),
            Self::V0_3Proto => v0_3::protojson::write_request(out, request),
            Self::V0_1 => v0_1::write_request(out, request)?,
            Self::Legacy => legacy::write_request(out, request)?,
        }
        Ok(())
    }

    /// Decodes the reply to `operation`. Events of a stream are decoded by [`Self::read_event`].
    ///
    /// # Errors
    /// Returns [`ParseError`] with the invalid field if the text is not such a reply.
    pub fn read_reply(self, operation: Operation, text: &str) -> Result<Reply, ParseError> {
        match self {
            Self::V1_0 if text.is_empty() => {
                Ok(json::seed_from_str("null", self.fast_reply_reader(operation))??)
            }
            Self::V1_0 => Ok(json::seed_from_str(text, self.fast_reply_reader(operation))??),
            Self::V0_3 | Self::V0_3Proto | Self::V0_1 | Self::Legacy => {
                pre_v1::read_reply(operation, text, self.json_flavor())
            }
        }
    }

    /// Returns a one-pass decoder for the most common reply to `operation`.
    pub(crate) fn fast_reply_reader(self, operation: Operation) -> FastReplyReader {
        FastReplyReader { dialect: self, operation }
    }

    /// Encodes the reply to `request`. Every dialect can encode every reply; [`EventWriter`] encodes
    /// the events of a stream.
    #[must_use]
    pub fn write_reply(self, request: &Request, reply: &Reply) -> Vec<u8> {
        let mut out = Vec::with_capacity(INITIAL_BUFFER_BYTES);
        self.write_reply_to(&mut out, request, reply);
        out
    }

    /// Encodes the reply to `request` and appends it to `out`.
    pub(crate) fn write_reply_to(self, out: &mut Vec<u8>, request: &Request, reply: &Reply) {
        match self {
            Self::V1_0 => v1_0::write_reply(out, request, reply),
            Self::V0_3 => v0_3::json::write_reply(out, request, reply),
            Self::V0_3Proto => v0_3::protojson::write_reply(out, reply),
            Self::V0_1 => v0_1::write_reply(out, request, reply),
            Self::Legacy => legacy::write_reply(out, request, reply),
        }
    }

    /// Decodes one event of a stream.
    ///
    /// # Errors
    /// Returns [`ParseError`] with the invalid field if the text is not an event.
    pub fn read_event(self, text: &str) -> Result<StreamResponse, ParseError> {
        match self {
            // Some 1.0 servers send events without their wrapper, identified by a tag.
            Self::V1_0 => json::from_str(text)
                .or_else(|error| pre_v1::read_event(text, JsonFlavor::Schema).map_err(|_| error)),
            Self::V0_3 | Self::V0_3Proto | Self::V0_1 | Self::Legacy => {
                pre_v1::read_event(text, self.json_flavor())
            }
        }
    }

    /// Renames the query parameters of a task list as the version requires.
    pub(crate) fn rename_query_params(self, query: &mut [(String, String)]) {
        match self {
            Self::V0_3Proto => v0_3::protojson::rename_query_params(query),
            Self::V1_0 | Self::V0_3 | Self::V0_1 | Self::Legacy => {}
        }
    }

    /// Encodes an error as an HTTP response.
    #[must_use]
    pub fn write_error(self, error: &Error) -> HttpError {
        match self {
            Self::V1_0 | Self::V0_3 | Self::V0_3Proto | Self::V0_1 => error.to_http(self.version()),
            Self::Legacy => legacy::write_error(error),
        }
    }
}

/// Value for cards in replies: tasks are logs of events, so state transitions are recorded.
const TRANSITION_HISTORY: TransitionHistory = TransitionHistory::Recorded;

/// Initial capacity of encoding buffers, in bytes. Most requests and replies fit.
pub(crate) const INITIAL_BUFFER_BYTES: usize = 1024;

/// Seed that decodes the parameters of a call from any deserializer.
#[derive(Clone, Copy)]
pub(crate) struct ParamsReader<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) operation: Operation,
    pub(crate) new_id: &'a dyn Fn() -> MessageId,
}

impl<'de> DeserializeSeed<'de> for ParamsReader<'_> {
    type Value = Result<Request, Error>;

    fn deserialize<D: Deserializer<'de>>(self, params: D) -> Result<Self::Value, D::Error> {
        let Self { dialect, operation, new_id } = self;
        let read = match dialect {
            Dialect::V1_0 => Ok(v1_0::read_request(operation, params)?),
            Dialect::V0_3 | Dialect::V0_3Proto | Dialect::V0_1 | Dialect::Legacy => {
                let generate_id = || (!dialect.has_message_ids()).then(new_id);
                pre_v1::read_request(operation, params, dialect, generate_id)?
            }
        };
        Ok(read.and_then(|request| dialect.check(request)).map_err(Error::from))
    }
}

impl Dialect {
    /// Applies the validation rules of the protocol and the dialect.
    fn check(self, mut request: Request) -> Result<Request, InvalidField> {
        if self == Self::V1_0 {
            v1_0::check(&request)?;
        }
        if self == Self::V0_1 {
            v0_1::default_history_length_to_zero(&mut request);
        }
        match request.validate() {
            // The rules use the field names of 1.0. The decoder has already checked most of them
            // under the names of the dialect; a missing task id is the exception.
            Err(invalid) if self == Self::V0_1 && invalid.field == "taskId" => {
                Err(InvalidField::missing("id"))
            }
            checked => checked.map(|()| request),
        }
    }
}

/// Decodes the most common reply to an operation in one pass. A failure does not mean that the
/// reply is invalid: before 1.0, the shape can depend on several members.
#[derive(Clone, Copy)]
pub(crate) struct FastReplyReader {
    dialect: Dialect,
    operation: Operation,
}

impl<'de> DeserializeSeed<'de> for FastReplyReader {
    type Value = Result<Reply, InvalidField>;

    fn deserialize<D: Deserializer<'de>>(self, result: D) -> Result<Self::Value, D::Error> {
        if self.dialect == Dialect::V1_0 {
            return v1_0::read_reply(self.operation, result);
        }
        let is_send = match self.operation {
            Operation::SendMessage => true,
            Operation::GetTask | Operation::CancelTask => false,
            Operation::SendStreamingMessage
            | Operation::ListTasks
            | Operation::SubscribeToTask
            | Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
            | Operation::DeleteTaskPushNotificationConfig
            | Operation::GetExtendedAgentCard
            | Operation::GetAgentCard => {
                return Err(de::Error::custom("the shape depends on several members"));
            }
        };
        let task = pre_v1::Task::deserialize(result)?;
        if is_send && !task.is_tagged_task() {
            return Err(de::Error::custom("the shape depends on several members"));
        }
        Ok(task.into_model(self.dialect.json_flavor()).map(Arc::new).map(|task| match is_send {
            true => Reply::SendMessage(SendMessageResponse::Task(task)),
            false => Reply::Task(task),
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::card::AgentCard;
    use crate::model::{
        ContextId, GetTaskRequest, ListTaskPushNotificationConfigsResponse, ListTasksResponse,
        Message, MessageId, SendMessageResponse, Task, TaskId, TaskPushNotificationConfig,
        TaskState,
    };

    /// Returns the sample that follows `reply`, so that a new variant does not compile without one.
    fn next_sample(reply: Option<&Reply>) -> Option<Reply> {
        let (id, context) = (TaskId::new("t").unwrap(), ContextId::new("c").unwrap());
        let task = Task::new(id, context, TaskState::Completed);
        let Some(reply) = reply else {
            let message = Message::agent(MessageId::new("m").unwrap(), "hi");
            return Some(Reply::SendMessage(SendMessageResponse::Message(message)));
        };
        match reply {
            Reply::SendMessage(SendMessageResponse::Message(_)) => {
                Some(Reply::SendMessage(SendMessageResponse::Task(task.into())))
            }
            Reply::SendMessage(SendMessageResponse::Task(_)) => Some(Reply::Task(task.into())),
            Reply::Task(_) => Some(Reply::TaskList(ListTasksResponse::default())),
            Reply::TaskList(_) => Some(Reply::PushConfig(TaskPushNotificationConfig::default())),
            Reply::PushConfig(_) => {
                Some(Reply::PushConfigList(ListTaskPushNotificationConfigsResponse::default()))
            }
            Reply::PushConfigList(_) => Some(Reply::PushConfigsDeleted(1)),
            Reply::PushConfigsDeleted(_) => {
                Some(Reply::Card(AgentCard::placeholder("https://a.example/").into()))
            }
            Reply::Card(_) => None,
        }
    }

    #[test]
    fn every_dialect_writes_every_reply() {
        let samples: Vec<_> =
            std::iter::successors(next_sample(None), |it| next_sample(Some(it))).collect();
        assert_eq!(samples.len(), 8);
        let request = Request::GetTask(GetTaskRequest::from(TaskId::new("t").unwrap()));
        for dialect in Dialect::ALL {
            for reply in &samples {
                let written = dialect.write_reply(&request, reply);
                let parsed = serde_json::from_slice::<Value>(&written);
                assert!(parsed.is_ok(), "{dialect:?} {reply:?}: {parsed:?}");
            }
        }
    }
}
