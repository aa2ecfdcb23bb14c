//! Tasks, messages, artifacts and events in ProtoJSON.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;

use crate::dialect::Finality;
use crate::dialect::list_as::{ListAs, empty, no_metadata};
use crate::dialect::v0_3::json::Data;
use crate::model::wire::{is_false, to_base64};
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
            context_id: task.context_id.as_ref(),
            status: Status::from(&task.status),
            artifacts: ListAs::new(&task.artifacts),
            history: ListAs::new(&task.history),
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
            state: state_name(status.state),
            message: status.message.as_deref().map(Message::from),
            timestamp: status.timestamp,
        }
    }
}

/// Returns the name of a state, which differs from 1.0 in the spelling of `CANCELLED`.
pub(super) fn state_name(state: TaskState) -> &'static str {
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
    content: ListAs<'a, model::Part, Part<'a>>,
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
            content: ListAs::new(&message.parts),
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
    data: Option<NestedData<'a>>,
    #[serde(skip_serializing_if = "no_metadata")]
    metadata: Cow<'a, Metadata>,
}

impl<'a> From<&'a model::Part> for Part<'a> {
    fn from(part: &'a model::Part) -> Self {
        let metadata = Cow::Borrowed(&part.metadata);
        let mut written = Self { text: None, file: None, data: None, metadata };
        match &part.content {
            Content::Text(text) => written.text = Some(text),
            // Base64 of base64: the protobuf field contains base64 text, which ProtoJSON encodes
            // again.
            Content::Raw(bytes) => {
                let double_encoded = to_base64(to_base64(bytes).as_bytes());
                written.file =
                    Some(File { file_with_bytes: Some(double_encoded), ..File::from_part(part) });
            }
            Content::Url(url) => {
                written.file = Some(File { file_with_uri: Some(url), ..File::from_part(part) });
            }
            Content::Data(value) => {
                let (data, metadata) = Data::from_value(value, &part.metadata);
                written = Self { data: Some(NestedData { data }), metadata, ..written };
            }
        }
        written
    }
}

/// Data part: a message with one member.
#[derive(Serialize)]
pub(in crate::dialect) struct NestedData<'a> {
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
    fn from_part(part: &'a model::Part) -> Self {
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

/// Event of a stream, or response to a message: an object with one member.
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
        #[serde(skip_serializing_if = "is_false")]
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
        #[serde(skip_serializing_if = "is_false")]
        append: bool,
        #[serde(skip_serializing_if = "is_false")]
        last_chunk: bool,
        #[serde(skip_serializing_if = "Metadata::is_empty")]
        metadata: &'a Metadata,
    },
}

impl<'a> Event<'a> {
    pub(in crate::dialect) fn new(event: &'a StreamResponse, finality: Finality) -> Self {
        match event {
            StreamResponse::Task(task) => Self::Task(Task::from(task)),
            StreamResponse::Message(message) => Self::Message(Message::from(message)),
            StreamResponse::StatusUpdate(update) => Self::StatusUpdate {
                task_id: &update.task_id,
                context_id: update.context_id.as_ref(),
                status: Status::from(&update.status),
                r#final: finality == Finality::Last,
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
