//! 1.0: the shape of the model itself.
//!
//! Everything is carried. A value that is absent and one that is empty are the same wherever the
//! protobuf file says so, and times have milliseconds.

pub(crate) mod protobuf;

use std::sync::Arc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::card::{AgentCard, CardFormat};
use crate::error::Error;
use crate::json::{InvalidField, write};
use crate::model::{
    Artifact, ContextId, ListTasksResponse, Message, Metadata, Task, TaskId, TaskStatus,
};
use crate::operation::Operation;
use crate::service::{Reply, Request};

/// Reads the parameters of `operation`.
pub(super) fn read_request<'de, D: Deserializer<'de>>(
    operation: Operation,
    params: D,
) -> Result<Request, D::Error> {
    Ok(match operation {
        Operation::SendMessage => Request::SendMessage(Deserialize::deserialize(params)?),
        Operation::SendStreamingMessage => {
            Request::SendStreamingMessage(Deserialize::deserialize(params)?)
        }
        Operation::GetTask => Request::GetTask(Deserialize::deserialize(params)?),
        Operation::ListTasks => Request::ListTasks(Deserialize::deserialize(params)?),
        Operation::CancelTask => Request::CancelTask(Deserialize::deserialize(params)?),
        Operation::SubscribeToTask => Request::SubscribeToTask(Deserialize::deserialize(params)?),
        Operation::CreateTaskPushNotificationConfig => {
            Request::CreateTaskPushNotificationConfig(Deserialize::deserialize(params)?)
        }
        Operation::GetTaskPushNotificationConfig => {
            Request::GetTaskPushNotificationConfig(Deserialize::deserialize(params)?)
        }
        Operation::ListTaskPushNotificationConfigs => {
            Request::ListTaskPushNotificationConfigs(Deserialize::deserialize(params)?)
        }
        Operation::DeleteTaskPushNotificationConfig => {
            Request::DeleteTaskPushNotificationConfig(Deserialize::deserialize(params)?)
        }
        Operation::GetExtendedAgentCard => {
            Request::GetExtendedAgentCard(Deserialize::deserialize(params)?)
        }
        Operation::GetAgentCard => {
            IgnoredAny::deserialize(params)?;
            Request::GetAgentCard
        }
    })
}

/// Checks what only 1.0 demands: before, a webhook could be left unnamed.
pub(super) fn check(request: &Request) -> Result<(), InvalidField> {
    match request {
        Request::GetTaskPushNotificationConfig(it) if it.id.is_none() => {
            Err(InvalidField::missing("id"))
        }
        Request::DeleteTaskPushNotificationConfig(it) if it.id.is_none() => {
            Err(InvalidField::missing("id"))
        }
        // Nothing else is peculiar to 1.0.
        _ => Ok(()),
    }
}

/// Writes the parameters of a request.
pub(super) fn write_request(out: &mut Vec<u8>, request: &Request) {
    match request {
        Request::SendMessage(it) | Request::SendStreamingMessage(it) => write(out, it),
        Request::GetTask(it) => write(out, it),
        Request::ListTasks(it) => write(out, it),
        Request::CancelTask(it) => write(out, it),
        Request::SubscribeToTask(it) => write(out, it),
        Request::CreateTaskPushNotificationConfig(it) => write(out, it),
        Request::GetTaskPushNotificationConfig(it) => write(out, it),
        Request::ListTaskPushNotificationConfigs(it) => write(out, it),
        Request::DeleteTaskPushNotificationConfig(it) => write(out, it),
        Request::GetExtendedAgentCard(it) => write(out, it),
        Request::GetAgentCard => out.extend_from_slice(b"{}"),
    }
}

/// Writes the result of a call.
pub(super) fn write_reply(out: &mut Vec<u8>, request: &Request, reply: &Reply) {
    match reply {
        Reply::SendMessage(it) => write(out, it),
        Reply::Task(it) => write(out, it),
        Reply::TaskList(it) => match request {
            Request::ListTasks(params) if params.include_artifacts == Some(true) => {
                write(out, &TaskPageWithArtifacts::from(it));
            }
            _ => write(out, it),
        },
        Reply::PushConfig(it) => write(out, it),
        Reply::PushConfigList(it) => write(out, it),
        Reply::PushConfigsDeleted(_) => out.extend_from_slice(b"{}"),
        Reply::Card(it) => write(out, &it.to_json(CardFormat::V1_0)),
    }
}

/// Reads the reply to `operation`; to a streaming one, when the peer answers with a single object.
pub(super) fn read_reply<'de, D: Deserializer<'de>>(
    operation: Operation,
    result: D,
) -> Result<Result<Reply, InvalidField>, D::Error> {
    Ok(Ok(match operation {
        Operation::SendMessage | Operation::SendStreamingMessage | Operation::SubscribeToTask => {
            Reply::SendMessage(Deserialize::deserialize(result)?)
        }
        Operation::GetTask | Operation::CancelTask => {
            Reply::Task(Deserialize::deserialize(result)?)
        }
        Operation::ListTasks => Reply::TaskList(Deserialize::deserialize(result)?),
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            Reply::PushConfig(Deserialize::deserialize(result)?)
        }
        Operation::ListTaskPushNotificationConfigs => {
            Reply::PushConfigList(Deserialize::deserialize(result)?)
        }
        // Null, an empty object or nothing at all, depending on the peer.
        Operation::DeleteTaskPushNotificationConfig => {
            IgnoredAny::deserialize(result)?;
            Reply::PushConfigsDeleted(1)
        }
        Operation::GetExtendedAgentCard | Operation::GetAgentCard => {
            let card = AgentCard::from_json(&Value::deserialize(result)?);
            return Ok(card.map(|card| Reply::Card(Box::new(card))));
        }
    }))
}

/// A page of tasks for a caller who asked for artifacts: they are there even where there are none.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskPageWithArtifacts<'a> {
    tasks: Vec<TaskWithArtifacts<'a>>,
    next_page_token: &'a str,
    page_size: u32,
    total_size: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskWithArtifacts<'a> {
    id: &'a TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a ContextId>,
    status: &'a TaskStatus,
    artifacts: &'a [Arc<Artifact>],
    #[serde(skip_serializing_if = "super::list_as::empty")]
    history: &'a [Arc<Message>],
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

impl<'a> From<&'a ListTasksResponse> for TaskPageWithArtifacts<'a> {
    fn from(page: &'a ListTasksResponse) -> Self {
        let with_artifacts = |task: &'a Task| TaskWithArtifacts {
            id: &task.id,
            context_id: task.context_id.as_ref(),
            status: &task.status,
            artifacts: &task.artifacts,
            history: &task.history,
            metadata: &task.metadata,
        };
        Self {
            tasks: page.tasks.iter().map(with_artifacts).collect(),
            next_page_token: &page.next_page_token,
            page_size: page.page_size,
            total_size: page.total_size,
        }
    }
}
