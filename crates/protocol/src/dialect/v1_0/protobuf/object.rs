//! Parts and messages, and the members of tasks and events that differ from 0.3.

use std::sync::Arc;

use latimer_pb::v1 as pb;

use crate::dialect::field::{
    convert_all, in_field, optional_id, optional_text, parse_state, required_id, text_or_empty,
};
use crate::dialect::wellknown::{
    from_struct, from_timestamp, from_value, to_struct, to_timestamp, to_value,
};
use crate::json::InvalidField;
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
            filename: text_or_empty(part.filename.as_deref()),
            media_type: text_or_empty(part.media_type.as_deref()),
        }
    }
}

impl TryFrom<pb::Part> for Part {
    type Error = InvalidField;

    fn try_from(part: pb::Part) -> Result<Self, InvalidField> {
        let content = match part.content {
            Some(pb::part::Content::Text(text)) => Content::Text(text),
            Some(pb::part::Content::Raw(bytes)) => Content::Raw(bytes),
            Some(pb::part::Content::Url(url)) => Content::Url(url),
            Some(pb::part::Content::Data(value)) => {
                Content::Data(Box::new(from_value(value, "data")?))
            }
            None => return Err(InvalidField::new("", "needs one of text, raw, url or data")),
        };
        Ok(Self {
            content,
            metadata: from_struct(part.metadata, "metadata")?,
            filename: optional_text(part.filename),
            media_type: optional_text(part.media_type),
        })
    }
}

impl From<&Message> for pb::Message {
    fn from(message: &Message) -> Self {
        Self {
            message_id: message.message_id.to_string(),
            context_id: text_or_empty(message.context_id.as_ref().map(AsRef::as_ref)),
            task_id: text_or_empty(message.task_id.as_ref().map(AsRef::as_ref)),
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
    type Error = InvalidField;

    fn try_from(message: pb::Message) -> Result<Self, InvalidField> {
        let references = message.reference_task_ids.iter().enumerate();
        let references =
            references.map(|(index, it)| required_id(it, &format!("referenceTaskIds[{index}]")));
        Ok(Self {
            message_id: required_id(&message.message_id, "messageId")?,
            context_id: optional_id(&message.context_id, "contextId")?,
            task_id: optional_id(&message.task_id, "taskId")?,
            role: Role::from_number(message.role.into())
                .ok_or_else(|| InvalidField::new("role", "is not the number of a role"))?,
            parts: convert_all(message.parts, "parts")?,
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
    type Error = InvalidField;

    fn try_from(status: pb::TaskStatus) -> Result<Self, InvalidField> {
        let message = status.message.map(|it| it.try_into().map(Arc::new)).transpose();
        Ok(Self {
            state: parse_state(status.state, "state")?,
            message: in_field(message, "message")?,
            timestamp: status.timestamp.map(|it| from_timestamp(it, "timestamp")).transpose()?,
        })
    }
}

impl From<&TaskStatusUpdateEvent> for pb::TaskStatusUpdateEvent {
    fn from(update: &TaskStatusUpdateEvent) -> Self {
        Self {
            task_id: update.task_id.to_string(),
            context_id: text_or_empty(update.context_id.as_ref().map(AsRef::as_ref)),
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
    type Error = InvalidField;

    fn try_from(response: pb::SendMessageResponse) -> Result<Self, InvalidField> {
        use pb::send_message_response::Payload;
        match response.payload {
            Some(Payload::Task(it)) => {
                in_field(it.try_into().map(Arc::new).map(Self::Task), "task")
            }
            Some(Payload::Message(it)) => in_field(it.try_into().map(Self::Message), "message"),
            None => Err(InvalidField::new("", "needs one of task or message")),
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
    type Error = InvalidField;

    fn try_from(response: pb::StreamResponse) -> Result<Self, InvalidField> {
        use pb::stream_response::Payload;
        match response.payload {
            Some(Payload::Task(it)) => in_field(it.try_into().map(Self::Task), "task"),
            Some(Payload::Message(it)) => in_field(it.try_into().map(Self::Message), "message"),
            Some(Payload::StatusUpdate(it)) => {
                in_field(it.try_into().map(Self::StatusUpdate), "statusUpdate")
            }
            Some(Payload::ArtifactUpdate(it)) => {
                in_field(it.try_into().map(Self::ArtifactUpdate), "artifactUpdate")
            }
            None => {
                let problem = "needs one of task, message, statusUpdate or artifactUpdate";
                Err(InvalidField::new("", problem))
            }
        }
    }
}
