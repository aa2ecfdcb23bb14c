//! JSON schema format of 0.3 and 0.2.x, over JSON-RPC.

mod object;
mod part;

use serde::Serialize;

pub(in crate::dialect) use object::{Event, Message, Task, role_name, state_name};
pub(in crate::dialect) use part::{Data, TypedPart};

use super::push::PushTarget;
use crate::card::CardFormat;
use crate::dialect::TRANSITION_HISTORY;
use crate::dialect::list_as::ListAs;
use crate::json::write;
use crate::model::{
    self, ListTasksRequest, ListTasksResponse, Metadata, PushConfigId, SendMessageConfiguration,
    SendMessageRequest, SendMessageResponse, TaskId, TaskPushNotificationConfig,
};
use crate::service::{Reply, Request};

/// Encodes the parameters of a request.
pub(in crate::dialect) fn write_request(out: &mut Vec<u8>, request: &Request) {
    match request {
        Request::SendMessage(it) | Request::SendStreamingMessage(it) => {
            write(out, &SendParams::from(it))
        }
        Request::GetTask(it) => {
            let history_length = it.history_length;
            write(out, &TaskParams { history_length, ..TaskParams::new(&it.id) })
        }
        Request::ListTasks(it) => write(out, &ListTasksRequest { tenant: None, ..it.clone() }),
        Request::CancelTask(it) => {
            write(out, &TaskParams { metadata: Some(&it.metadata), ..TaskParams::new(&it.id) })
        }
        Request::SubscribeToTask(it) => write(out, &TaskParams::new(&it.id)),
        Request::CreateTaskPushNotificationConfig(it) => write(out, &PushConfig::from(it)),
        Request::GetTaskPushNotificationConfig(it) => {
            let push_notification_config_id = it.id.as_ref();
            write(out, &TaskParams { push_notification_config_id, ..TaskParams::new(&it.task_id) })
        }
        Request::DeleteTaskPushNotificationConfig(it) => {
            let push_notification_config_id = it.id.as_ref();
            write(out, &TaskParams { push_notification_config_id, ..TaskParams::new(&it.task_id) })
        }
        Request::ListTaskPushNotificationConfigs(it) => write(out, &TaskParams::new(&it.task_id)),
        Request::GetExtendedAgentCard(_) | Request::GetAgentCard => out.extend_from_slice(b"{}"),
    }
}

/// Encodes the result of a call.
pub(in crate::dialect) fn write_reply(out: &mut Vec<u8>, request: &Request, reply: &Reply) {
    match reply {
        Reply::SendMessage(SendMessageResponse::Task(task)) | Reply::Task(task) => {
            write(out, &Task::from(&**task))
        }
        Reply::SendMessage(SendMessageResponse::Message(message)) => {
            write(out, &Message::from(message))
        }
        Reply::TaskList(page) => write(out, &TaskPage::from(page)),
        Reply::PushConfig(config) => write(out, &PushConfig::from(config)),
        Reply::PushConfigList(page) => {
            write(out, &ListAs::<TaskPushNotificationConfig, PushConfig<'_>>::new(&page.configs))
        }
        Reply::PushConfigsDeleted(count) => write_deleted(out, request, *count),
        Reply::Card(card) => write(out, &card.to_json(CardFormat::V0_3(TRANSITION_HISTORY))),
    }
}

/// Encodes the result of a deletion: `null` (§7.8), or the number of deleted webhooks if the client
/// named none. The latter is an extension of some clients and servers.
fn write_deleted(out: &mut Vec<u8>, request: &Request, count: u32) {
    match request {
        Request::DeleteTaskPushNotificationConfig(it) if it.id.is_none() => {
            write(out, &serde_json::json!({ "removed": count }));
        }
        _ => write(out, &()),
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

/// Send options. Accepted modes are required up to 0.2.5, so they are always present.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Configuration<'a> {
    accepted_output_modes: &'a [String],
    blocking: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification_config: Option<PushTarget<'a>>,
}

impl<'a> From<&'a SendMessageConfiguration> for Configuration<'a> {
    fn from(configuration: &'a SendMessageConfiguration) -> Self {
        let push = configuration.task_push_notification_config.as_deref();
        Self {
            accepted_output_modes: &configuration.accepted_output_modes,
            blocking: !configuration.return_immediately,
            history_length: configuration.history_length,
            push_notification_config: push.map(PushTarget::from),
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
    fn new(id: &'a TaskId) -> Self {
        Self { id, history_length: None, push_notification_config_id: None, metadata: None }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PushConfig<'a> {
    task_id: &'a str,
    push_notification_config: PushTarget<'a>,
}

impl<'a> From<&'a TaskPushNotificationConfig> for PushConfig<'a> {
    fn from(config: &'a TaskPushNotificationConfig) -> Self {
        Self {
            task_id: config.task_id.as_ref().map_or("", TaskId::as_str),
            push_notification_config: PushTarget::from(config),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskPage<'a> {
    tasks: ListAs<'a, model::Task, Task<'a>>,
    next_page_token: &'a str,
    page_size: u32,
    total_size: u32,
}

impl<'a> From<&'a ListTasksResponse> for TaskPage<'a> {
    fn from(page: &'a ListTasksResponse) -> Self {
        Self {
            tasks: ListAs::new(&page.tasks),
            next_page_token: &page.next_page_token,
            page_size: page.page_size,
            total_size: page.total_size,
        }
    }
}
