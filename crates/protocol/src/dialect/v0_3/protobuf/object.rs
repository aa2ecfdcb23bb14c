//! Parts, messages, and where tasks and events differ from those of 1.0.

use std::sync::Arc;

use bytes::Bytes;
use latimer_pb::v0_3 as pb;
use pb::file_part::File;
use serde_json::{Map, Value};

use crate::dialect::Then;
use crate::dialect::field::{each, id, named, optional, optional_id, required, state, text};
use crate::dialect::older::{WRAPPED_MARK, WRAPPED_VALUE, decoded_twice, unwrap_value};
use crate::dialect::wellknown::{
    from_struct, from_timestamp, to_full_struct, to_struct, to_timestamp, to_value,
};
use crate::json::Invalid;
use crate::model::wire::to_base64;
use crate::model::{Content, Message, Part, Role, SendMessageResponse, StreamResponse, TaskStatus};

impl From<&Part> for pb::Part {
    fn from(part: &Part) -> Self {
        let mut metadata = to_struct(&part.metadata);
        let content = match &part.content {
            Content::Text(text) => pb::part::Part::Text(text.clone()),
            // The bytes field holds base64 text: that is what most peers put there.
            Content::Raw(bytes) => file(part, File::FileWithBytes(Bytes::from(to_base64(bytes)))),
            Content::Url(url) => file(part, File::FileWithUri(url.clone())),
            Content::Data(value) => match &**value {
                Value::Object(members) => data(members),
                value => {
                    let mark = to_value(&Value::Bool(true));
                    let marked = metadata.get_or_insert_default();
                    marked.fields.insert(WRAPPED_MARK.to_owned(), mark);
                    data(&Map::from_iter([(WRAPPED_VALUE.to_owned(), value.clone())]))
                }
            },
        };
        Self { part: Some(content), metadata }
    }
}

fn file(part: &Part, file: File) -> pb::part::Part {
    pb::part::Part::File(pb::FilePart {
        mime_type: text(part.media_type.as_deref()),
        name: text(part.filename.as_deref()),
        file: Some(file),
    })
}

fn data(members: &Map<String, Value>) -> pb::part::Part {
    pb::part::Part::Data(pb::DataPart { data: Some(to_full_struct(members)) })
}

impl TryFrom<pb::Part> for Part {
    type Error = Invalid;

    fn try_from(part: pb::Part) -> Result<Self, Invalid> {
        let (mut filename, mut media_type) = (None, None);
        let content = match part.part {
            Some(pb::part::Part::Text(text)) => Content::Text(text),
            Some(pb::part::Part::File(file)) => {
                (filename, media_type) = (optional(file.name), optional(file.mime_type));
                match required(file.file, "file")? {
                    File::FileWithUri(uri) => Content::Url(uri),
                    File::FileWithBytes(bytes) => Content::Raw(decoded_twice(bytes)),
                }
            }
            Some(pb::part::Part::Data(data)) => {
                let members = from_struct(data.data, "data.data")?;
                Content::Data(Box::new(Value::Object(members.into())))
            }
            None => return Err(Invalid::new("", "needs one of text, file or data")),
        };
        let metadata = from_struct(part.metadata, "metadata")?;
        let mut part = Self { content, metadata, filename, media_type };
        unwrap_value(&mut part);
        Ok(part)
    }
}

impl From<&Message> for pb::Message {
    fn from(message: &Message) -> Self {
        Self {
            message_id: message.message_id.to_string(),
            context_id: text(message.context_id.as_ref().map(AsRef::as_ref)),
            task_id: text(message.task_id.as_ref().map(AsRef::as_ref)),
            role: message.role.number(),
            content: message.parts.iter().map(Into::into).collect(),
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
            parts: each(message.content, "content")?,
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
            update: status.message.as_deref().map(Into::into),
            timestamp: status.timestamp.map(to_timestamp),
        }
    }
}

impl TryFrom<pb::TaskStatus> for TaskStatus {
    type Error = Invalid;

    fn try_from(status: pb::TaskStatus) -> Result<Self, Invalid> {
        let message = status.update.map(|it| it.try_into().map(Arc::new)).transpose();
        Ok(Self {
            state: state(status.state, "state")?,
            message: named(message, "message")?,
            timestamp: status.timestamp.map(|it| from_timestamp(it, "timestamp")).transpose()?,
        })
    }
}

/// One event of a stream.
#[must_use]
pub fn stream_response(event: &StreamResponse, then: Then) -> pb::StreamResponse {
    use pb::stream_response::Payload;
    let payload = match event {
        StreamResponse::Task(it) => Payload::Task(it.into()),
        StreamResponse::Message(it) => Payload::Msg(it.into()),
        StreamResponse::StatusUpdate(it) => Payload::StatusUpdate(pb::TaskStatusUpdateEvent {
            task_id: it.task_id.to_string(),
            context_id: text(it.context_id.as_ref().map(AsRef::as_ref)),
            status: Some((&it.status).into()),
            r#final: then == Then::Closes,
            metadata: to_struct(&it.metadata),
        }),
        StreamResponse::ArtifactUpdate(it) => Payload::ArtifactUpdate(it.into()),
    };
    pb::StreamResponse { payload: Some(payload) }
}

impl TryFrom<pb::StreamResponse> for StreamResponse {
    type Error = Invalid;

    fn try_from(response: pb::StreamResponse) -> Result<Self, Invalid> {
        use pb::stream_response::Payload;
        match response.payload {
            Some(Payload::Task(it)) => named(it.try_into().map(Self::Task), "task"),
            Some(Payload::Msg(it)) => named(it.try_into().map(Self::Message), "message"),
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

impl From<&SendMessageResponse> for pb::SendMessageResponse {
    fn from(response: &SendMessageResponse) -> Self {
        use pb::send_message_response::Payload;
        let payload = match response {
            SendMessageResponse::Task(task) => Payload::Task((&**task).into()),
            SendMessageResponse::Message(message) => Payload::Msg(message.into()),
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
            Some(Payload::Msg(it)) => named(it.try_into().map(Self::Message), "message"),
            None => Err(Invalid::new("", "needs one of task or message")),
        }
    }
}
