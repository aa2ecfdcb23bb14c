//! Parts, messages, and where tasks and events differ from those of 0.3.

use std::sync::Arc;

use latimer_pb::v1 as pb;

use crate::dialect::field::{each, id, named, optional, optional_id, state, text};
use crate::dialect::wellknown::{
    from_struct, from_timestamp, from_value, to_struct, to_timestamp, to_value,
};
use crate::json::Invalid;
use crate::model::{
    Content, Message, Part, Role, SendMessageResponse, StreamResponse, TaskStatus,
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
            Some(pb::part::Content::Data(value)) => {
                Content::Data(Box::new(from_value(value, "data")?))
            }
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
            message: status.message.as_deref().map(Into::into),
            timestamp: status.timestamp.map(to_timestamp),
        }
    }
}

impl TryFrom<pb::TaskStatus> for TaskStatus {
    type Error = Invalid;

    fn try_from(status: pb::TaskStatus) -> Result<Self, Invalid> {
        let message = status.message.map(|it| it.try_into().map(Arc::new)).transpose();
        Ok(Self {
            state: state(status.state, "state")?,
            message: named(message, "message")?,
            timestamp: status.timestamp.map(|it| from_timestamp(it, "timestamp")).transpose()?,
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

impl From<&SendMessageResponse> for pb::SendMessageResponse {
    fn from(response: &SendMessageResponse) -> Self {
        use pb::send_message_response::Payload;
        let payload = match response {
            SendMessageResponse::Task(task) => Payload::Task((&**task).into()),
            SendMessageResponse::Message(message) => Payload::Message(message.into()),
        };
        Self { payload: Some(payload) }
    }
}

impl TryFrom<pb::SendMessageResponse> for SendMessageResponse {
    type Error = Invalid;

    fn try_from(response: pb::SendMessageResponse) -> Result<Self, Invalid> {
        use pb::send_message_response::Payload;
        match response.payload {
            Some(Payload::Task(it)) => named(it.try_into().map(Arc::new).map(Self::Task), "task"),
            Some(Payload::Message(it)) => named(it.try_into().map(Self::Message), "message"),
            None => Err(Invalid::new("", "needs one of task or message")),
        }
    }
}

impl From<&StreamResponse> for pb::StreamResponse {
    fn from(response: &StreamResponse) -> Self {
        use pb::stream_response::Payload;
        let payload = match response {
            StreamResponse::Task(it) => Payload::Task(it.into()),
            StreamResponse::Message(it) => Payload::Message(it.into()),
            StreamResponse::StatusUpdate(it) => Payload::StatusUpdate(it.into()),
            StreamResponse::ArtifactUpdate(it) => Payload::ArtifactUpdate(it.into()),
        };
        Self { payload: Some(payload) }
    }
}

impl TryFrom<pb::StreamResponse> for StreamResponse {
    type Error = Invalid;

    fn try_from(response: pb::StreamResponse) -> Result<Self, Invalid> {
        use pb::stream_response::Payload;
        match response.payload {
            Some(Payload::Task(it)) => named(it.try_into().map(Self::Task), "task"),
            Some(Payload::Message(it)) => named(it.try_into().map(Self::Message), "message"),
            Some(Payload::StatusUpdate(it)) => {
                named(it.try_into().map(Self::StatusUpdate), "statusUpdate")
            }
            Some(Payload::ArtifactUpdate(it)) => {
                named(it.try_into().map(Self::ArtifactUpdate), "artifactUpdate")
            }
            None => {
                let problem = "needs one of task, message, statusUpdate or artifactUpdate";
                Err(Invalid::new("", problem))
            }
        }
    }
}
