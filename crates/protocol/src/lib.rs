//! A2A as data: every version, every binding, and no I/O.
//!
//! The canonical model is A2A 1.0.

mod error;
mod json;
mod model;
mod operation;
mod version;

pub use error::{Code, Error, ErrorKind, HttpError, code};
pub use json::{Invalid, MAX_DEPTH, Unreadable};
pub use model::{
    Artifact, ArtifactId, AuthenticationInfo, CancelTaskRequest, Content, ContextId,
    DEFAULT_PAGE_SIZE, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, InvalidId, InvalidTimestamp,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    ListTasksRequest, ListTasksResponse, MAX_ID_LENGTH, MAX_PAGE_SIZE, Message, MessageId,
    Metadata, Part, Phase, PushConfigId, Role, Secret, SendMessageConfiguration,
    SendMessageRequest, SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task,
    TaskArtifactUpdateEvent, TaskId, TaskPushNotificationConfig, TaskState, TaskStatus,
    TaskStatusUpdateEvent, Timestamp, UnknownName,
};
pub use operation::{Capability, Operation};
pub use version::{PROTOCOL_VERSION, UnknownVersion, VERSION_HEADER, Version, unsupported};
