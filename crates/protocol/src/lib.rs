//! A2A as data: every version, every binding, and no I/O.
//!
//! The canonical model is A2A 1.0.

pub mod binding;
pub mod card;
mod dialect;
mod error;
mod json;
mod lifecycle;
mod model;
mod operation;
mod revision;
mod service;
mod version;

pub use dialect::{Dialect, EventWriter, protobuf};
pub use error::{Code, Error, ErrorKind, GrpcStatus, HttpError, code};
pub use json::{Invalid, MAX_DEPTH, Unreadable};
pub use lifecycle::{Event, Refused};
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
pub use revision::{InvalidRevision, Revision};
pub use service::{Call, EventStream, Reply, Request, Service, Streamed};
pub use version::{PROTOCOL_VERSION, UnknownVersion, VERSION_HEADER, Version, unsupported};
