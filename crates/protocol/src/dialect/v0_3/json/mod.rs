//! 0.3 as its JSON schema has it, over JSON-RPC. 0.2.x reads and writes the same.

mod object;
mod part;

use serde::Serialize;

pub(in crate::dialect) use object::{Event, Message, Task, role, state};
pub(in crate::dialect) use part::{Data, TypedPart};

use super::push::Target;
use crate::card::Form;
use crate::dialect::HISTORY;
use crate::dialect::each::Each;
use crate::error::Error;
use crate::json::write;
use crate::model::{
    self, ListTasksRequest, ListTasksResponse, Metadata, PushConfigId, SendMessageConfiguration,
    SendMessageRequest, SendMessageResponse, TaskId, TaskPushNotificationConfig,
};
use crate::service::{Reply, Request};

/// Writes the parameters of a request.
pub(in crate::dialect) fn write_request(out: &mut Vec<u8>, request: &Request) {
    match request {
        Request::SendMessage(it) | Request::SendStreamingMessage(it) => {
            write(out, &SendParams::from(it))
        }
        Request::GetTask(it) => {
            let history_length = it.history_length;
            write(out, &TaskParams { history_length, ..TaskParams::of(&it.id) })
        }
        Request::ListTasks(it) => write(out, &ListTasksRequest { tenant: None, ..it.clone() }),
        Request::CancelTask(it) => {
            write(out, &TaskParams { metadata: Some(&it.metadata), ..TaskParams::of(&it.id) })
        }
        Request::SubscribeToTask(it) => write(out, &TaskParams::of(&it.id)),
        Request::CreateTaskPushNotificationConfig(it) => write(out, &PushConfig::from(it)),
        Request::GetTaskPushNotificationConfig(it) => {
            let push_notification_config_id = it.id.as_ref();
            write(out, &TaskParams { push_notification_config_id, ..TaskParams::of(&it.task_id) })
        }
        Request::DeleteTaskPushNotificationConfig(it) => {
            let push_notification_config_id = it.id.as_ref();
            write(out, &TaskParams { push_notification_config_id, ..TaskParams::of(&it.task_id) })
        }
        Request::ListTaskPushNotificationConfigs(it) => write(out, &TaskParams::of(&it.task_id)),
        Request::GetExtendedAgentCard(_) | Request::GetAgentCard => out.extend_from_slice(b"{}"),
    }
}

/// Writes the result of a call.
pub(in crate::dialect) fn write_reply(
    out: &mut Vec<u8>,
    request: &Request,
    reply: &Reply,
) -> Result<(), Error> {
    match reply {
        Reply::Sent(SendMessageResponse::Task(task)) | Reply::Task(task) => {
            write(out, &Task::from(&**task))
        }
        Reply::Sent(SendMessageResponse::Message(message)) => write(out, &Message::from(message)),
        Reply::Tasks(page) => write(out, &Tasks::from(page)),
        Reply::PushConfig(config) => write(out, &PushConfig::from(config)),
        Reply::PushConfigs(page) => {
            write(out, &Each::<TaskPushNotificationConfig, PushConfig<'_>>::of(&page.configs))
        }
        Reply::Removed(count) => removed(out, request, *count),
        Reply::Card(card) => write(out, &card.to_json(Form::V0_3(HISTORY))),
        Reply::Stream(_) => return Err(Error::internal()),
    }
    Ok(())
}

/// §7.8 answers with null. A caller who named no webhook asked for all of them to go, which is a
/// habit outside the specification, and is told how many went.
fn removed(out: &mut Vec<u8>, request: &Request, count: u32) {
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
        let push = configuration.task_push_notification_config.as_deref();
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
