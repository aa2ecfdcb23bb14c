//! What can be asked, and the rules that a question must keep.

use serde::{Deserialize, Serialize};

use super::wire;
use super::{
    ContextId, Message, Metadata, PushConfigId, Role, Task, TaskId, TaskPushNotificationConfig,
    TaskState, Timestamp,
};
use crate::json::InvalidField;

/// The number of tasks on a page when the caller names none.
pub const DEFAULT_PAGE_SIZE: u32 = 50;
/// The largest number of tasks on a page.
pub const MAX_PAGE_SIZE: u32 = 100;

/// Asks the agent to handle a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SendMessageRequest {
    /// The tenant the call is for.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// The message.
    pub message: Message,
    /// How the caller wants it handled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<SendMessageConfiguration>,
    /// Free-form members.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Metadata::is_empty"
    )]
    pub metadata: Metadata,
}

impl SendMessageRequest {
    /// Checks what the protocol demands beyond the shape.
    ///
    /// # Errors
    /// The first field that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidField> {
        if self.message.role == Role::Unspecified {
            return Err(InvalidField::new("message.role", "must be a user's or an agent's"));
        }
        if self.message.parts.is_empty() {
            return Err(InvalidField::new("message.parts", "must not be empty"));
        }
        let push =
            self.configuration.as_ref().and_then(|it| it.task_push_notification_config.as_deref());
        match push {
            Some(push) => push
                .validate()
                .map_err(|error| error.within("configuration.taskPushNotificationConfig")),
            None => Ok(()),
        }
    }
}

impl From<Message> for SendMessageRequest {
    fn from(message: Message) -> Self {
        Self { tenant: None, message, configuration: None, metadata: Metadata::new() }
    }
}

/// How a caller wants a message handled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SendMessageConfiguration {
    /// Media types the caller can read; any when empty.
    #[serde(
        default,
        alias = "accepted_output_modes",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub accepted_output_modes: Vec<String>,
    /// A webhook for the task, registered before the work begins.
    #[serde(
        default,
        alias = "task_push_notification_config",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_push_notification_config: Option<Box<TaskPushNotificationConfig>>,
    /// How many messages of the history to answer with; all when not given.
    #[serde(
        default,
        alias = "history_length",
        deserialize_with = "wire::count",
        skip_serializing_if = "Option::is_none"
    )]
    pub history_length: Option<u32>,
    /// Whether to answer as soon as the task exists, and not wait for its end.
    #[serde(
        default,
        alias = "return_immediately",
        deserialize_with = "wire::bool_or_false",
        skip_serializing_if = "wire::is_false"
    )]
    pub return_immediately: bool,
}

/// Asks for one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetTaskRequest {
    /// The tenant the call is for.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// The task.
    pub id: TaskId,
    /// How many messages of the history to answer with; all when not given.
    #[serde(
        default,
        alias = "history_length",
        deserialize_with = "wire::count",
        skip_serializing_if = "Option::is_none"
    )]
    pub history_length: Option<u32>,
}

impl From<TaskId> for GetTaskRequest {
    fn from(id: TaskId) -> Self {
        Self { tenant: None, id, history_length: None }
    }
}

/// Asks for the caller's tasks, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksRequest {
    /// The tenant the call is for.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// Only tasks of this conversation.
    #[serde(
        default,
        alias = "context_id",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<ContextId>,
    /// Only tasks in this state; `Unspecified` is the same as none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskState>,
    /// How many tasks on a page, 1 to [`MAX_PAGE_SIZE`]; [`DEFAULT_PAGE_SIZE`] when not given.
    #[serde(
        default,
        alias = "page_size",
        deserialize_with = "wire::count",
        skip_serializing_if = "Option::is_none"
    )]
    pub page_size: Option<u32>,
    /// Where the page before this one ended.
    #[serde(
        default,
        alias = "page_token",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub page_token: Option<String>,
    /// How many messages of each history to answer with; all when not given.
    #[serde(
        default,
        alias = "history_length",
        deserialize_with = "wire::count",
        skip_serializing_if = "Option::is_none"
    )]
    pub history_length: Option<u32>,
    /// Only tasks whose status is of this time or later. Some clients call it when it was updated.
    #[serde(
        default,
        alias = "status_timestamp_after",
        alias = "lastUpdatedAfter",
        alias = "last_updated_after",
        alias = "lastUpdatedTime",
        alias = "last_updated_time",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub status_timestamp_after: Option<Timestamp>,
    /// Whether to answer with artifacts.
    #[serde(
        default,
        alias = "include_artifacts",
        deserialize_with = "wire::flag",
        skip_serializing_if = "Option::is_none"
    )]
    pub include_artifacts: Option<bool>,
}

impl ListTasksRequest {
    /// Checks what the protocol demands beyond the shape.
    ///
    /// # Errors
    /// The first field that breaks a rule.
    pub fn validate(&self) -> Result<(), InvalidField> {
        check_page_size(self.page_size)
    }
}

fn check_page_size(size: Option<u32>) -> Result<(), InvalidField> {
    match size {
        Some(size) if !(1..=MAX_PAGE_SIZE).contains(&size) => {
            Err(InvalidField::new("pageSize", format!("must be from 1 to {MAX_PAGE_SIZE}")))
        }
        _ => Ok(()),
    }
}

/// One page of the caller's tasks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksResponse {
    /// The tasks.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub tasks: Vec<Task>,
    /// What to ask for the next page with; empty on the last one.
    #[serde(default, alias = "next_page_token", deserialize_with = "wire::nullable")]
    pub next_page_token: String,
    /// How many tasks a page holds.
    #[serde(default, alias = "page_size", deserialize_with = "count_or_zero")]
    pub page_size: u32,
    /// How many tasks match, on all pages.
    #[serde(default, alias = "total_size", deserialize_with = "count_or_zero")]
    pub total_size: u32,
}

fn count_or_zero<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    Ok(wire::count(deserializer)?.unwrap_or_default())
}

/// Asks for a task to be stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CancelTaskRequest {
    /// The tenant the call is for.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// The task.
    pub id: TaskId,
    /// Free-form members.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Metadata::is_empty"
    )]
    pub metadata: Metadata,
}

impl From<TaskId> for CancelTaskRequest {
    fn from(id: TaskId) -> Self {
        Self { tenant: None, id, metadata: Metadata::new() }
    }
}

/// Asks for a task and all that happens to it from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscribeToTaskRequest {
    /// The tenant the call is for.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// The task.
    pub id: TaskId,
}

impl From<TaskId> for SubscribeToTaskRequest {
    fn from(id: TaskId) -> Self {
        Self { tenant: None, id }
    }
}

/// Asks for one push notification configuration of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetTaskPushNotificationConfigRequest {
    /// The tenant the call is for.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// The task.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// The configuration; the first one when not given, which only versions before 1.0 allow.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub id: Option<PushConfigId>,
}

/// Asks for the removal of one push notification configuration of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteTaskPushNotificationConfigRequest {
    /// The tenant the call is for.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// The task.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// The configuration; all of them when not given, which only versions before 1.0 allow.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub id: Option<PushConfigId>,
}

/// Asks for the push notification configurations of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTaskPushNotificationConfigsRequest {
    /// The tenant the call is for.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// The task.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// How many on a page; the server decides when not given.
    #[serde(
        default,
        alias = "page_size",
        deserialize_with = "wire::count",
        skip_serializing_if = "Option::is_none"
    )]
    pub page_size: Option<u32>,
    /// Where the page before this one ended.
    #[serde(
        default,
        alias = "page_token",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub page_token: Option<String>,
}

/// One page of the push notification configurations of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTaskPushNotificationConfigsResponse {
    /// The configurations.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub configs: Vec<TaskPushNotificationConfig>,
    /// What to ask for the next page with; absent on the last one.
    #[serde(
        default,
        alias = "next_page_token",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub next_page_token: Option<String>,
}

/// Asks for the card that only authenticated callers see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GetExtendedAgentCardRequest {
    /// The tenant the call is for.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
}
