//! Codec for 1.0, whose format is the serde representation of the model.
//!
//! Lossless, except that timestamps have millisecond precision, and that absent and empty values
//! are equal where the protobuf file defines them to be.

pub(crate) mod protobuf;

use std::sync::Arc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::card::{AgentCard, CardFormat};
use crate::json::{InvalidField, write};
use crate::model::{
    Artifact, ContextId, ListTasksResponse, Message, Metadata, Task, TaskId, TaskStatus,
};
use crate::operation::Operation;
use crate::service::{Reply, Request};

/// Decodes the parameters of `operation`.
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

/// Checks rules that apply only to 1.0: webhook ids are required.
pub(super) fn check(request: &Request) -> Result<(), InvalidField> {
    match request {
        Request::GetTaskPushNotificationConfig(it) if it.id.is_none() => {
            Err(InvalidField::missing("id"))
        }
        Request::DeleteTaskPushNotificationConfig(it) if it.id.is_none() => {
            Err(InvalidField::missing("id"))
        }
        // No other request has rules of its own.
        _ => Ok(()),
    }
}

/// Encodes the parameters of a request.
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

/// Encodes the result of a call.
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

/// Decodes the reply to `operation`, including a single object as the reply to a streaming
/// operation.
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
        // Peers return `null`, an empty object or nothing.
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

/// Page of tasks whose `artifacts` members are present even if empty, because the client requested
/// artifacts.
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
