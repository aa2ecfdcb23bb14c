//! Results of a sent message, and the events of a stream.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::wire::{self, ExactlyOneError};
use super::{Artifact, ContextId, Message, Metadata, Task, TaskId, TaskStatus};

/// A change of a task's status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatusUpdateEvent {
    /// Identifier of the task.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// Context of the task. Latimer always writes it; peers may omit it when they send events.
    #[serde(
        default,
        alias = "context_id",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<ContextId>,
    /// The new status.
    pub status: TaskStatus,
    /// Application-defined metadata.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Metadata::is_empty"
    )]
    pub metadata: Metadata,
}

/// A new artifact of a task, or a chunk of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskArtifactUpdateEvent {
    /// Identifier of the task.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// Context of the task. Latimer always writes it; peers may omit it when they send events.
    #[serde(
        default,
        alias = "context_id",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<ContextId>,
    /// The complete artifact, or the chunk.
    pub artifact: Arc<Artifact>,
    /// Whether the parts are appended to the existing artifact; otherwise the artifact is replaced.
    #[serde(
        default,
        deserialize_with = "wire::bool_or_false",
        skip_serializing_if = "wire::is_false"
    )]
    pub append: bool,
    /// Whether this is the last chunk of the artifact.
    #[serde(
        default,
        alias = "last_chunk",
        deserialize_with = "wire::bool_or_false",
        skip_serializing_if = "wire::is_false"
    )]
    pub last_chunk: bool,
    /// Application-defined metadata.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Metadata::is_empty"
    )]
    pub metadata: Metadata,
}

impl TaskStatusUpdateEvent {
    /// Creates an update without a context and without metadata.
    pub fn new(task_id: TaskId, status: impl Into<TaskStatus>) -> Self {
        Self { task_id, context_id: None, status: status.into(), metadata: Metadata::new() }
    }
}

impl TaskArtifactUpdateEvent {
    /// Creates an update that carries a complete artifact.
    #[must_use]
    pub fn new(task_id: TaskId, artifact: impl Into<Arc<Artifact>>) -> Self {
        Self {
            task_id,
            context_id: None,
            artifact: artifact.into(),
            append: false,
            last_chunk: false,
            metadata: Metadata::new(),
        }
    }
}

/// Result of sending a message: a task, or a direct reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "SendMessageResponseFields")]
pub enum SendMessageResponse {
    /// The task that the message created or continued.
    Task(Arc<Task>),
    /// A direct reply; no task exists.
    Message(Message),
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "StreamResponseFields")]
pub enum StreamResponse {
    /// A complete task.
    Task(Task),
    /// A direct reply; no task exists.
    Message(Message),
    /// A change of the task's status.
    StatusUpdate(TaskStatusUpdateEvent),
    /// A new artifact, or a chunk of one.
    ArtifactUpdate(TaskArtifactUpdateEvent),
}

impl StreamResponse {
    /// Returns the task that the event concerns; `None` for a direct reply without a task id.
    #[must_use]
    pub fn task_id(&self) -> Option<&TaskId> {
        match self {
            Self::Task(task) => Some(&task.id),
            Self::Message(message) => message.task_id.as_ref(),
            Self::StatusUpdate(update) => Some(&update.task_id),
            Self::ArtifactUpdate(update) => Some(&update.task_id),
        }
    }

    /// Returns the status that the event carries, if it carries one.
    #[must_use]
    pub fn status(&self) -> Option<&TaskStatus> {
        match self {
            Self::Task(task) => Some(&task.status),
            Self::StatusUpdate(update) => Some(&update.status),
            Self::Message(_) | Self::ArtifactUpdate(_) => None,
        }
    }
}

impl From<SendMessageResponse> for StreamResponse {
    fn from(response: SendMessageResponse) -> Self {
        match response {
            SendMessageResponse::Task(task) => Self::Task(Arc::unwrap_or_clone(task)),
            SendMessageResponse::Message(message) => Self::Message(message),
        }
    }
}

/// Members of a stream event before validation that exactly one of them is present.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StreamResponseFields {
    task: Option<Task>,
    message: Option<Message>,
    #[serde(alias = "status_update")]
    status_update: Option<TaskStatusUpdateEvent>,
    #[serde(alias = "artifact_update")]
    artifact_update: Option<TaskArtifactUpdateEvent>,
}

impl TryFrom<StreamResponseFields> for StreamResponse {
    type Error = &'static str;

    fn try_from(members: StreamResponseFields) -> Result<Self, Self::Error> {
        let event = wire::exactly_one([
            members.task.map(Self::Task),
            members.message.map(Self::Message),
            members.status_update.map(Self::StatusUpdate),
            members.artifact_update.map(Self::ArtifactUpdate),
        ]);
        event.map_err(|error| match error {
            ExactlyOneError::None => "needs one of task, message, statusUpdate or artifactUpdate",
            ExactlyOneError::Several => {
                "contains more than one of task, message, statusUpdate and artifactUpdate"
            }
        })
    }
}

/// Members of a send result before validation that exactly one of them is present.
#[derive(Deserialize)]
struct SendMessageResponseFields {
    task: Option<Arc<Task>>,
    message: Option<Message>,
}

impl TryFrom<SendMessageResponseFields> for SendMessageResponse {
    type Error = &'static str;

    fn try_from(members: SendMessageResponseFields) -> Result<Self, Self::Error> {
        let candidates = [members.task.map(Self::Task), members.message.map(Self::Message)];
        wire::exactly_one(candidates).map_err(|error| match error {
            ExactlyOneError::None => "needs one of task or message",
            ExactlyOneError::Several => "contains both task and message",
        })
    }
}
