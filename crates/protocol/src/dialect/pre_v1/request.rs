//! Requests of all versions before 1.0.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::JsonFlavor;
use super::object::Message;
use crate::dialect::Dialect;
use crate::dialect::v0_3::resource_name;
use crate::json::InvalidField;
use crate::model::{
    AuthenticationInfo, CancelTaskRequest, ContextId, DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, MessageId, Metadata, PushConfigId, Role, Secret,
    SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest, TaskId,
    TaskPushNotificationConfig, wire,
};
use crate::operation::Operation;
use crate::service::Request;

/// Decodes the parameters of `operation`. `generate_id` creates the id of a message without one; if
/// it returns `None`, the id is required.
pub(in crate::dialect) fn read_request<'de, D: Deserializer<'de>>(
    operation: Operation,
    params: D,
    dialect: Dialect,
    generate_id: impl FnOnce() -> Option<MessageId>,
) -> Result<Result<Request, InvalidField>, D::Error> {
    Ok(match operation {
        Operation::SendMessage => SendParams::deserialize(params)?
            .into_model(dialect, generate_id)
            .map(Request::SendMessage),
        Operation::SendStreamingMessage => SendParams::deserialize(params)?
            .into_model(dialect, generate_id)
            .map(Request::SendStreamingMessage),
        Operation::GetTask => TaskParams::deserialize(params)?.into_get(),
        Operation::CancelTask => TaskParams::deserialize(params)?.into_cancel(),
        Operation::SubscribeToTask => TaskParams::deserialize(params)?
            .task_id()
            .map(|id| Request::SubscribeToTask(SubscribeToTaskRequest::from(id))),
        Operation::ListTasks => Ok(Request::ListTasks(Deserialize::deserialize(params)?)),
        Operation::CreateTaskPushNotificationConfig => PushConfig::deserialize(params)?
            .into_create()
            .map(Request::CreateTaskPushNotificationConfig),
        Operation::GetTaskPushNotificationConfig => PushParams::deserialize(params)?.into_get(),
        Operation::DeleteTaskPushNotificationConfig => {
            PushParams::deserialize(params)?.into_delete()
        }
        Operation::ListTaskPushNotificationConfigs => PushParams::deserialize(params)?.into_list(),
        Operation::GetExtendedAgentCard => {
            IgnoredAny::deserialize(params)?;
            Ok(Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default()))
        }
        Operation::GetAgentCard => {
            IgnoredAny::deserialize(params)?;
            Ok(Request::GetAgentCard)
        }
    })
}

/// Parameters of `message/send` and `tasks/send`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SendParams {
    #[serde(alias = "request")]
    message: Message,
    #[serde(default)]
    configuration: Option<Configuration>,
    #[serde(default, deserialize_with = "wire::nullable")]
    metadata: Metadata,
    // Members of 0.1 and the legacy API.
    #[serde(default, deserialize_with = "wire::optional_text")]
    id: Option<TaskId>,
    #[serde(default, alias = "session_id", deserialize_with = "wire::optional_text")]
    session_id: Option<ContextId>,
    #[serde(default)]
    push_notification: Option<PushTarget>,
    #[serde(default, deserialize_with = "wire::count")]
    history_length: Option<u32>,
    #[serde(default, deserialize_with = "wire::nullable")]
    accepted_output_modes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Configuration {
    #[serde(default, alias = "accepted_output_modes", deserialize_with = "wire::nullable")]
    accepted_output_modes: Vec<String>,
    #[serde(
        default,
        alias = "pushNotification",
        alias = "push_notification",
        alias = "push_notification_config"
    )]
    push_notification_config: Option<PushTarget>,
    #[serde(default, alias = "history_length", deserialize_with = "wire::count")]
    history_length: Option<u32>,
    #[serde(default, deserialize_with = "wire::flag")]
    blocking: Option<bool>,
}

impl SendParams {
    fn into_model(
        self,
        dialect: Dialect,
        generate_id: impl FnOnce() -> Option<MessageId>,
    ) -> Result<SendMessageRequest, InvalidField> {
        let flavor = dialect.json_flavor();
        let generate_id = || generate_id().ok_or_else(|| InvalidField::missing("messageId"));
        let mut message = self
            .message
            .into_model(flavor, generate_id)
            .map_err(|error| error.within("message"))?;
        if message.role == Role::Unspecified {
            return Err(InvalidField::new("message.role", "must be the user or the agent"));
        }
        if message.parts.is_empty() {
            return Err(InvalidField::new(
                format!("message.{}", flavor.parts_member()),
                "must not be empty",
            ));
        }
        // Other dialects do not define these members.
        if dialect.clients_assign_task_ids() {
            message.task_id = self.id.or(message.task_id);
            message.context_id = self.session_id.or(message.context_id);
        }
        let has_configuration = self.configuration.is_some() && flavor == JsonFlavor::Schema;
        let configuration = match self.configuration {
            Some(it) => it.into_model(flavor).map_err(|error| error.within("configuration"))?,
            None => {
                let push = self.push_notification.map(PushTarget::into_model).transpose();
                SendMessageConfiguration {
                    accepted_output_modes: self.accepted_output_modes,
                    task_push_notification_config: push
                        .map_err(|error| error.within("pushNotification"))?
                        .map(Box::new),
                    history_length: self.history_length,
                    return_immediately: false,
                }
            }
        };
        // Empty settings count as absent in ProtoJSON, where clients always send a configuration.
        let configuration = Some(configuration)
            .filter(|it| has_configuration || *it != SendMessageConfiguration::default());
        Ok(SendMessageRequest { tenant: None, message, configuration, metadata: self.metadata })
    }
}

impl Configuration {
    fn into_model(self, flavor: JsonFlavor) -> Result<SendMessageConfiguration, InvalidField> {
        let blocking = self.is_blocking(flavor);
        let push = self.push_notification_config.map(PushTarget::into_model).transpose();
        Ok(SendMessageConfiguration {
            accepted_output_modes: self.accepted_output_modes,
            task_push_notification_config: push
                .map_err(|error| error.within("pushNotificationConfig"))?
                .map(Box::new),
            history_length: self.history_length,
            return_immediately: !blocking,
        })
    }

    /// Returns whether the client waits for the result, which is the default. ProtoJSON cannot
    /// encode `false` explicitly, so a missing flag in a ProtoJSON configuration means `false`, as
    /// sent by the newest SDK.
    fn is_blocking(&self, flavor: JsonFlavor) -> bool {
        match flavor {
            JsonFlavor::Schema => self.blocking.unwrap_or(true),
            JsonFlavor::ProtoJson => self.blocking.unwrap_or(false),
        }
    }
}

/// Parameters of an operation on one task.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskParams {
    #[serde(
        default,
        alias = "taskId",
        alias = "task_id",
        deserialize_with = "wire::optional_text"
    )]
    id: Option<TaskId>,
    #[serde(default, deserialize_with = "wire::optional_text")]
    name: Option<String>,
    #[serde(default, alias = "history_length", deserialize_with = "wire::count")]
    history_length: Option<u32>,
    #[serde(default, deserialize_with = "wire::nullable")]
    metadata: Metadata,
}

impl TaskParams {
    fn into_get(self) -> Result<Request, InvalidField> {
        let history_length = self.history_length;
        let id = self.task_id()?;
        Ok(Request::GetTask(GetTaskRequest { tenant: None, id, history_length }))
    }

    fn into_cancel(mut self) -> Result<Request, InvalidField> {
        let metadata = std::mem::take(&mut self.metadata);
        let id = self.task_id()?;
        Ok(Request::CancelTask(CancelTaskRequest { tenant: None, id, metadata }))
    }

    fn task_id(self) -> Result<TaskId, InvalidField> {
        match (self.id, self.name) {
            (Some(id), _) => Ok(id),
            (None, Some(name)) => {
                resource_name::parse_task(&name).map_err(|error| error.within("name"))
            }
            (None, None) => Err(InvalidField::missing("id")),
        }
    }
}

/// Parameters of an operation on the webhooks of a task. `id` is the task id unless `taskId` is
/// present.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PushParams {
    #[serde(default, alias = "task_id", deserialize_with = "wire::optional_text")]
    task_id: Option<TaskId>,
    #[serde(default, deserialize_with = "wire::optional_text")]
    id: Option<String>,
    #[serde(
        default,
        alias = "push_notification_config_id",
        deserialize_with = "wire::optional_text"
    )]
    push_notification_config_id: Option<PushConfigId>,
    #[serde(default, alias = "parent", deserialize_with = "wire::optional_text")]
    name: Option<String>,
    #[serde(default, alias = "page_size", deserialize_with = "wire::count")]
    page_size: Option<u32>,
    #[serde(default, alias = "page_token", deserialize_with = "wire::optional_text")]
    page_token: Option<String>,
}

impl PushParams {
    fn into_get(self) -> Result<Request, InvalidField> {
        let (task_id, id) = self.ids()?;
        let request = GetTaskPushNotificationConfigRequest { tenant: None, task_id, id };
        Ok(Request::GetTaskPushNotificationConfig(request))
    }

    fn into_delete(self) -> Result<Request, InvalidField> {
        let (task_id, id) = self.ids()?;
        let request = DeleteTaskPushNotificationConfigRequest { tenant: None, task_id, id };
        Ok(Request::DeleteTaskPushNotificationConfig(request))
    }

    fn into_list(mut self) -> Result<Request, InvalidField> {
        let (page_size, page_token) = (self.page_size, self.page_token.take());
        let (task_id, _) = self.ids()?;
        let tenant = None;
        let request =
            ListTaskPushNotificationConfigsRequest { tenant, task_id, page_size, page_token };
        Ok(Request::ListTaskPushNotificationConfigs(request))
    }

    fn ids(self) -> Result<(TaskId, Option<PushConfigId>), InvalidField> {
        let invalid = |error: crate::model::InvalidId| InvalidField::new("id", error.to_string());
        match (self.task_id, self.id, self.name) {
            (Some(task), id, _) => {
                let id = id.map(PushConfigId::new).transpose().map_err(invalid)?;
                Ok((task, self.push_notification_config_id.or(id)))
            }
            (None, Some(id), _) => {
                Ok((TaskId::new(id).map_err(invalid)?, self.push_notification_config_id))
            }
            (None, None, Some(name)) => {
                resource_name::parse_push_config(&name).map_err(|error| error.within("name"))
            }
            (None, None, None) => Err(InvalidField::missing("id")),
        }
    }
}

/// Webhook with its task, which is `taskId` in 0.3, `id` in 0.1, and part of a resource name in
/// ProtoJSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PushConfig {
    #[serde(default, alias = "task_id", deserialize_with = "wire::optional_text")]
    task_id: Option<TaskId>,
    #[serde(default, deserialize_with = "wire::optional_text")]
    id: Option<TaskId>,
    #[serde(default, deserialize_with = "wire::optional_text")]
    parent: Option<String>,
    #[serde(default, deserialize_with = "wire::optional_text")]
    name: Option<String>,
    #[serde(default, alias = "config_id", deserialize_with = "wire::nullable")]
    config_id: String,
    #[serde(default)]
    config: Option<Box<PushConfig>>,
    #[serde(default, alias = "push_notification_config")]
    push_notification_config: Option<PushTarget>,
}

impl PushConfig {
    /// Converts an existing webhook, whose resource name contains its id.
    pub(super) fn into_model(self) -> Result<TaskPushNotificationConfig, InvalidField> {
        let ids_in_name = self.name.as_deref().map(resource_name::parse_push_config).transpose();
        let id = ids_in_name.map_err(|error| error.within("name"))?.and_then(|(_, id)| id);
        let config = self.into_create()?;
        Ok(TaskPushNotificationConfig { id: config.id.clone().or(id), ..config })
    }

    /// Converts a webhook to be created. Its resource name provides only the task; the id may be
    /// `None` or `undefined`.
    fn into_create(self) -> Result<TaskPushNotificationConfig, InvalidField> {
        let mut task = self.task_id.or(self.id);
        if let Some(parent) = &self.parent {
            let parent =
                resource_name::parse_task(parent).map_err(|error| error.within("parent"))?;
            task.get_or_insert(parent);
        }
        if let Some(name) = &self.name {
            let (task_in_name, _) =
                resource_name::parse_push_config(name).map_err(|error| error.within("name"))?;
            task.get_or_insert(task_in_name);
        }
        let config = match (self.config, self.push_notification_config) {
            (Some(config), _) => config.into_create().map_err(|error| error.within("config"))?,
            (None, Some(target)) => {
                target.into_model().map_err(|error| error.within("pushNotificationConfig"))?
            }
            (None, None) => return Err(InvalidField::missing("pushNotificationConfig")),
        };
        let id = resource_name::parse_new_config_id(&self.config_id);
        let id = id.map_err(|error| InvalidField::new("configId", error.to_string()))?;
        Ok(TaskPushNotificationConfig {
            task_id: task.or(config.task_id),
            id: config.id.or(id),
            ..config
        })
    }
}

/// Webhook without its task.
#[derive(Deserialize)]
struct PushTarget {
    #[serde(default, deserialize_with = "wire::optional_text")]
    id: Option<PushConfigId>,
    url: String,
    #[serde(default, deserialize_with = "wire::optional_text")]
    token: Option<Secret>,
    #[serde(default)]
    authentication: Option<Authentication>,
}

/// Credentials with a list of schemes, of which the first is used.
#[derive(Deserialize)]
struct Authentication {
    #[serde(default, deserialize_with = "wire::nullable")]
    schemes: Vec<String>,
    #[serde(default, deserialize_with = "wire::optional_text")]
    credentials: Option<Secret>,
}

impl PushTarget {
    fn into_model(self) -> Result<TaskPushNotificationConfig, InvalidField> {
        if self.url.is_empty() {
            return Err(InvalidField::missing("url"));
        }
        let authentication = match self.authentication {
            None => None,
            Some(Authentication { schemes, credentials }) => match schemes.into_iter().next() {
                Some(scheme) if scheme.is_empty() => {
                    return Err(InvalidField::missing("authentication.schemes[0]"));
                }
                Some(scheme) => Some(AuthenticationInfo { scheme, credentials }),
                None if credentials.is_none() => None,
                None => return Err(InvalidField::missing("authentication.schemes")),
            },
        };
        Ok(TaskPushNotificationConfig {
            tenant: None,
            id: self.id,
            task_id: None,
            url: self.url,
            token: self.token,
            authentication,
        })
    }
}
