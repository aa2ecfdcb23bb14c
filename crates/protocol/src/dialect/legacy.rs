//! Encoder for the legacy REST API without versions: bare tasks whose status is a string.
//!
//! A task is `{id, sessionId, status, messages, artifacts}`, and a response is the task itself. The
//! API cannot represent:
//!
//! - ids, metadata and extensions of messages and artifacts; metadata of parts and tasks.
//! - the timestamp of a status; the status message is appended to the messages.
//! - `rejected` and `auth-required`: they become `failed` and `inputRequired`.
//! - parts with a URL: they become text.
//! - direct replies: they become completed tasks with the message as status message.
//! - streams, lists and webhooks.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::TRANSITION_HISTORY;
use super::list_as::ListAs;
use super::{v0_1, v0_3::json};
use crate::card::CardFormat;
use crate::error::{Error, ErrorKind, HttpError};
use crate::json::write;
use crate::model::wire::to_base64;
use crate::model::{self, Content, ContextId, Role, SendMessageResponse, TaskId, TaskState};
use crate::service::{Reply, Request};
use crate::version::Version;

/// Encodes the body of a request; the id of a task is part of the URL.
pub(super) fn write_request(out: &mut Vec<u8>, request: &Request) -> Result<(), Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        message: Message<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        session_id: Option<&'a ContextId>,
    }

    match request {
        Request::SendMessage(it) => {
            let session_id = it.message.context_id.as_ref();
            write(out, &Params { message: Message::from(&it.message), session_id });
        }
        Request::GetTask(_) | Request::CancelTask(_) => write(out, &serde_json::json!({})),
        Request::SendStreamingMessage(_)
        | Request::ListTasks(_)
        | Request::SubscribeToTask(_)
        | Request::CreateTaskPushNotificationConfig(_)
        | Request::GetTaskPushNotificationConfig(_)
        | Request::ListTaskPushNotificationConfigs(_)
        | Request::DeleteTaskPushNotificationConfig(_)
        | Request::GetExtendedAgentCard(_)
        | Request::GetAgentCard => {
            let message = "the legacy REST API does not support this operation";
            return Err(Error::new(ErrorKind::UnsupportedOperation, message));
        }
    }
    Ok(())
}

/// Encodes the body of a reply.
pub(super) fn write_reply(out: &mut Vec<u8>, request: &Request, reply: &Reply) {
    match reply {
        Reply::SendMessage(SendMessageResponse::Task(task)) | Reply::Task(task) => {
            write(out, &Task::from(&**task))
        }
        Reply::SendMessage(SendMessageResponse::Message(message)) => {
            write(out, &Task::from(&v0_1::task_from_message(message, &request.into())))
        }
        Reply::Card(card) => write(out, &card.to_json(CardFormat::V0_1(TRANSITION_HISTORY))),
        Reply::TaskList(_)
        | Reply::PushConfig(_)
        | Reply::PushConfigList(_)
        | Reply::PushConfigsDeleted(_) => {
            json::write_reply(out, request, reply);
        }
    }
}

/// Encodes an error as a status code and an object with the message.
pub(super) fn write_error(error: &Error) -> HttpError {
    let HttpError { status, .. } = error.to_http(Version::V0_3);
    HttpError { status, body: serde_json::json!({ "error": error.message() }) }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Task<'a> {
    id: &'a TaskId,
    session_id: Option<&'a ContextId>,
    status: &'static str,
    messages: Vec<Message<'a>>,
    artifacts: ListAs<'a, Arc<model::Artifact>, Artifact<'a>>,
}

impl<'a> From<&'a model::Task> for Task<'a> {
    fn from(task: &'a model::Task) -> Self {
        let source_messages = task.history.iter().chain(&task.status.message);
        let mut messages: Vec<_> = source_messages.map(|it| Message::from(&**it)).collect();
        let has_agent_reply =
            messages.last().is_some_and(|it| it.role == json::role_name(Role::Agent));
        if task.status.state == TaskState::Completed && !has_agent_reply {
            // Clients of this API expect the output among the messages.
            let outputs = task.artifacts.iter().filter(|it| !it.parts.is_empty());
            messages.extend(outputs.map(|it| Message::from(&**it)));
        }
        Self {
            id: &task.id,
            session_id: task.context_id.as_ref(),
            status: state(task.status.state),
            messages,
            artifacts: ListAs::new(&task.artifacts),
        }
    }
}

fn state(state: TaskState) -> &'static str {
    match v0_1::closest_state(state) {
        TaskState::Canceled => "cancelled",
        TaskState::InputRequired => "inputRequired",
        TaskState::Unspecified => "submitted",
        other => json::state_name(other),
    }
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    parts: ListAs<'a, model::Part, Part<'a>>,
}

impl<'a> From<&'a model::Artifact> for Message<'a> {
    fn from(artifact: &'a model::Artifact) -> Self {
        Self { role: json::role_name(Role::Agent), parts: ListAs::new(&artifact.parts) }
    }
}

impl<'a> From<&'a model::Message> for Message<'a> {
    fn from(message: &'a model::Message) -> Self {
        Self { role: json::role_name(message.role), parts: ListAs::new(&message.parts) }
    }
}

#[derive(Serialize)]
struct Artifact<'a> {
    name: &'a str,
    parts: ListAs<'a, model::Part, Part<'a>>,
}

impl<'a> From<&'a model::Artifact> for Artifact<'a> {
    fn from(artifact: &'a model::Artifact) -> Self {
        let name = artifact.name.as_deref().unwrap_or(artifact.artifact_id.as_str());
        Self { name, parts: ListAs::new(&artifact.parts) }
    }
}

/// Parts without nesting. All members are required.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Part<'a> {
    Text { text: &'a str },
    File { name: &'a str, mime_type: &'a str, data: String },
    Data { mime_type: &'a str, data: &'a Value },
}

impl<'a> From<&'a model::Part> for Part<'a> {
    fn from(part: &'a model::Part) -> Self {
        let media_type = |default| part.media_type.as_deref().unwrap_or(default);
        match &part.content {
            Content::Text(text) | Content::Url(text) => Self::Text { text },
            Content::Raw(bytes) => Self::File {
                name: part.filename.as_deref().unwrap_or("file"),
                mime_type: media_type("application/octet-stream"),
                data: to_base64(bytes),
            },
            Content::Data(data) => Self::Data { mime_type: media_type("application/json"), data },
        }
    }
}
