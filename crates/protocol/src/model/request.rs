//! Request and response types of the operations, and the rules they must satisfy.

use serde::{Deserialize, Serialize};

use super::wire;
use super::{
    ContextId, Message, Metadata, PushConfigId, Role, Task, TaskId, TaskPushNotificationConfig,
    TaskState, Timestamp,
};
use crate::json::InvalidField;

/// Number of tasks per page if the caller sets none.
pub const DEFAULT_PAGE_SIZE: u32 = 50;
/// Maximum number of tasks per page.
pub const MAX_PAGE_SIZE: u32 = 100;

/// Parameters of `SendMessage` and `SendStreamingMessage`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SendMessageRequest {
    /// Tenant that the call addresses.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// The message to send.
    pub message: Message,
    /// Options for handling the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<SendMessageConfiguration>,
    /// Application-defined metadata.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Metadata::is_empty"
    )]
    pub metadata: Metadata,
}

impl SendMessageRequest {
    /// Checks the rules of the protocol that the types do not enforce.
    ///
    /// # Errors
    /// Returns the first field that violates a rule.
    pub fn validate(&self) -> Result<(), InvalidField> {
        if self.message.role == Role::Unspecified {
            return Err(InvalidField::new("message.role", "must be the user or the agent"));
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

/// Options for handling a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SendMessageConfiguration {
    /// Media types that the caller accepts; empty accepts any.
    #[serde(
        default,
        alias = "accepted_output_modes",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub accepted_output_modes: Vec<String>,
    /// Webhook to register before the turn starts.
    #[serde(
        default,
        alias = "task_push_notification_config",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_push_notification_config: Option<Box<TaskPushNotificationConfig>>,
    /// Maximum number of history messages to return; `None` returns all.
    #[serde(
        default,
        alias = "history_length",
        deserialize_with = "wire::count",
        skip_serializing_if = "Option::is_none"
    )]
    pub history_length: Option<u32>,
    /// Whether to return as soon as the task exists instead of waiting until it is settled.
    #[serde(
        default,
        alias = "return_immediately",
        deserialize_with = "wire::bool_or_false",
        skip_serializing_if = "wire::is_false"
    )]
    pub return_immediately: bool,
}

/// Parameters of `GetTask`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetTaskRequest {
    /// Tenant that the call addresses.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// Identifier of the task.
    pub id: TaskId,
    /// Maximum number of history messages to return; `None` returns all.
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

/// Parameters of `ListTasks`, which returns the caller's tasks, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksRequest {
    /// Tenant that the call addresses.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// Restricts the result to tasks of this context.
    #[serde(
        default,
        alias = "context_id",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<ContextId>,
    /// Restricts the result to tasks in this state; `Unspecified` means no restriction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskState>,
    /// Number of tasks per page, 1 to [`MAX_PAGE_SIZE`]; [`DEFAULT_PAGE_SIZE`] if absent.
    #[serde(
        default,
        alias = "page_size",
        deserialize_with = "wire::count",
        skip_serializing_if = "Option::is_none"
    )]
    pub page_size: Option<u32>,
    /// Token of the next page, from the previous response.
    #[serde(
        default,
        alias = "page_token",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub page_token: Option<String>,
    /// Maximum number of history messages to return per task; `None` returns all.
    #[serde(
        default,
        alias = "history_length",
        deserialize_with = "wire::count",
        skip_serializing_if = "Option::is_none"
    )]
    pub history_length: Option<u32>,
    /// Restricts the result to tasks whose status changed at this time or later. The aliases are
    /// member names that some clients use.
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
    /// Whether to include artifacts.
    #[serde(
        default,
        alias = "include_artifacts",
        deserialize_with = "wire::flag",
        skip_serializing_if = "Option::is_none"
    )]
    pub include_artifacts: Option<bool>,
}

impl ListTasksRequest {
    /// Checks the rules of the protocol that the types do not enforce.
    ///
    /// # Errors
    /// Returns the first field that violates a rule.
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
    /// The tasks, newest first.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub tasks: Vec<Task>,
    /// Token that requests the next page; empty on the last page.
    #[serde(default, alias = "next_page_token", deserialize_with = "wire::nullable")]
    pub next_page_token: String,
    /// Maximum number of tasks per page.
    #[serde(default, alias = "page_size", deserialize_with = "count_or_zero")]
    pub page_size: u32,
    /// Number of matching tasks on all pages.
    #[serde(default, alias = "total_size", deserialize_with = "count_or_zero")]
    pub total_size: u32,
}

fn count_or_zero<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    Ok(wire::count(deserializer)?.unwrap_or_default())
}

/// Parameters of `CancelTask`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CancelTaskRequest {
    /// Tenant that the call addresses.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// Identifier of the task.
    pub id: TaskId,
    /// Application-defined metadata.
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

/// Parameters of `SubscribeToTask`, which streams the task and its further events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscribeToTaskRequest {
    /// Tenant that the call addresses.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// Identifier of the task.
    pub id: TaskId,
}

impl From<TaskId> for SubscribeToTaskRequest {
    fn from(id: TaskId) -> Self {
        Self { tenant: None, id }
    }
}

/// Parameters of `GetTaskPushNotificationConfig`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetTaskPushNotificationConfigRequest {
    /// Tenant that the call addresses.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// Identifier of the task.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// Identifier of the configuration. Versions before 1.0 may omit it to get the first one.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub id: Option<PushConfigId>,
}

/// Parameters of `DeleteTaskPushNotificationConfig`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteTaskPushNotificationConfigRequest {
    /// Tenant that the call addresses.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// Identifier of the task.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// Identifier of the configuration. Versions before 1.0 may omit it to delete all.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub id: Option<PushConfigId>,
}

/// Parameters of `ListTaskPushNotificationConfigs`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTaskPushNotificationConfigsRequest {
    /// Tenant that the call addresses.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
    /// Identifier of the task.
    #[serde(alias = "task_id")]
    pub task_id: TaskId,
    /// Number of configurations per page; the server decides if it is absent.
    #[serde(
        default,
        alias = "page_size",
        deserialize_with = "wire::count",
        skip_serializing_if = "Option::is_none"
    )]
    pub page_size: Option<u32>,
    /// Token of the next page, from the previous response.
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
    /// Token that requests the next page; absent on the last page.
    #[serde(
        default,
        alias = "next_page_token",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub next_page_token: Option<String>,
}

/// Parameters of `GetExtendedAgentCard`, which returns the card for authenticated callers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GetExtendedAgentCardRequest {
    /// Tenant that the call addresses.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tenant: Option<String>,
}
