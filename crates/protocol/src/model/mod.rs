//! The canonical model: A2A 1.0, as Rust types.
//!
//! Everything right of the dialects speaks in these types, whatever version a peer speaks. Their
//! serde form is the ProtoJSON of 1.0: strict in what is written, and in what is read tolerant of
//! both spellings of a name, of numbers for enums, of `null` for absent and of unknown members.

mod event;
mod id;
mod message;
mod metadata;
mod part;
mod push;
mod request;
mod state;
mod task;
mod time;
pub(crate) mod wire;

pub use event::{
    SendMessageResponse, StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent,
};
pub use id::{ArtifactId, ContextId, InvalidId, MAX_ID_BYTES, MessageId, PushConfigId, TaskId};
pub use message::Message;
pub use metadata::Metadata;
pub use part::{Content, Part};
pub use push::{AuthenticationInfo, Secret, TaskPushNotificationConfig};
pub use request::{
    CancelTaskRequest, DEFAULT_PAGE_SIZE, DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    ListTasksRequest, ListTasksResponse, MAX_PAGE_SIZE, SendMessageConfiguration,
    SendMessageRequest, SubscribeToTaskRequest,
};
pub use state::{Phase, Role, TaskState, UnknownEnumName};
pub use task::{Artifact, Task, TaskStatus};
pub use time::{InvalidTimestamp, Timestamp};
