//! Tasks, messages, artifacts and events in the JSON schema format.

use std::sync::Arc;

use serde::Serialize;

use super::part::Part;
use crate::dialect::Finality;
use crate::dialect::list_as::{ListAs, empty};
use crate::model::wire::is_false;
use crate::model::{
    self, ArtifactId, ContextId, MessageId, Metadata, Role, StreamResponse, TaskId, TaskState,
    Timestamp,
};

#[derive(Serialize)]
#[serde(tag = "kind", rename = "task", rename_all = "camelCase")]
pub(in crate::dialect) struct Task<'a> {
    id: &'a TaskId,
    context_id: &'a str,
    status: Status<'a>,
    #[serde(skip_serializing_if = "ListAs::is_empty")]
    artifacts: ListAs<'a, Arc<model::Artifact>, Artifact<'a>>,
    #[serde(skip_serializing_if = "ListAs::is_empty")]
    history: ListAs<'a, Arc<model::Message>, Message<'a>>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

impl<'a> From<&'a model::Task> for Task<'a> {
    fn from(task: &'a model::Task) -> Self {
        Self {
            id: &task.id,
            context_id: context_id_or_empty(task.context_id.as_ref()),
            status: Status::from(&task.status),
            artifacts: ListAs::new(&task.artifacts),
            history: ListAs::new(&task.history),
            metadata: &task.metadata,
        }
    }
}

/// Returns the context id, which this format requires. It can be missing only in data of peers of
/// other versions.
fn context_id_or_empty(context_id: Option<&ContextId>) -> &str {
    context_id.map_or("", ContextId::as_str)
}

#[derive(Serialize)]
pub(in crate::dialect) struct Status<'a> {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp>,
}

impl<'a> From<&'a model::TaskStatus> for Status<'a> {
    fn from(status: &'a model::TaskStatus) -> Self {
        Self {
            state: state_name(status.state),
            message: status.message.as_deref().map(Message::from),
            timestamp: status.timestamp,
        }
    }
}

pub(in crate::dialect) fn state_name(state: TaskState) -> &'static str {
    match state {
        TaskState::Unspecified => "unknown",
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::InputRequired => "input-required",
        TaskState::Rejected => "rejected",
        TaskState::AuthRequired => "auth-required",
    }
}

pub(in crate::dialect) fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Unspecified | Role::Agent => "agent",
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename = "message", rename_all = "camelCase")]
pub(in crate::dialect) struct Message<'a> {
    message_id: &'a MessageId,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a ContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a TaskId>,
    role: &'static str,
    parts: ListAs<'a, model::Part, Part<'a>>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
    #[serde(skip_serializing_if = "empty")]
    extensions: &'a [String],
    #[serde(skip_serializing_if = "empty")]
    reference_task_ids: &'a [TaskId],
}

impl<'a> From<&'a model::Message> for Message<'a> {
    fn from(message: &'a model::Message) -> Self {
        Self {
            message_id: &message.message_id,
            context_id: message.context_id.as_ref(),
            task_id: message.task_id.as_ref(),
            role: role_name(message.role),
            parts: ListAs::new(&message.parts),
            metadata: &message.metadata,
            extensions: &message.extensions,
            reference_task_ids: &message.reference_task_ids,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dialect) struct Artifact<'a> {
    artifact_id: &'a ArtifactId,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parts: ListAs<'a, model::Part, Part<'a>>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
    #[serde(skip_serializing_if = "empty")]
    extensions: &'a [String],
}

impl<'a> From<&'a model::Artifact> for Artifact<'a> {
    fn from(artifact: &'a model::Artifact) -> Self {
        Self {
            artifact_id: &artifact.artifact_id,
            name: artifact.name.as_deref(),
            description: artifact.description.as_deref(),
            parts: ListAs::new(&artifact.parts),
            metadata: &artifact.metadata,
            extensions: &artifact.extensions,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename = "status-update", rename_all = "camelCase")]
pub(in crate::dialect) struct StatusUpdate<'a> {
    task_id: &'a TaskId,
    context_id: &'a str,
    status: Status<'a>,
    r#final: bool,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename = "artifact-update", rename_all = "camelCase")]
pub(in crate::dialect) struct ArtifactUpdate<'a> {
    task_id: &'a TaskId,
    context_id: &'a str,
    artifact: Artifact<'a>,
    #[serde(skip_serializing_if = "is_false")]
    append: bool,
    #[serde(skip_serializing_if = "is_false")]
    last_chunk: bool,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

/// Event of a stream, identified by its `kind`.
#[derive(Serialize)]
#[serde(untagged)]
pub(in crate::dialect) enum Event<'a> {
    Task(Task<'a>),
    Message(Message<'a>),
    StatusUpdate(StatusUpdate<'a>),
    ArtifactUpdate(ArtifactUpdate<'a>),
}

impl<'a> Event<'a> {
    pub(in crate::dialect) fn new(event: &'a StreamResponse, finality: Finality) -> Self {
        match event {
            StreamResponse::Task(task) => Self::Task(Task::from(task)),
            StreamResponse::Message(message) => Self::Message(Message::from(message)),
            StreamResponse::StatusUpdate(update) => Self::StatusUpdate(StatusUpdate {
                task_id: &update.task_id,
                context_id: context_id_or_empty(update.context_id.as_ref()),
                status: Status::from(&update.status),
                r#final: finality == Finality::Last,
                metadata: &update.metadata,
            }),
            StreamResponse::ArtifactUpdate(update) => Self::ArtifactUpdate(ArtifactUpdate {
                task_id: &update.task_id,
                context_id: context_id_or_empty(update.context_id.as_ref()),
                artifact: Artifact::from(&*update.artifact),
                append: update.append,
                last_chunk: update.last_chunk,
                metadata: &update.metadata,
            }),
        }
    }
}
