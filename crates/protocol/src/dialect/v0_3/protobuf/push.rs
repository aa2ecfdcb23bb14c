//! Where an agent pushes to, and the requests about that.

use latimer_pb::v0_3 as pb;

use super::request::length;
use crate::dialect::field::{each, named, number, optional, optional_id, required, text};
use crate::dialect::v0_3::name;
use crate::json::Invalid;
use crate::model::{
    AuthenticationInfo, DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, Secret, TaskPushNotificationConfig,
};

impl From<&TaskPushNotificationConfig> for pb::PushNotificationConfig {
    fn from(config: &TaskPushNotificationConfig) -> Self {
        let authentication = config.authentication.as_ref().map(|it| pb::AuthenticationInfo {
            schemes: vec![it.scheme.clone()],
            credentials: text(it.credentials.as_ref().map(Secret::reveal)),
        });
        Self {
            id: text(config.id.as_ref().map(AsRef::as_ref)),
            url: config.url.clone(),
            token: text(config.token.as_ref().map(Secret::reveal)),
            authentication,
        }
    }
}

impl TryFrom<pb::PushNotificationConfig> for TaskPushNotificationConfig {
    type Error = Invalid;

    fn try_from(config: pb::PushNotificationConfig) -> Result<Self, Invalid> {
        let authentication = match config.authentication {
            Some(it) => match it.schemes.into_iter().next() {
                Some(scheme) => {
                    let credentials = optional(it.credentials).map(Secret::new);
                    Some(AuthenticationInfo { scheme, credentials })
                }
                None if it.credentials.is_empty() => None,
                None => return Err(Invalid::missing("authentication.schemes")),
            },
            None => None,
        };
        Ok(Self {
            tenant: None,
            id: optional_id(&config.id, "id")?,
            task_id: None,
            url: config.url,
            token: optional(config.token).map(Secret::new),
            authentication,
        })
    }
}

impl From<&TaskPushNotificationConfig> for pb::TaskPushNotificationConfig {
    fn from(config: &TaskPushNotificationConfig) -> Self {
        let task = config.task_id.as_ref();
        Self {
            name: task
                .map_or_else(String::new, |task| name::of_push_config(task, config.id.as_ref())),
            push_notification_config: Some(config.into()),
        }
    }
}

impl TryFrom<pb::TaskPushNotificationConfig> for TaskPushNotificationConfig {
    type Error = Invalid;

    fn try_from(config: pb::TaskPushNotificationConfig) -> Result<Self, Invalid> {
        let target = required(config.push_notification_config, "pushNotificationConfig")?;
        let target: Self = named(target.try_into(), "pushNotificationConfig")?;
        if config.name.is_empty() {
            return Ok(target);
        }
        let (task, id) = named(name::push_config(&config.name), "name")?;
        Ok(Self { task_id: Some(task), id: target.id.clone().or(id), ..target })
    }
}

impl From<&TaskPushNotificationConfig> for pb::CreateTaskPushNotificationConfigRequest {
    fn from(config: &TaskPushNotificationConfig) -> Self {
        Self {
            parent: config.task_id.as_ref().map(name::of_task).unwrap_or_default(),
            config_id: text(config.id.as_ref().map(AsRef::as_ref)),
            config: Some(config.into()),
        }
    }
}

impl TryFrom<pb::CreateTaskPushNotificationConfigRequest> for TaskPushNotificationConfig {
    type Error = Invalid;

    fn try_from(request: pb::CreateTaskPushNotificationConfigRequest) -> Result<Self, Invalid> {
        let config = required(request.config, "config")?;
        let task_id = if request.parent.is_empty() {
            named(name::push_config(&config.name), "config.name")?.0
        } else {
            named(name::task(&request.parent), "parent")?
        };
        // The name inside is not looked at: it may say `None` for no id.
        let target = config.push_notification_config;
        let target = required(target, "config.pushNotificationConfig")?;
        let target: Self = named(target.try_into(), "config.pushNotificationConfig")?;
        let id = name::new_push_config(&request.config_id);
        let id = id.map_err(|error| Invalid::new("configId", error.to_string()))?;
        let id = target.id.clone().or(id);
        Ok(Self { task_id: Some(task_id), id, ..target })
    }
}

impl From<&GetTaskPushNotificationConfigRequest> for pb::GetTaskPushNotificationConfigRequest {
    fn from(request: &GetTaskPushNotificationConfigRequest) -> Self {
        Self { name: name::of_push_config(&request.task_id, request.id.as_ref()) }
    }
}

impl TryFrom<pb::GetTaskPushNotificationConfigRequest> for GetTaskPushNotificationConfigRequest {
    type Error = Invalid;

    fn try_from(request: pb::GetTaskPushNotificationConfigRequest) -> Result<Self, Invalid> {
        let (task_id, id) = named(name::push_config(&request.name), "name")?;
        Ok(Self { tenant: None, task_id, id })
    }
}

impl From<&DeleteTaskPushNotificationConfigRequest>
    for pb::DeleteTaskPushNotificationConfigRequest
{
    fn from(request: &DeleteTaskPushNotificationConfigRequest) -> Self {
        Self { name: name::of_push_config(&request.task_id, request.id.as_ref()) }
    }
}

impl TryFrom<pb::DeleteTaskPushNotificationConfigRequest>
    for DeleteTaskPushNotificationConfigRequest
{
    type Error = Invalid;

    fn try_from(request: pb::DeleteTaskPushNotificationConfigRequest) -> Result<Self, Invalid> {
        let (task_id, id) = named(name::push_config(&request.name), "name")?;
        Ok(Self { tenant: None, task_id, id })
    }
}

impl From<&ListTaskPushNotificationConfigsRequest> for pb::ListTaskPushNotificationConfigRequest {
    fn from(request: &ListTaskPushNotificationConfigsRequest) -> Self {
        Self {
            parent: name::of_task(&request.task_id),
            page_size: request.page_size.map(number).unwrap_or_default(),
            page_token: text(request.page_token.as_deref()),
        }
    }
}

impl TryFrom<pb::ListTaskPushNotificationConfigRequest> for ListTaskPushNotificationConfigsRequest {
    type Error = Invalid;

    fn try_from(request: pb::ListTaskPushNotificationConfigRequest) -> Result<Self, Invalid> {
        Ok(Self {
            tenant: None,
            task_id: named(name::task(&request.parent), "parent")?,
            page_size: length(request.page_size, "pageSize")?,
            page_token: optional(request.page_token),
        })
    }
}

impl From<&ListTaskPushNotificationConfigsResponse> for pb::ListTaskPushNotificationConfigResponse {
    fn from(page: &ListTaskPushNotificationConfigsResponse) -> Self {
        Self {
            configs: page.configs.iter().map(Into::into).collect(),
            next_page_token: text(page.next_page_token.as_deref()),
        }
    }
}

impl TryFrom<pb::ListTaskPushNotificationConfigResponse>
    for ListTaskPushNotificationConfigsResponse
{
    type Error = Invalid;

    fn try_from(page: pb::ListTaskPushNotificationConfigResponse) -> Result<Self, Invalid> {
        Ok(Self {
            configs: each(page.configs, "configs")?,
            next_page_token: optional(page.next_page_token),
        })
    }
}
