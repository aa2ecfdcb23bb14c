//! What is said about a task while it goes on.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::wire::{self, ExactlyOneError};
use super::{Artifact, ContextId, Message, Metadata, Task, TaskId, TaskStatus};

/// A task's status changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatusUpdateEvent {
    /// The task.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// Its conversation. Always there in what we send; old or careless peers leave it out.
    #[serde(
        default,
        alias = "context_id",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<ContextId>,
    /// The new status.
    pub status: TaskStatus,
    /// Free-form members.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Metadata::is_empty"
    )]
    pub metadata: Metadata,
}

/// A task made an artifact, or a further piece of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskArtifactUpdateEvent {
    /// The task.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// Its conversation. Always there in what we send; old or careless peers leave it out.
    #[serde(
        default,
        alias = "context_id",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<ContextId>,
    /// The artifact, or the further piece.
    pub artifact: Arc<Artifact>,
    /// Whether the parts go behind those the artifact has already; else they replace it.
    #[serde(
        default,
        deserialize_with = "wire::bool_or_false",
        skip_serializing_if = "wire::is_false"
    )]
    pub append: bool,
    /// Whether the artifact is complete with this.
    #[serde(
        default,
        alias = "last_chunk",
        deserialize_with = "wire::bool_or_false",
        skip_serializing_if = "wire::is_false"
    )]
    pub last_chunk: bool,
    /// Free-form members.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Metadata::is_empty"
    )]
    pub metadata: Metadata,
}

impl TaskStatusUpdateEvent {
    /// A new status of a task.
    pub fn new(task_id: TaskId, status: impl Into<TaskStatus>) -> Self {
        Self { task_id, context_id: None, status: status.into(), metadata: Metadata::new() }
    }
}

impl TaskArtifactUpdateEvent {
    /// A whole artifact of a task.
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

/// The answer to a message: a task, or just another message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "SendMessageResponseFields")]
pub enum SendMessageResponse {
    /// The task that the message began or went to.
    Task(Arc<Task>),
    /// A direct answer, without a task.
    Message(Message),
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "StreamResponseFields")]
pub enum StreamResponse {
    /// The task as it stands.
    Task(Task),
    /// A direct answer, without a task.
    Message(Message),
    /// The status changed.
    StatusUpdate(TaskStatusUpdateEvent),
    /// There is an artifact, or a further piece of one.
    ArtifactUpdate(TaskArtifactUpdateEvent),
}

impl StreamResponse {
    /// The task the event is about, if it is about one.
    #[must_use]
    pub fn task_id(&self) -> Option<&TaskId> {
        match self {
            Self::Task(task) => Some(&task.id),
            Self::Message(message) => message.task_id.as_ref(),
            Self::StatusUpdate(update) => Some(&update.task_id),
            Self::ArtifactUpdate(update) => Some(&update.task_id),
        }
    }

    /// The status the event tells of, if it tells of one.
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

/// The members of a stream's event as they are read, before they are known to be exactly one.
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
                "holds more than one of task, message, statusUpdate and artifactUpdate"
            }
        })
    }
}

/// The members of an answer as they are read, before they are known to be exactly one.
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
            ExactlyOneError::Several => "holds both task and message",
        })
    }
}
