//! Tasks, messages, artifacts and events.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;

use crate::dialect::Then;
use crate::dialect::each::{Each, empty, no_metadata};
use crate::dialect::v0_3::json::Data;
use crate::model::wire::{is_off, to_base64};
use crate::model::{
    self, ArtifactId, Content, ContextId, MessageId, Metadata, Role, StreamResponse, TaskId,
    TaskState, Timestamp,
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dialect) struct Task<'a> {
    id: &'a TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a ContextId>,
    status: Status<'a>,
    #[serde(skip_serializing_if = "Each::is_empty")]
    artifacts: Each<'a, Arc<model::Artifact>, Artifact<'a>>,
    #[serde(skip_serializing_if = "Each::is_empty")]
    history: Each<'a, Arc<model::Message>, Message<'a>>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

impl<'a> From<&'a model::Task> for Task<'a> {
    fn from(task: &'a model::Task) -> Self {
        Self {
            id: &task.id,
            context_id: task.context_id.as_ref(),
            status: Status::from(&task.status),
            artifacts: Each::of(&task.artifacts),
            history: Each::of(&task.history),
            metadata: &task.metadata,
        }
    }
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
            state: state(status.state),
            message: status.message.as_deref().map(Message::from),
            timestamp: status.timestamp,
        }
    }
}

/// The names of the states: those of 1.0 but for one letter.
pub(super) fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::Canceled => "TASK_STATE_CANCELLED",
        other => other.name(),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dialect) struct Message<'a> {
    message_id: &'a MessageId,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a ContextId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a TaskId>,
    role: Role,
    content: Each<'a, model::Part, Part<'a>>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
    #[serde(skip_serializing_if = "empty")]
    extensions: &'a [String],
}

impl<'a> From<&'a model::Message> for Message<'a> {
    fn from(message: &'a model::Message) -> Self {
        Self {
            message_id: &message.message_id,
            context_id: message.context_id.as_ref(),
            task_id: message.task_id.as_ref(),
            role: message.role,
            content: Each::of(&message.parts),
            metadata: &message.metadata,
            extensions: &message.extensions,
        }
    }
}

#[derive(Serialize)]
pub(in crate::dialect) struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<File<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Nested<'a>>,
    #[serde(skip_serializing_if = "no_metadata")]
    metadata: Cow<'a, Metadata>,
}

impl<'a> From<&'a model::Part> for Part<'a> {
    fn from(part: &'a model::Part) -> Self {
        let metadata = Cow::Borrowed(&part.metadata);
        let mut written = Self { text: None, file: None, data: None, metadata };
        match &part.content {
            Content::Text(text) => written.text = Some(text),
            // Base64 of base64: the protobuf field holds the text, and its JSON form encodes again.
            Content::Raw(bytes) => {
                let twice = to_base64(to_base64(bytes).as_bytes());
                written.file = Some(File { file_with_bytes: Some(twice), ..File::of(part) });
            }
            Content::Url(url) => {
                written.file = Some(File { file_with_uri: Some(url), ..File::of(part) });
            }
            Content::Data(value) => {
                let (data, metadata) = Data::of(value, &part.metadata);
                written = Self { data: Some(Nested { data }), metadata, ..written };
            }
        }
        written
    }
}

/// A data part: a message with one member.
#[derive(Serialize)]
pub(in crate::dialect) struct Nested<'a> {
    data: Data<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dialect) struct File<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file_with_bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_with_uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

impl<'a> File<'a> {
    fn of(part: &'a model::Part) -> Self {
        let (mime_type, name) = (part.media_type.as_deref(), part.filename.as_deref());
        Self { file_with_bytes: None, file_with_uri: None, mime_type, name }
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
    parts: Each<'a, model::Part, Part<'a>>,
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
            parts: Each::of(&artifact.parts),
            metadata: &artifact.metadata,
            extensions: &artifact.extensions,
        }
    }
}

/// One event of a stream, or the answer to a message: an object with one member.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dialect) enum Event<'a> {
    Task(Task<'a>),
    Message(Message<'a>),
    #[serde(rename_all = "camelCase")]
    StatusUpdate {
        task_id: &'a TaskId,
        #[serde(skip_serializing_if = "Option::is_none")]
        context_id: Option<&'a ContextId>,
        status: Status<'a>,
        #[serde(skip_serializing_if = "is_off")]
        r#final: bool,
        #[serde(skip_serializing_if = "Metadata::is_empty")]
        metadata: &'a Metadata,
    },
    #[serde(rename_all = "camelCase")]
    ArtifactUpdate {
        task_id: &'a TaskId,
        #[serde(skip_serializing_if = "Option::is_none")]
        context_id: Option<&'a ContextId>,
        artifact: Artifact<'a>,
        #[serde(skip_serializing_if = "is_off")]
        append: bool,
        #[serde(skip_serializing_if = "is_off")]
        last_chunk: bool,
        #[serde(skip_serializing_if = "Metadata::is_empty")]
        metadata: &'a Metadata,
    },
}

impl<'a> Event<'a> {
    pub(in crate::dialect) fn of(event: &'a StreamResponse, then: Then) -> Self {
        match event {
            StreamResponse::Task(task) => Self::Task(Task::from(task)),
            StreamResponse::Message(message) => Self::Message(Message::from(message)),
            StreamResponse::StatusUpdate(update) => Self::StatusUpdate {
                task_id: &update.task_id,
                context_id: update.context_id.as_ref(),
                status: Status::from(&update.status),
                r#final: then == Then::Closes,
                metadata: &update.metadata,
            },
            StreamResponse::ArtifactUpdate(update) => Self::ArtifactUpdate {
                task_id: &update.task_id,
                context_id: update.context_id.as_ref(),
                artifact: Artifact::from(&*update.artifact),
                append: update.append,
                last_chunk: update.last_chunk,
                metadata: &update.metadata,
            },
        }
    }
}
