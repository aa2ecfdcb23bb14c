//! ProtoJSON format of 0.3, which its SDKs use over HTTP+JSON.
//!
//! SDK parsers are strict, so the encoder writes only members that exist in the oldest version of
//! the protobuf file.

mod object;

use serde::Serialize;
use serde_json::Value;

pub(in crate::dialect) use object::Event;
use object::{Message, Task, state_name};

use super::push::PushTarget;
use super::resource_name;
use crate::card::{AgentCard, CardFormat};
use crate::dialect::TRANSITION_HISTORY;
use crate::dialect::list_as::ListAs;
use crate::json::write;
use crate::model::{
    self, ListTaskPushNotificationConfigsResponse, ListTasksResponse, Metadata, PushConfigId,
    SendMessageConfiguration, SendMessageRequest, SendMessageResponse, TaskId,
    TaskPushNotificationConfig, TaskState,
};
use crate::service::{Reply, Request};

/// Encodes the body of a request; an empty object if all parameters are part of the path and query.
pub(in crate::dialect) fn write_request(out: &mut Vec<u8>, request: &Request) {
    match request {
        Request::SendMessage(it) | Request::SendStreamingMessage(it) => {
            write(out, &SendParams::from(it))
        }
        Request::CancelTask(it) => {
            write(out, &ResourceName { name: resource_name::format_task(&it.id) })
        }
        Request::CreateTaskPushNotificationConfig(it) => write(out, &CreatePushConfig::from(it)),
        Request::GetTask(_)
        | Request::ListTasks(_)
        | Request::SubscribeToTask(_)
        | Request::GetTaskPushNotificationConfig(_)
        | Request::ListTaskPushNotificationConfigs(_)
        | Request::DeleteTaskPushNotificationConfig(_)
        | Request::GetExtendedAgentCard(_)
        | Request::GetAgentCard => out.extend_from_slice(b"{}"),
    }
}

/// Renames the two query parameters of a task list that differ from 1.0.
pub(in crate::dialect) fn rename_query_params(query: &mut [(String, String)]) {
    for (name, value) in query {
        match name.as_str() {
            "statusTimestampAfter" => "lastUpdatedTime".clone_into(name),
            "status" if value == TaskState::Canceled.name() => {
                state_name(TaskState::Canceled).clone_into(value);
            }
            _ => {}
        }
    }
}

/// Encodes the body of a reply.
pub(in crate::dialect) fn write_reply(out: &mut Vec<u8>, reply: &Reply) {
    match reply {
        Reply::SendMessage(SendMessageResponse::Task(task)) => {
            write(out, &Event::Task(Task::from(&**task)))
        }
        Reply::SendMessage(SendMessageResponse::Message(message)) => {
            write(out, &Event::Message(Message::from(message)))
        }
        Reply::Task(task) => write(out, &Task::from(&**task)),
        Reply::TaskList(page) => write(out, &TaskPage::from(page)),
        Reply::PushConfig(config) => write(out, &PushConfig::from(config)),
        Reply::PushConfigList(page) => write(out, &PushConfigPage::from(page)),
        Reply::PushConfigsDeleted(_) => out.extend_from_slice(b"{}"),
        Reply::Card(card) => write(out, &write_card(card)),
    }
}

/// Converts a card so that each security scheme has both the JSON schema format and the ProtoJSON
/// format, because SDKs differ in which one they read.
fn write_card(card: &AgentCard) -> Value {
    let mut written = card.to_json(CardFormat::V0_3(TRANSITION_HISTORY));
    let v1_0 = card.to_json(CardFormat::V1_0);
    let wrapped = v1_0.get("securitySchemes").and_then(Value::as_object);
    for (name, scheme) in wrapped.into_iter().flatten() {
        let both = written.pointer_mut("/securitySchemes").and_then(|it| it.get_mut(name));
        if let (Some(Value::Object(both)), Value::Object(scheme)) = (both, scheme) {
            both.extend(scheme.clone());
        }
    }
    written
}

#[derive(Serialize)]
struct SendParams<'a> {
    message: Message<'a>,
    configuration: Configuration<'a>,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: &'a Metadata,
}

impl<'a> From<&'a SendMessageRequest> for SendParams<'a> {
    fn from(request: &'a SendMessageRequest) -> Self {
        Self {
            message: Message::from(&request.message),
            configuration: Configuration::from(request.configuration.as_ref()),
            metadata: &request.metadata,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Configuration<'a> {
    #[serde(skip_serializing_if = "crate::dialect::list_as::empty")]
    accepted_output_modes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notification: Option<PushTarget<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_length: Option<u32>,
    blocking: bool,
}

/// A configuration is always present, because servers take a missing `blocking` for `false`.
impl<'a> From<Option<&'a SendMessageConfiguration>> for Configuration<'a> {
    fn from(configuration: Option<&'a SendMessageConfiguration>) -> Self {
        let push = configuration.and_then(|it| it.task_push_notification_config.as_deref());
        Self {
            accepted_output_modes: configuration.map_or(&[], |it| &it.accepted_output_modes),
            push_notification: push.map(PushTarget::from),
            history_length: configuration.and_then(|it| it.history_length),
            blocking: !configuration.is_some_and(|it| it.return_immediately),
        }
    }
}

#[derive(Serialize)]
struct ResourceName {
    name: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PushConfig<'a> {
    name: String,
    push_notification_config: PushTarget<'a>,
}

impl<'a> From<&'a TaskPushNotificationConfig> for PushConfig<'a> {
    fn from(config: &'a TaskPushNotificationConfig) -> Self {
        let task = config.task_id.as_ref();
        Self {
            name: task.map_or_else(String::new, |task| {
                resource_name::format_push_config(task, config.id.as_ref())
            }),
            push_notification_config: PushTarget::from(config),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CreatePushConfig<'a> {
    parent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    config_id: Option<&'a PushConfigId>,
    config: PushConfig<'a>,
}

impl<'a> From<&'a TaskPushNotificationConfig> for CreatePushConfig<'a> {
    fn from(config: &'a TaskPushNotificationConfig) -> Self {
        Self {
            parent: config
                .task_id
                .as_ref()
                .map_or_else(String::new, |it: &TaskId| resource_name::format_task(it)),
            config_id: config.id.as_ref(),
            config: PushConfig::from(config),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PushConfigPage<'a> {
    configs: ListAs<'a, TaskPushNotificationConfig, PushConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<&'a str>,
}

impl<'a> From<&'a ListTaskPushNotificationConfigsResponse> for PushConfigPage<'a> {
    fn from(page: &'a ListTaskPushNotificationConfigsResponse) -> Self {
        Self {
            configs: ListAs::new(&page.configs),
            next_page_token: page.next_page_token.as_deref(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskPage<'a> {
    tasks: ListAs<'a, model::Task, Task<'a>>,
    next_page_token: &'a str,
    total_size: u32,
}

impl<'a> From<&'a ListTasksResponse> for TaskPage<'a> {
    fn from(page: &'a ListTasksResponse) -> Self {
        Self {
            tasks: ListAs::new(&page.tasks),
            next_page_token: &page.next_page_token,
            total_size: page.total_size,
        }
    }
}
