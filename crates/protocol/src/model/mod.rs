//! The canonical model: A2A 1.0 as Rust types.
//!
//! All code outside the dialects uses these types, regardless of the version a peer speaks. Their
//! serde representation is the ProtoJSON of 1.0. Serialization is strict. Deserialization accepts
//! camelCase and snake_case names, numbers for enum values, `null` for absent members, and unknown
//! members.
//!
//! | module | content |
//! | --- | --- |
//! | `event` | send results and stream events |
//! | `id` | validated identifiers |
//! | `message` | messages |
//! | `metadata` | application-defined metadata |
//! | `part` | content of messages and artifacts |
//! | `push` | webhook configurations and secrets |
//! | `request` | request and response types of the operations |
//! | `state` | task states and message roles |
//! | `task` | tasks, their status and artifacts |
//! | `time` | timestamps |
//! | `wire` | serde helpers for ProtoJSON |

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
