//! Encoder for 0.1: `tasks/send`, sessions and numbered artifacts.
//!
//! The client chooses the id of a task, and sends further messages with the same id. Messages have
//! no ids, so the decoder assigns them: a generated id to a sent message, and an id derived from
//! task and position to a message in a reply. 0.1 cannot represent:
//!
//! - ids, contexts, extensions and references of messages; ids and extensions of artifacts, which
//!   are numbered by position instead; contexts of events; ids of webhooks.
//! - direct replies: they become completed tasks with the message as status message.
//! - `rejected` and `auth-required`: they become `failed` and `input-required`.
//! - tasks in a stream: they become artifact and status events.
//! - `returnImmediately` and accepted output modes.
//! - the history, unless the client requests a length.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::event::Finality;
use super::list_as::ListAs;
use super::v0_3::json::{self, TypedPart};
use super::v0_3::push::PushTarget;
use crate::error::{Error, ErrorKind};
use crate::json::write;
use crate::model::wire::is_false;
use crate::model::{
    self, ContextId, Metadata, SendMessageRequest, SendMessageResponse, TaskArtifactUpdateEvent,
    TaskId, TaskPushNotificationConfig, TaskState, TaskStatus, Timestamp,
};
use crate::service::{Reply, Request};

/// Encodes the parameters of a request.
pub(super) fn write_request(out: &mut Vec<u8>, request: &Request) -> Result<(), Error> {
    match request {
        Request::SendMessage(it) | Request::SendStreamingMessage(it) => {
            write(out, &send_params(it)?)
        }
        Request::CreateTaskPushNotificationConfig(it) => write(out, &PushConfig::from(it)),
        // A task has one webhook without an id.
        Request::GetTaskPushNotificationConfig(it) => {
            write(out, &serde_json::json!({ "id": it.task_id }));
        }
        Request::GetTask(_) | Request::CancelTask(_) | Request::SubscribeToTask(_) => {
            json::write_request(out, request);
        }
        Request::ListTasks(_)
        | Request::ListTaskPushNotificationConfigs(_)
        | Request::DeleteTaskPushNotificationConfig(_)
        | Request::GetExtendedAgentCard(_)
        | Request::GetAgentCard => {
            let message = "A2A 0.1 does not support this operation";
            return Err(Error::new(ErrorKind::UnsupportedOperation, message));
        }
    }
    Ok(())
}

/// Encodes the result of a call.
pub(super) fn write_reply(out: &mut Vec<u8>, request: &Request, reply: &Reply) {
    match reply {
        Reply::SendMessage(SendMessageResponse::Task(task)) | Reply::Task(task) => {
            write(out, &Task::from(&**task))
        }
        Reply::SendMessage(SendMessageResponse::Message(message)) => {
            write(out, &Task::from(&task_from_message(message, &request.into())))
        }
        Reply::PushConfig(config) => write(out, &PushConfig::from(config)),
        Reply::TaskList(_)
        | Reply::PushConfigList(_)
        | Reply::PushConfigsDeleted(_)
        | Reply::Card(_) => {
            json::write_reply(out, request, reply);
        }
    }
}

/// Converts a direct reply to a completed task with the ids that the client chose.
pub(super) fn task_from_message(message: &model::Message, requested: &RequestedIds) -> model::Task {
    let id = requested.task_id.clone().or_else(|| message.task_id.clone());
    let status = TaskStatus::from(TaskState::Completed).with_message(message.clone());
    model::Task {
        // A client that chose no id does not fetch the task later.
        id: id.unwrap_or_else(|| TaskId::from(&message.message_id)),
        context_id: message.context_id.clone().or_else(|| requested.context_id.clone()),
        status,
        artifacts: Vec::new(),
        history: Vec::new(),
        metadata: Metadata::new(),
    }
}

/// Ids that the client chose in its request.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestedIds {
    task_id: Option<TaskId>,
    context_id: Option<ContextId>,
}

impl From<&Request> for RequestedIds {
    fn from(request: &Request) -> Self {
        match request {
            Request::SendMessage(it) | Request::SendStreamingMessage(it) => Self {
                task_id: it.message.task_id.clone(),
                context_id: it.message.context_id.clone(),
            },
            Request::GetTask(_)
            | Request::ListTasks(_)
            | Request::CancelTask(_)
            | Request::SubscribeToTask(_)
            | Request::CreateTaskPushNotificationConfig(_)
            | Request::GetTaskPushNotificationConfig(_)
            | Request::ListTaskPushNotificationConfigs(_)
            | Request::DeleteTaskPushNotificationConfig(_)
            | Request::GetExtendedAgentCard(_)
            | Request::GetAgentCard => Self::default(),
        }
    }
}

/// Encodes a status event.
pub(super) fn write_status(
    task: &TaskId,
    status: &TaskStatus,
    metadata: &Metadata,
    finality: Finality,
) -> Vec<u8> {
    let mut out = Vec::new();
    let status = Status::from(status);
    write(
        &mut out,
        &StatusUpdate { id: task, status, r#final: finality == Finality::Last, metadata },
    );
    out
}

/// Encodes an artifact event. `index` is the position of the artifact in its task.
pub(super) fn write_artifact(update: &TaskArtifactUpdateEvent, index: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let artifact = Artifact {
        append: update.append,
        last_chunk: update.last_chunk,
        ..Artifact::new(index, &update.artifact)
    };
    write(&mut out, &ArtifactUpdate { id: &update.task_id, artifact, metadata: &update.metadata });
    out
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SendParams<'a> {
    id: &'a TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a ContextId>,
    message: Message<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification: Option<PushTarget<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<u32>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

fn send_params(request: &SendMessageRequest) -> Result<SendParams<'_>, Error> {
    let message = &request.message;
    let Some(id) = &message.task_id else {
        let problem = "A2A 0.1 requires the client to set the task id";
        return Err(Error::new(ErrorKind::InvalidParams, problem));
    };
    let configuration = request.configuration.as_ref();
    let push = configuration.and_then(|it| it.task_push_notification_config.as_deref());
    Ok(SendParams {
        id,
        session_id: message.context_id.as_ref(),
        message: Message::from(message),
        push_notification: push.map(|push| PushTarget::from(push).without_id()),
        history_length: configuration.and_then(|it| it.history_length),
        metadata: &request.metadata,
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Task<'a> {
    id: &'a TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a ContextId>,
    status: Status<'a>,
    #[serde(skip_serializing_if = "Artifacts::is_empty")]
    artifacts: Artifacts<'a>,
    #[serde(skip_serializing_if = "ListAs::is_empty")]
    history: ListAs<'a, Arc<model::Message>, Message<'a>>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

impl<'a> From<&'a model::Task> for Task<'a> {
    fn from(task: &'a model::Task) -> Self {
        Self {
            id: &task.id,
            session_id: task.context_id.as_ref(),
            status: Status::from(&task.status),
            artifacts: Artifacts(&task.artifacts),
            history: ListAs::new(&task.history),
            metadata: &task.metadata,
        }
    }
}

#[derive(Serialize)]
struct Status<'a> {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp>,
}

impl<'a> From<&'a TaskStatus> for Status<'a> {
    fn from(status: &'a TaskStatus) -> Self {
        Self {
            state: json::state_name(closest_state(status.state)),
            message: status.message.as_deref().map(Message::from),
            timestamp: status.timestamp,
        }
    }
}

/// Returns the state of 0.1 that is closest to `state`.
pub(super) fn closest_state(state: TaskState) -> TaskState {
    match state {
        TaskState::Rejected => TaskState::Failed,
        TaskState::AuthRequired => TaskState::InputRequired,
        TaskState::Unspecified
        | TaskState::Submitted
        | TaskState::Working
        | TaskState::Completed
        | TaskState::Failed
        | TaskState::Canceled
        | TaskState::InputRequired => state,
    }
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    parts: ListAs<'a, model::Part, TypedPart<'a>>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

impl<'a> From<&'a model::Message> for Message<'a> {
    fn from(message: &'a model::Message) -> Self {
        Self {
            role: json::role_name(message.role),
            parts: ListAs::new(&message.parts),
            metadata: &message.metadata,
        }
    }
}

/// Artifacts, numbered by position.
struct Artifacts<'a>(&'a [Arc<model::Artifact>]);

impl Artifacts<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Artifacts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let numbered = self.0.iter().enumerate();
        serializer.collect_seq(numbered.map(|(index, artifact)| Artifact::new(index, artifact)))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parts: ListAs<'a, model::Part, TypedPart<'a>>,
    index: usize,
    #[serde(skip_serializing_if = "is_false")]
    append: bool,
    #[serde(skip_serializing_if = "is_false")]
    last_chunk: bool,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

impl<'a> Artifact<'a> {
    fn new(index: usize, artifact: &'a model::Artifact) -> Self {
        Self {
            name: artifact.name.as_deref(),
            description: artifact.description.as_deref(),
            parts: ListAs::new(&artifact.parts),
            index,
            append: false,
            last_chunk: false,
            metadata: &artifact.metadata,
        }
    }
}

#[derive(Serialize)]
struct StatusUpdate<'a> {
    id: &'a TaskId,
    status: Status<'a>,
    r#final: bool,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

#[derive(Serialize)]
struct ArtifactUpdate<'a> {
    id: &'a TaskId,
    artifact: Artifact<'a>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

/// Webhook with the id of its task, of which there is one per task.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PushConfig<'a> {
    id: &'a str,
    push_notification_config: PushTarget<'a>,
}

impl<'a> From<&'a TaskPushNotificationConfig> for PushConfig<'a> {
    fn from(config: &'a TaskPushNotificationConfig) -> Self {
        Self {
            id: config.task_id.as_ref().map_or("", TaskId::as_str),
            push_notification_config: PushTarget::from(config).without_id(),
        }
    }
}

/// Omits the history unless the client requested a length.
pub(super) fn default_history_length_to_zero(request: &mut Request) {
    match request {
        Request::SendMessage(it) | Request::SendStreamingMessage(it) => {
            it.configuration.get_or_insert_default().history_length.get_or_insert(0);
        }
        Request::GetTask(it) => {
            it.history_length.get_or_insert(0);
        }
        Request::ListTasks(_)
        | Request::CancelTask(_)
        | Request::SubscribeToTask(_)
        | Request::CreateTaskPushNotificationConfig(_)
        | Request::GetTaskPushNotificationConfig(_)
        | Request::ListTaskPushNotificationConfigs(_)
        | Request::DeleteTaskPushNotificationConfig(_)
        | Request::GetExtendedAgentCard(_)
        | Request::GetAgentCard => {}
    }
}
