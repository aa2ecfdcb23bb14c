//! 1.0: the shape of the model itself.
//!
//! Everything is carried, but for the media type `null` of nothing: a value that is absent and one
//! that is empty are the same wherever the protobuf file says so. Times have milliseconds.

pub(crate) mod protobuf;

use serde::Serialize;

use super::source::Source;
use crate::card::{AgentCard, Form};
use crate::error::Error;
use crate::json::{self, Invalid, Unreadable, to_vec};
use crate::model::{
    Artifact, ContextId, GetTaskPushNotificationConfigRequest, ListTasksResponse, Message,
    Metadata, StreamResponse, Task, TaskId, TaskStatus,
};
use crate::operation::Operation;
use crate::service::{Reply, Request};

/// Reads the parameters of `operation`.
pub(super) fn read_request(operation: Operation, source: Source<'_>) -> Result<Request, Error> {
    Ok(match operation {
        Operation::SendMessage => Request::SendMessage(source.read()?),
        Operation::SendStreamingMessage => Request::SendStreamingMessage(source.read()?),
        Operation::GetTask => Request::GetTask(source.read()?),
        Operation::ListTasks => Request::ListTasks(source.read()?),
        Operation::CancelTask => Request::CancelTask(source.read()?),
        Operation::SubscribeToTask => Request::SubscribeToTask(source.read()?),
        Operation::CreateTaskPushNotificationConfig => {
            Request::CreateTaskPushNotificationConfig(source.read()?)
        }
        Operation::GetTaskPushNotificationConfig => {
            let request: GetTaskPushNotificationConfigRequest = source.read()?;
            if request.id.is_none() {
                return Err(Invalid::missing("id").into());
            }
            Request::GetTaskPushNotificationConfig(request)
        }
        Operation::ListTaskPushNotificationConfigs => {
            Request::ListTaskPushNotificationConfigs(source.read()?)
        }
        Operation::DeleteTaskPushNotificationConfig => {
            let request = source.read()?;
            if matches!(
                &request,
                crate::model::DeleteTaskPushNotificationConfigRequest { id: None, .. }
            ) {
                return Err(Invalid::missing("id").into());
            }
            Request::DeleteTaskPushNotificationConfig(request)
        }
        Operation::GetExtendedAgentCard => Request::GetExtendedAgentCard(source.read()?),
        Operation::GetAgentCard => Request::GetAgentCard,
    })
}

/// Writes the parameters of a request.
pub(super) fn write_request(request: &Request) -> Vec<u8> {
    match request {
        Request::SendMessage(it) | Request::SendStreamingMessage(it) => to_vec(it),
        Request::GetTask(it) => to_vec(it),
        Request::ListTasks(it) => to_vec(it),
        Request::CancelTask(it) => to_vec(it),
        Request::SubscribeToTask(it) => to_vec(it),
        Request::CreateTaskPushNotificationConfig(it) => to_vec(it),
        Request::GetTaskPushNotificationConfig(it) => to_vec(it),
        Request::ListTaskPushNotificationConfigs(it) => to_vec(it),
        Request::DeleteTaskPushNotificationConfig(it) => to_vec(it),
        Request::GetExtendedAgentCard(it) => to_vec(it),
        Request::GetAgentCard => b"{}".to_vec(),
    }
}

/// Writes the result of a call.
pub(super) fn write_reply(request: &Request, reply: &Reply) -> Result<Vec<u8>, Error> {
    Ok(match reply {
        Reply::Sent(it) => to_vec(it),
        Reply::Task(it) => to_vec(it),
        Reply::Tasks(it) => match request {
            Request::ListTasks(asked) if asked.include_artifacts == Some(true) => {
                to_vec(&WithArtifacts::from(it))
            }
            _ => to_vec(it),
        },
        Reply::PushConfig(it) => to_vec(it),
        Reply::PushConfigs(it) => to_vec(it),
        Reply::Removed(_) => b"{}".to_vec(),
        Reply::Card(it) => to_vec(&it.to_json(Form::V1_0)),
        Reply::Stream(_) => return Err(Error::internal()),
    })
}

/// Reads the reply to `operation`, which is none of the streaming ones.
pub(super) fn read_reply(operation: Operation, text: &[u8]) -> Result<Reply, Unreadable> {
    Ok(match operation {
        Operation::SendMessage | Operation::SendStreamingMessage | Operation::SubscribeToTask => {
            Reply::Sent(json::from_slice(text)?)
        }
        Operation::GetTask | Operation::CancelTask => Reply::Task(json::from_slice(text)?),
        Operation::ListTasks => Reply::Tasks(json::from_slice(text)?),
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            Reply::PushConfig(json::from_slice(text)?)
        }
        Operation::ListTaskPushNotificationConfigs => Reply::PushConfigs(json::from_slice(text)?),
        // Null, an empty object or nothing at all, depending on the peer.
        Operation::DeleteTaskPushNotificationConfig => Reply::Removed(1),
        Operation::GetExtendedAgentCard | Operation::GetAgentCard => {
            Reply::Card(Box::new(AgentCard::read(text)?))
        }
    })
}

/// Writes one event of a stream.
pub(super) fn write_event(event: &StreamResponse) -> Vec<u8> {
    to_vec(event)
}

/// Reads one event of a stream.
pub(super) fn read_event(text: &[u8]) -> Result<StreamResponse, Unreadable> {
    json::from_slice(text)
}

/// A page of tasks for a caller who asked for artifacts: they are there even where there are none.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WithArtifacts<'a> {
    tasks: Vec<WholeTask<'a>>,
    next_page_token: &'a str,
    page_size: u32,
    total_size: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WholeTask<'a> {
    id: &'a TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a ContextId>,
    status: &'a TaskStatus,
    artifacts: &'a [Artifact],
    #[serde(skip_serializing_if = "super::each::empty")]
    history: &'a [Message],
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

impl<'a> From<&'a ListTasksResponse> for WithArtifacts<'a> {
    fn from(page: &'a ListTasksResponse) -> Self {
        let whole = |task: &'a Task| WholeTask {
            id: &task.id,
            context_id: task.context_id.as_ref(),
            status: &task.status,
            artifacts: &task.artifacts,
            history: &task.history,
            metadata: &task.metadata,
        };
        Self {
            tasks: page.tasks.iter().map(whole).collect(),
            next_page_token: &page.next_page_token,
            page_size: page.page_size,
            total_size: page.total_size,
        }
    }
}
