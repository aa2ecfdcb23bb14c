//! The A2A protocol as data types and codecs, for all versions and bindings, without I/O.
//!
//! ```text
//! bytes → binding → dialect → Request → Service
//! bytes ← binding ← dialect ← Reply   ←
//! ```
//!
//! The model ([`Task`], [`Message`], [`Part`], …) is A2A 1.0. A [`Dialect`] encodes it for another
//! version. [`binding`] implements the transports: JSON-RPC envelopes, HTTP+JSON routes,
//! server-sent events and gRPC method names. An [`Error`] has one kind, which a table maps to the
//! codes of each binding. [`Task::apply`] computes a task from its events. [`Service`] is the
//! boundary between the wire and the engine. [`mod@card`] reads, writes, validates and signs agent
//! cards of every version.
//!
//! A server reads a call of any version and encodes the reply in the same version:
//!
//! ```
//! use latimer_protocol::binding::{VersionPolicy, jsonrpc};
//! use latimer_protocol::{Message, MessageId, Reply, Request, SendMessageResponse};
//!
//! let body = br#"{"jsonrpc":"2.0","id":7,"method":"message/send","params":{"message":{
//!     "kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]}}}"#;
//! let new_message_id = || MessageId::new("m2").expect("valid id");
//! let call = jsonrpc::Call::read(body, None, VersionPolicy::Lenient, &new_message_id)?;
//!
//! let Request::SendMessage(send) = &call.request else { panic!("expected SendMessage") };
//! let message = Message::agent(new_message_id(), send.message.text().to_uppercase());
//! let reply = Reply::SendMessage(SendMessageResponse::Message(message));
//! let body = jsonrpc::write_reply(call.dialect, &call.id, &call.request, &reply);
//! assert_eq!(
//!     String::from_utf8(body)?,
//!     r#"{"jsonrpc":"2.0","id":7,"result":{"kind":"message","messageId":"m2","role":"agent","#
//!         .to_owned() + r#""parts":[{"kind":"text","text":"HI"}]}}"#,
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate uses no clock and no randomness: identifiers and times are arguments. Encoders follow
//! each version strictly. Decoders are lenient, and their errors name the path of the invalid
//! field.
//!
//! # Features
//!
//! - `signature`: signatures over cards, in [`mod@card`]. Requires a C compiler.

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
pub use error::{Challenge, Error, ErrorCodes, ErrorKind, GrpcStatus, HttpError, code};
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
