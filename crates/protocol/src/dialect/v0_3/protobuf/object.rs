//! Parts and messages, and the members of tasks and events that differ from 1.0.

use std::sync::Arc;

use bytes::Bytes;
use latimer_pb::v0_3 as pb;
use pb::file_part::File;
use serde_json::{Map, Value};

use crate::dialect::Finality;
use crate::dialect::field::{
    convert_all, in_field, optional_id, optional_text, parse_state, required, required_id,
    text_or_empty,
};
use crate::dialect::pre_v1::{WRAPPED_FLAG_KEY, WRAPPED_VALUE_KEY, decode_if_base64, unwrap_value};
use crate::dialect::wellknown::{
    from_struct, from_timestamp, to_full_struct, to_struct, to_timestamp, to_value,
};
use crate::json::InvalidField;
use crate::model::wire::to_base64;
use crate::model::{Content, Message, Part, Role, SendMessageResponse, StreamResponse, TaskStatus};

impl From<&Part> for pb::Part {
    fn from(part: &Part) -> Self {
        let mut metadata = to_struct(&part.metadata);
        let content = match &part.content {
            Content::Text(text) => pb::part::Part::Text(text.clone()),
            // Most peers store base64 text in the bytes field.
            Content::Raw(bytes) => {
                file_part(part, File::FileWithBytes(Bytes::from(to_base64(bytes))))
            }
            Content::Url(url) => file_part(part, File::FileWithUri(url.clone())),
            Content::Data(value) => match &**value {
                Value::Object(members) => data_part(members),
                value => {
                    let flag = to_value(&Value::Bool(true));
                    let flagged = metadata.get_or_insert_default();
                    flagged.fields.insert(WRAPPED_FLAG_KEY.to_owned(), flag);
                    data_part(&Map::from_iter([(WRAPPED_VALUE_KEY.to_owned(), value.clone())]))
                }
            },
        };
        Self { part: Some(content), metadata }
    }
}

fn file_part(part: &Part, file: File) -> pb::part::Part {
    pb::part::Part::File(pb::FilePart {
        mime_type: text_or_empty(part.media_type.as_deref()),
        name: text_or_empty(part.filename.as_deref()),
        file: Some(file),
    })
}

fn data_part(members: &Map<String, Value>) -> pb::part::Part {
    pb::part::Part::Data(pb::DataPart { data: Some(to_full_struct(members)) })
}

impl TryFrom<pb::Part> for Part {
    type Error = InvalidField;

    fn try_from(part: pb::Part) -> Result<Self, InvalidField> {
        let (mut filename, mut media_type) = (None, None);
        let content = match part.part {
            Some(pb::part::Part::Text(text)) => Content::Text(text),
            Some(pb::part::Part::File(file)) => {
                (filename, media_type) = (optional_text(file.name), optional_text(file.mime_type));
                match required(file.file, "file")? {
                    File::FileWithUri(uri) => Content::Url(uri),
                    File::FileWithBytes(bytes) => Content::Raw(decode_if_base64(bytes)),
                }
            }
            Some(pb::part::Part::Data(data)) => {
                let members = from_struct(data.data, "data.data")?;
                Content::Data(Box::new(Value::Object(members.into())))
            }
            None => return Err(InvalidField::new("", "needs one of text, file or data")),
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
            context_id: text_or_empty(message.context_id.as_ref().map(AsRef::as_ref)),
            task_id: text_or_empty(message.task_id.as_ref().map(AsRef::as_ref)),
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
            parts: convert_all(message.content, "content")?,
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
    type Error = InvalidField;

    fn try_from(status: pb::TaskStatus) -> Result<Self, InvalidField> {
        let message = status.update.map(|it| it.try_into().map(Arc::new)).transpose();
        Ok(Self {
            state: parse_state(status.state, "state")?,
            message: in_field(message, "message")?,
            timestamp: status.timestamp.map(|it| from_timestamp(it, "timestamp")).transpose()?,
        })
    }
}

/// Converts one event of a stream.
#[must_use]
pub fn stream_response(event: &StreamResponse, finality: Finality) -> pb::StreamResponse {
    use pb::stream_response::Payload;
    let payload = match event {
        StreamResponse::Task(it) => Payload::Task(it.into()),
        StreamResponse::Message(it) => Payload::Msg(it.into()),
        StreamResponse::StatusUpdate(it) => Payload::StatusUpdate(pb::TaskStatusUpdateEvent {
            task_id: it.task_id.to_string(),
            context_id: text_or_empty(it.context_id.as_ref().map(AsRef::as_ref)),
            status: Some((&it.status).into()),
            r#final: finality == Finality::Last,
            metadata: to_struct(&it.metadata),
        }),
        StreamResponse::ArtifactUpdate(it) => Payload::ArtifactUpdate(it.into()),
    };
    pb::StreamResponse { payload: Some(payload) }
}

impl TryFrom<pb::StreamResponse> for StreamResponse {
    type Error = InvalidField;

    fn try_from(response: pb::StreamResponse) -> Result<Self, InvalidField> {
        use pb::stream_response::Payload;
        match response.payload {
            Some(Payload::Task(it)) => in_field(it.try_into().map(Self::Task), "task"),
            Some(Payload::Msg(it)) => in_field(it.try_into().map(Self::Message), "message"),
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
    type Error = InvalidField;

    fn try_from(response: pb::SendMessageResponse) -> Result<Self, InvalidField> {
        use pb::send_message_response::Payload;
        match response.payload {
            Some(Payload::Task(it)) => {
                in_field(it.try_into().map(Arc::new).map(Self::Task), "task")
            }
            Some(Payload::Msg(it)) => in_field(it.try_into().map(Self::Message), "message"),
            None => Err(InvalidField::new("", "needs one of task or message")),
        }
    }
}
