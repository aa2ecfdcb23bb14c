//! 0.1: `tasks/send`, sessions, numbered artifacts.
//!
//! The caller chooses the id of a task; the same id goes on with the task. Messages have no ids, so
//! the reader names them: a fresh name for a message that is sent, a name made from task and place
//! for one that is read back. What else 0.1 cannot carry:
//!
//! - ids, contexts, extensions and references of messages; ids and extensions of artifacts, whose
//!   place in the task is their number; contexts of events; ids of webhooks.
//! - a direct message: it becomes a finished task that says it.
//! - `rejected` and `auth-required`, which become `failed` and `input-required`.
//! - a task at the start of a stream: it becomes its artifacts and its status.
//! - accepted output modes, and a wish to be answered at once.
//! - a history that nobody asked for: it is left out unless a length is given.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::each::Each;
use super::event::Then;
use super::v0_3::json::{self, TypedPart};
use super::v0_3::push::Target;
use crate::error::{Error, ErrorKind};
use crate::json::write;
use crate::model::wire::is_off;
use crate::model::{
    self, ContextId, Metadata, SendMessageRequest, SendMessageResponse, TaskArtifactUpdateEvent,
    TaskId, TaskPushNotificationConfig, TaskState, TaskStatus, Timestamp,
};
use crate::service::{Reply, Request};

/// Writes the parameters of a request.
pub(super) fn write_request(out: &mut Vec<u8>, request: &Request) -> Result<(), Error> {
    match request {
        Request::SendMessage(it) | Request::SendStreamingMessage(it) => {
            write(out, &send_params(it)?)
        }
        Request::CreateTaskPushNotificationConfig(it) => write(out, &PushConfig::from(it)),
        // There is one webhook per task, and it has no name.
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
            let message = "A2A 0.1 does not have this operation";
            return Err(Error::new(ErrorKind::UnsupportedOperation, message));
        }
    }
    Ok(())
}

/// Writes the result of a call.
pub(super) fn write_reply(
    out: &mut Vec<u8>,
    request: &Request,
    reply: &Reply,
) -> Result<(), Error> {
    match reply {
        Reply::Sent(SendMessageResponse::Task(task)) | Reply::Task(task) => {
            write(out, &Task::from(&**task))
        }
        Reply::Sent(SendMessageResponse::Message(message)) => {
            write(out, &Task::from(&as_task(message, &request.into())?))
        }
        Reply::PushConfig(config) => write(out, &PushConfig::from(config)),
        Reply::Tasks(_) | Reply::PushConfigs(_) | Reply::Removed(_) | Reply::Card(_) => {
            json::write_reply(out, request, reply)?;
        }
        Reply::Stream(_) => return Err(Error::internal()),
    }
    Ok(())
}

/// The task that a direct message becomes: finished, under the ids that the caller chose.
pub(super) fn as_task(message: &model::Message, asked: &Asked) -> Result<model::Task, Error> {
    let id = asked.task_id.clone().or_else(|| message.task_id.clone());
    let id = match id {
        Some(id) => id,
        // A caller that chose no id does not look for the task again.
        None => TaskId::new(&message.message_id).map_err(|_| Error::internal())?,
    };
    let status = TaskStatus::from(TaskState::Completed).with_message(message.clone());
    Ok(model::Task {
        id,
        context_id: message.context_id.clone().or_else(|| asked.context_id.clone()),
        status,
        artifacts: Vec::new(),
        history: Vec::new(),
        metadata: Metadata::new(),
    })
}

/// The ids that a caller chose for what it began.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    task_id: Option<TaskId>,
    context_id: Option<ContextId>,
}

impl From<&Request> for Asked {
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

/// Writes a change of status.
pub(super) fn write_status(
    task: &TaskId,
    status: &TaskStatus,
    metadata: &Metadata,
    then: Then,
) -> Vec<u8> {
    let mut out = Vec::new();
    let status = Status::from(status);
    write(&mut out, &StatusUpdate { id: task, status, r#final: then == Then::Closes, metadata });
    out
}

/// Writes an artifact, or a piece of one, that stands at `place` in its task.
pub(super) fn write_artifact(update: &TaskArtifactUpdateEvent, place: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let artifact = Artifact {
        append: update.append,
        last_chunk: update.last_chunk,
        ..Artifact::at(place, &update.artifact)
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
    push_notification: Option<Target<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<u32>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

fn send_params(request: &SendMessageRequest) -> Result<SendParams<'_>, Error> {
    let message = &request.message;
    let Some(id) = &message.task_id else {
        let problem = "A2A 0.1 needs the caller to choose the task's id";
        return Err(Error::new(ErrorKind::InvalidParams, problem));
    };
    let configuration = request.configuration.as_ref();
    let push = configuration.and_then(|it| it.task_push_notification_config.as_deref());
    Ok(SendParams {
        id,
        session_id: message.context_id.as_ref(),
        message: Message::from(message),
        push_notification: push.map(|push| Target::from(push).nameless()),
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
    #[serde(skip_serializing_if = "Each::is_empty")]
    history: Each<'a, Arc<model::Message>, Message<'a>>,
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
            history: Each::of(&task.history),
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
            state: json::state(nearest(status.state)),
            message: status.message.as_deref().map(Message::from),
            timestamp: status.timestamp,
        }
    }
}

/// The state of 0.1 that is nearest to a state.
pub(super) fn nearest(state: TaskState) -> TaskState {
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
    parts: Each<'a, model::Part, TypedPart<'a>>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

impl<'a> From<&'a model::Message> for Message<'a> {
    fn from(message: &'a model::Message) -> Self {
        Self {
            role: json::role(message.role),
            parts: Each::of(&message.parts),
            metadata: &message.metadata,
        }
    }
}

/// Artifacts, each numbered by its place.
struct Artifacts<'a>(&'a [Arc<model::Artifact>]);

impl Artifacts<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Artifacts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let numbered = self.0.iter().enumerate();
        serializer.collect_seq(numbered.map(|(place, artifact)| Artifact::at(place, artifact)))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parts: Each<'a, model::Part, TypedPart<'a>>,
    index: usize,
    #[serde(skip_serializing_if = "is_off")]
    append: bool,
    #[serde(skip_serializing_if = "is_off")]
    last_chunk: bool,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

impl<'a> Artifact<'a> {
    fn at(place: usize, artifact: &'a model::Artifact) -> Self {
        Self {
            name: artifact.name.as_deref(),
            description: artifact.description.as_deref(),
            parts: Each::of(&artifact.parts),
            index: place,
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

/// A webhook, keyed by its task: there is one per task.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PushConfig<'a> {
    id: &'a str,
    push_notification_config: Target<'a>,
}

impl<'a> From<&'a TaskPushNotificationConfig> for PushConfig<'a> {
    fn from(config: &'a TaskPushNotificationConfig) -> Self {
        Self {
            id: config.task_id.as_ref().map_or("", TaskId::as_str),
            push_notification_config: Target::from(config).nameless(),
        }
    }
}

/// A history is part of an answer only when a length is asked for.
pub(super) fn hide_history(request: &mut Request) {
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
