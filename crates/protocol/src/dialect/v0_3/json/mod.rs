//! 0.3 as its JSON schema has it, over JSON-RPC. 0.2.x reads and writes the same.

mod object;
mod part;

use serde::Serialize;

pub(in crate::dialect) use object::{Event, Message, Task, role, state};
pub(in crate::dialect) use part::{Data, TypedPart};

use super::push::Target;
use crate::card::{Form, TransitionHistory};
use crate::dialect::each::Each;
use crate::error::Error;
use crate::json::to_vec;
use crate::model::{
    self, ListTasksRequest, ListTasksResponse, Metadata, PushConfigId, SendMessageConfiguration,
    SendMessageRequest, SendMessageResponse, TaskId, TaskPushNotificationConfig,
};
use crate::service::{Reply, Request};

/// Writes the parameters of a request.
pub(in crate::dialect) fn write_request(request: &Request) -> Vec<u8> {
    match request {
        Request::SendMessage(it) | Request::SendStreamingMessage(it) => {
            to_vec(&SendParams::from(it))
        }
        Request::GetTask(it) => {
            let history_length = it.history_length;
            to_vec(&TaskParams { history_length, ..TaskParams::of(&it.id) })
        }
        Request::ListTasks(it) => to_vec(&ListTasksRequest { tenant: None, ..it.clone() }),
        Request::CancelTask(it) => {
            to_vec(&TaskParams { metadata: Some(&it.metadata), ..TaskParams::of(&it.id) })
        }
        Request::SubscribeToTask(it) => to_vec(&TaskParams::of(&it.id)),
        Request::CreateTaskPushNotificationConfig(it) => to_vec(&PushConfig::from(it)),
        Request::GetTaskPushNotificationConfig(it) => {
            let push_notification_config_id = it.id.as_ref();
            to_vec(&TaskParams { push_notification_config_id, ..TaskParams::of(&it.task_id) })
        }
        Request::DeleteTaskPushNotificationConfig(it) => {
            let push_notification_config_id = it.id.as_ref();
            to_vec(&TaskParams { push_notification_config_id, ..TaskParams::of(&it.task_id) })
        }
        Request::ListTaskPushNotificationConfigs(it) => to_vec(&TaskParams::of(&it.task_id)),
        Request::GetExtendedAgentCard(_) | Request::GetAgentCard => b"{}".to_vec(),
    }
}

/// Writes the result of a call.
pub(in crate::dialect) fn write_reply(request: &Request, reply: &Reply) -> Result<Vec<u8>, Error> {
    Ok(match reply {
        Reply::Sent(SendMessageResponse::Task(task)) | Reply::Task(task) => {
            to_vec(&Task::from(task))
        }
        Reply::Sent(SendMessageResponse::Message(message)) => to_vec(&Message::from(message)),
        Reply::Tasks(page) => to_vec(&Tasks::from(page)),
        Reply::PushConfig(config) => to_vec(&PushConfig::from(config)),
        Reply::PushConfigs(page) => {
            to_vec(&Each::<TaskPushNotificationConfig, PushConfig<'_>>::of(&page.configs))
        }
        Reply::Removed(count) => removed(request, *count),
        Reply::Card(card) => to_vec(&card.to_json(Form::V0_3(TransitionHistory::Kept))),
        Reply::Stream(_) => return Err(Error::internal()),
    })
}

/// §7.8 answers with null. A caller who named no webhook asked for all of them to go, which is a
/// habit outside the specification, and is told how many went.
fn removed(request: &Request, count: u32) -> Vec<u8> {
    match request {
        Request::DeleteTaskPushNotificationConfig(it) if it.id.is_none() => {
            format!(r#"{{"removed":{count}}}"#).into_bytes()
        }
        _ => b"null".to_vec(),
    }
}

#[derive(Serialize)]
struct SendParams<'a> {
    message: Message<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<Configuration<'a>>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

impl<'a> From<&'a SendMessageRequest> for SendParams<'a> {
    fn from(request: &'a SendMessageRequest) -> Self {
        Self {
            message: Message::from(&request.message),
            configuration: request.configuration.as_ref().map(Configuration::from),
            metadata: &request.metadata,
        }
    }
}

/// Up to 0.2.5 the accepted modes are required, so they are always written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Configuration<'a> {
    accepted_output_modes: &'a [String],
    blocking: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification_config: Option<Target<'a>>,
}

impl<'a> From<&'a SendMessageConfiguration> for Configuration<'a> {
    fn from(configuration: &'a SendMessageConfiguration) -> Self {
        let push = configuration.task_push_notification_config.as_ref();
        Self {
            accepted_output_modes: &configuration.accepted_output_modes,
            blocking: !configuration.return_immediately,
            history_length: configuration.history_length,
            push_notification_config: push.map(Target::from),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskParams<'a> {
    id: &'a TaskId,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification_config_id: Option<&'a PushConfigId>,
    #[serde(skip_serializing_if = "no_metadata")]
    metadata: Option<&'a Metadata>,
}

fn no_metadata(metadata: &Option<&Metadata>) -> bool {
    metadata.is_none_or(Metadata::is_empty)
}

impl<'a> TaskParams<'a> {
    fn of(id: &'a TaskId) -> Self {
        Self { id, history_length: None, push_notification_config_id: None, metadata: None }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PushConfig<'a> {
    task_id: &'a str,
    push_notification_config: Target<'a>,
}

impl<'a> From<&'a TaskPushNotificationConfig> for PushConfig<'a> {
    fn from(config: &'a TaskPushNotificationConfig) -> Self {
        Self {
            task_id: config.task_id.as_ref().map_or("", TaskId::as_str),
            push_notification_config: Target::from(config),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tasks<'a> {
    tasks: Each<'a, model::Task, Task<'a>>,
    next_page_token: &'a str,
    page_size: u32,
    total_size: u32,
}

impl<'a> From<&'a ListTasksResponse> for Tasks<'a> {
    fn from(page: &'a ListTasksResponse) -> Self {
        Self {
            tasks: Each::of(&page.tasks),
            next_page_token: &page.next_page_token,
            page_size: page.page_size,
            total_size: page.total_size,
        }
    }
}
