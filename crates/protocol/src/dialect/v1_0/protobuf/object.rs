//! Parts, messages, tasks and their events.

use latimer_pb::v1 as pb;

use crate::dialect::field::{each, id, named, optional, optional_id, required, state, text};
use crate::dialect::wellknown::{
    from_struct, from_timestamp, from_value, to_struct, to_timestamp, to_value,
};
use crate::json::Invalid;
use crate::model::{
    Artifact, Content, Message, Part, Role, Task, TaskArtifactUpdateEvent, TaskStatus,
    TaskStatusUpdateEvent,
};

impl From<&Part> for pb::Part {
    fn from(part: &Part) -> Self {
        let content = match &part.content {
            Content::Text(text) => pb::part::Content::Text(text.clone()),
            Content::Raw(bytes) => pb::part::Content::Raw(bytes.clone()),
            Content::Url(url) => pb::part::Content::Url(url.clone()),
            Content::Data(value) => pb::part::Content::Data(to_value(value)),
        };
        Self {
            content: Some(content),
            metadata: to_struct(&part.metadata),
            filename: text(part.filename.as_deref()),
            media_type: text(part.media_type.as_deref()),
        }
    }
}

impl TryFrom<pb::Part> for Part {
    type Error = Invalid;

    fn try_from(part: pb::Part) -> Result<Self, Invalid> {
        let content = match part.content {
            Some(pb::part::Content::Text(text)) => Content::Text(text),
            Some(pb::part::Content::Raw(bytes)) => Content::Raw(bytes),
            Some(pb::part::Content::Url(url)) => Content::Url(url),
            Some(pb::part::Content::Data(value)) => Content::Data(from_value(value, "data")?),
            None => return Err(Invalid::new("", "needs one of text, raw, url or data")),
        };
        Ok(Self {
            content,
            metadata: from_struct(part.metadata, "metadata")?,
            filename: optional(part.filename),
            media_type: optional(part.media_type),
        })
    }
}

impl From<&Message> for pb::Message {
    fn from(message: &Message) -> Self {
        Self {
            message_id: message.message_id.to_string(),
            context_id: text(message.context_id.as_ref().map(AsRef::as_ref)),
            task_id: text(message.task_id.as_ref().map(AsRef::as_ref)),
            role: message.role.number(),
            parts: message.parts.iter().map(Into::into).collect(),
            metadata: to_struct(&message.metadata),
            extensions: message.extensions.clone(),
            reference_task_ids: message
                .reference_task_ids
                .iter()
                .map(ToString::to_string)
                .collect(),
        }
    }
}

impl TryFrom<pb::Message> for Message {
    type Error = Invalid;

    fn try_from(message: pb::Message) -> Result<Self, Invalid> {
        let references = message.reference_task_ids.iter().enumerate();
        let references =
            references.map(|(place, it)| id(it, &format!("referenceTaskIds[{place}]")));
        Ok(Self {
            message_id: id(&message.message_id, "messageId")?,
            context_id: optional_id(&message.context_id, "contextId")?,
            task_id: optional_id(&message.task_id, "taskId")?,
            role: Role::from_number(message.role.into())
                .ok_or_else(|| Invalid::new("role", "is not the number of a role"))?,
            parts: each(message.parts, "parts")?,
            metadata: from_struct(message.metadata, "metadata")?,
            extensions: message.extensions,
            reference_task_ids: references.collect::<Result<_, _>>()?,
        })
    }
}

impl From<&TaskStatus> for pb::TaskStatus {
    fn from(status: &TaskStatus) -> Self {
        Self {
            state: status.state.number(),
            message: status.message.as_ref().map(Into::into),
            timestamp: status.timestamp.map(to_timestamp),
        }
    }
}

impl TryFrom<pb::TaskStatus> for TaskStatus {
    type Error = Invalid;

    fn try_from(status: pb::TaskStatus) -> Result<Self, Invalid> {
        Ok(Self {
            state: state(status.state, "state")?,
            message: named(status.message.map(TryInto::try_into).transpose(), "message")?,
            timestamp: status.timestamp.map(|it| from_timestamp(it, "timestamp")).transpose()?,
        })
    }
}

impl From<&Artifact> for pb::Artifact {
    fn from(artifact: &Artifact) -> Self {
        Self {
            artifact_id: artifact.artifact_id.to_string(),
            name: text(artifact.name.as_deref()),
            description: text(artifact.description.as_deref()),
            parts: artifact.parts.iter().map(Into::into).collect(),
            metadata: to_struct(&artifact.metadata),
            extensions: artifact.extensions.clone(),
        }
    }
}

impl TryFrom<pb::Artifact> for Artifact {
    type Error = Invalid;

    fn try_from(artifact: pb::Artifact) -> Result<Self, Invalid> {
        Ok(Self {
            artifact_id: id(&artifact.artifact_id, "artifactId")?,
            name: optional(artifact.name),
            description: optional(artifact.description),
            parts: each(artifact.parts, "parts")?,
            metadata: from_struct(artifact.metadata, "metadata")?,
            extensions: artifact.extensions,
        })
    }
}

impl From<&Task> for pb::Task {
    fn from(task: &Task) -> Self {
        Self {
            id: task.id.to_string(),
            context_id: text(task.context_id.as_ref().map(AsRef::as_ref)),
            status: Some((&task.status).into()),
            artifacts: task.artifacts.iter().map(Into::into).collect(),
            history: task.history.iter().map(Into::into).collect(),
            metadata: to_struct(&task.metadata),
        }
    }
}

impl TryFrom<pb::Task> for Task {
    type Error = Invalid;

    fn try_from(task: pb::Task) -> Result<Self, Invalid> {
        Ok(Self {
            id: id(&task.id, "id")?,
            context_id: optional_id(&task.context_id, "contextId")?,
            status: named(required(task.status, "status")?.try_into(), "status")?,
            artifacts: each(task.artifacts, "artifacts")?,
            history: each(task.history, "history")?,
            metadata: from_struct(task.metadata, "metadata")?,
        })
    }
}

impl From<&TaskStatusUpdateEvent> for pb::TaskStatusUpdateEvent {
    fn from(update: &TaskStatusUpdateEvent) -> Self {
        Self {
            task_id: update.task_id.to_string(),
            context_id: text(update.context_id.as_ref().map(AsRef::as_ref)),
            status: Some((&update.status).into()),
            metadata: to_struct(&update.metadata),
        }
    }
}

impl TryFrom<pb::TaskStatusUpdateEvent> for TaskStatusUpdateEvent {
    type Error = Invalid;

    fn try_from(update: pb::TaskStatusUpdateEvent) -> Result<Self, Invalid> {
        Ok(Self {
            task_id: id(&update.task_id, "taskId")?,
            context_id: optional_id(&update.context_id, "contextId")?,
            status: named(required(update.status, "status")?.try_into(), "status")?,
            metadata: from_struct(update.metadata, "metadata")?,
        })
    }
}

impl From<&TaskArtifactUpdateEvent> for pb::TaskArtifactUpdateEvent {
    fn from(update: &TaskArtifactUpdateEvent) -> Self {
        Self {
            task_id: update.task_id.to_string(),
            context_id: text(update.context_id.as_ref().map(AsRef::as_ref)),
            artifact: Some((&update.artifact).into()),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: to_struct(&update.metadata),
        }
    }
}

impl TryFrom<pb::TaskArtifactUpdateEvent> for TaskArtifactUpdateEvent {
    type Error = Invalid;

    fn try_from(update: pb::TaskArtifactUpdateEvent) -> Result<Self, Invalid> {
        Ok(Self {
            task_id: id(&update.task_id, "taskId")?,
            context_id: optional_id(&update.context_id, "contextId")?,
            artifact: named(required(update.artifact, "artifact")?.try_into(), "artifact")?,
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: from_struct(update.metadata, "metadata")?,
        })
    }
}
