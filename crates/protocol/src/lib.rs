//! A2A as data: every version, every binding, both directions, and no I/O.
//!
//! ```text
//! bytes → binding → dialect → Request → Service
//! bytes ← binding ← dialect ← Reply   ←
//! ```
//!
//! The model ([`Task`], [`Message`], [`Part`], …) is A2A 1.0. A [`Dialect`] spells it in another
//! version, and [`binding`] is the grammar of the transports: JSON-RPC envelopes, HTTP+JSON
//! addresses, server-sent events, gRPC names. [`Error`] is an error by meaning, which one table
//! spells for each of them. [`Task::apply`] is the one fold that every reader of a task's log
//! shares, and [`Service`] the one seam between wire and meaning. [`mod@card`] is what an agent says
//! about itself, in every form it ever had, and the signatures over it.
//!
//! A server reads a call of whatever version, and writes the answer in the same:
//!
//! ```
//! use latimer_protocol::binding::{VersionPolicy, jsonrpc};
//! use latimer_protocol::{Message, MessageId, Reply, Request, SendMessageResponse};
//!
//! let body = br#"{"jsonrpc":"2.0","id":7,"method":"message/send","params":{"message":{
//!     "kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]}}}"#;
//! let new_message_id = || MessageId::new("m2").expect("an id");
//! let call = jsonrpc::Call::read(body, None, VersionPolicy::Lenient, &new_message_id)?;
//!
//! let Request::SendMessage(send) = &call.request else { panic!("a message") };
//! let answer = Message::agent(new_message_id(), send.message.text().to_uppercase());
//! let reply = Reply::SendMessage(SendMessageResponse::Message(answer));
//! let sent = jsonrpc::write_reply(call.dialect, &call.id, &call.request, &reply);
//! assert_eq!(
//!     String::from_utf8(sent)?,
//!     r#"{"jsonrpc":"2.0","id":7,"result":{"kind":"message","messageId":"m2","role":"agent","#
//!         .to_owned() + r#""parts":[{"kind":"text","text":"HI"}]}}"#,
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | feature | adds |
//! | --- | --- |
//! | `signature` | signatures over cards, in [`mod@card`]; needs a C compiler |
//!
//! Identifiers and times are arguments everywhere: there is no clock and no randomness in here. In
//! what is sent it is strict, per version; in what is read it is tolerant, and what it refuses it
//! refuses with the path of the field.

pub mod binding;
pub mod card;
mod dialect;
mod display;
mod error;
mod json;
mod lifecycle;
mod model;
mod operation;
mod revision;
mod service;
pub mod swarm;
mod version;

pub use dialect::{Dialect, EventWriter, Finality, Notification, protobuf};
pub use display::{redact_query, truncate_for_display};
pub use error::{Error, ErrorCodes, ErrorKind, GrpcStatus, HttpError, code};
pub use json::{InvalidField, MAX_NESTING_DEPTH, ParseError, nesting_depth};
pub use lifecycle::{ApplyError, Event};
pub use model::{
    Artifact, ArtifactId, AuthenticationInfo, CancelTaskRequest, Content, ContextId,
    DEFAULT_PAGE_SIZE, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, InvalidId, InvalidTimestamp,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    ListTasksRequest, ListTasksResponse, MAX_ID_BYTES, MAX_PAGE_SIZE, Message, MessageId, Metadata,
    Part, Phase, PushConfigId, Role, Secret, SendMessageConfiguration, SendMessageRequest,
    SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task, TaskArtifactUpdateEvent,
    TaskId, TaskPushNotificationConfig, TaskState, TaskStatus, TaskStatusUpdateEvent, Timestamp,
    UnknownEnumName,
};
pub use operation::{Capability, Operation};
pub use revision::{InvalidRevision, Revision};
pub use service::{
    Call, CallContext, CallResponse, Caller, EventStream, Reply, ReplyKind, Request, Service,
    SharedEvent, StreamEvent,
};
pub use version::{PROTOCOL_VERSION, UnknownVersion, Version};
