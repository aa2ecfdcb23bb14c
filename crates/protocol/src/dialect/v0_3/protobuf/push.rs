//! Webhooks and their requests.

use latimer_pb::v0_3 as pb;

use super::request::nonzero_count;
use crate::dialect::field::{
    convert_all, in_field, optional_id, optional_text, required, saturating_i32, text_or_empty,
};
use crate::dialect::v0_3::resource_name;
use crate::json::InvalidField;
use crate::model::{
    AuthenticationInfo, DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, Secret, TaskPushNotificationConfig,
};

impl From<&TaskPushNotificationConfig> for pb::PushNotificationConfig {
    fn from(config: &TaskPushNotificationConfig) -> Self {
        let authentication = config.authentication.as_ref().map(|it| pb::AuthenticationInfo {
            schemes: vec![it.scheme.clone()],
            credentials: text_or_empty(it.credentials.as_ref().map(Secret::reveal)),
        });
        Self {
            id: text_or_empty(config.id.as_ref().map(AsRef::as_ref)),
            url: config.url.clone(),
            token: text_or_empty(config.token.as_ref().map(Secret::reveal)),
            authentication,
        }
    }
}

impl TryFrom<pb::PushNotificationConfig> for TaskPushNotificationConfig {
    type Error = InvalidField;

    fn try_from(config: pb::PushNotificationConfig) -> Result<Self, InvalidField> {
        let authentication = match config.authentication {
            Some(it) => match it.schemes.into_iter().next() {
                Some(scheme) => {
                    let credentials = optional_text(it.credentials).map(Secret::new);
                    Some(AuthenticationInfo { scheme, credentials })
                }
                None if it.credentials.is_empty() => None,
                None => return Err(InvalidField::missing("authentication.schemes")),
            },
            None => None,
        };
        Ok(Self {
            tenant: None,
            id: optional_id(&config.id, "id")?,
            task_id: None,
            url: config.url,
            token: optional_text(config.token).map(Secret::new),
            authentication,
        })
    }
}

impl From<&TaskPushNotificationConfig> for pb::TaskPushNotificationConfig {
    fn from(config: &TaskPushNotificationConfig) -> Self {
        let task = config.task_id.as_ref();
        Self {
            name: task.map_or_else(String::new, |task| {
                resource_name::format_push_config(task, config.id.as_ref())
            }),
            push_notification_config: Some(config.into()),
        }
    }
}

impl TryFrom<pb::TaskPushNotificationConfig> for TaskPushNotificationConfig {
    type Error = InvalidField;

    fn try_from(config: pb::TaskPushNotificationConfig) -> Result<Self, InvalidField> {
        let target = required(config.push_notification_config, "pushNotificationConfig")?;
        let target: Self = in_field(target.try_into(), "pushNotificationConfig")?;
        if config.name.is_empty() {
            return Ok(target);
        }
        let (task, id) = in_field(resource_name::parse_push_config(&config.name), "name")?;
        Ok(Self { task_id: Some(task), id: target.id.clone().or(id), ..target })
    }
}

impl From<&TaskPushNotificationConfig> for pb::CreateTaskPushNotificationConfigRequest {
    fn from(config: &TaskPushNotificationConfig) -> Self {
        Self {
            parent: config.task_id.as_ref().map(resource_name::format_task).unwrap_or_default(),
            config_id: text_or_empty(config.id.as_ref().map(AsRef::as_ref)),
            config: Some(config.into()),
        }
    }
}

impl TryFrom<pb::CreateTaskPushNotificationConfigRequest> for TaskPushNotificationConfig {
    type Error = InvalidField;

    fn try_from(
        request: pb::CreateTaskPushNotificationConfigRequest,
    ) -> Result<Self, InvalidField> {
        let config = required(request.config, "config")?;
        let task_id = if request.parent.is_empty() {
            in_field(resource_name::parse_push_config(&config.name), "config.name")?.0
        } else {
            in_field(resource_name::parse_task(&request.parent), "parent")?
        };
        // The inner name is ignored, because it may be `None` for a missing id.
        let target = config.push_notification_config;
        let target = required(target, "config.pushNotificationConfig")?;
        let target: Self = in_field(target.try_into(), "config.pushNotificationConfig")?;
        let id = resource_name::parse_new_config_id(&request.config_id);
        let id = id.map_err(|error| InvalidField::new("configId", error.to_string()))?;
        let id = target.id.clone().or(id);
        Ok(Self { task_id: Some(task_id), id, ..target })
    }
}

impl From<&GetTaskPushNotificationConfigRequest> for pb::GetTaskPushNotificationConfigRequest {
    fn from(request: &GetTaskPushNotificationConfigRequest) -> Self {
        Self { name: resource_name::format_push_config(&request.task_id, request.id.as_ref()) }
    }
}

impl TryFrom<pb::GetTaskPushNotificationConfigRequest> for GetTaskPushNotificationConfigRequest {
    type Error = InvalidField;

    fn try_from(request: pb::GetTaskPushNotificationConfigRequest) -> Result<Self, InvalidField> {
        let (task_id, id) = in_field(resource_name::parse_push_config(&request.name), "name")?;
        Ok(Self { tenant: None, task_id, id })
    }
}

impl From<&DeleteTaskPushNotificationConfigRequest>
    for pb::DeleteTaskPushNotificationConfigRequest
{
    fn from(request: &DeleteTaskPushNotificationConfigRequest) -> Self {
        Self { name: resource_name::format_push_config(&request.task_id, request.id.as_ref()) }
    }
}

impl TryFrom<pb::DeleteTaskPushNotificationConfigRequest>
    for DeleteTaskPushNotificationConfigRequest
{
    type Error = InvalidField;

    fn try_from(
        request: pb::DeleteTaskPushNotificationConfigRequest,
    ) -> Result<Self, InvalidField> {
        let (task_id, id) = in_field(resource_name::parse_push_config(&request.name), "name")?;
        Ok(Self { tenant: None, task_id, id })
    }
}

impl From<&ListTaskPushNotificationConfigsRequest> for pb::ListTaskPushNotificationConfigRequest {
    fn from(request: &ListTaskPushNotificationConfigsRequest) -> Self {
        Self {
            parent: resource_name::format_task(&request.task_id),
            page_size: request.page_size.map(saturating_i32).unwrap_or_default(),
            page_token: text_or_empty(request.page_token.as_deref()),
        }
    }
}

impl TryFrom<pb::ListTaskPushNotificationConfigRequest> for ListTaskPushNotificationConfigsRequest {
    type Error = InvalidField;

    fn try_from(request: pb::ListTaskPushNotificationConfigRequest) -> Result<Self, InvalidField> {
        Ok(Self {
            tenant: None,
            task_id: in_field(resource_name::parse_task(&request.parent), "parent")?,
            page_size: nonzero_count(request.page_size, "pageSize")?,
            page_token: optional_text(request.page_token),
        })
    }
}

impl From<&ListTaskPushNotificationConfigsResponse> for pb::ListTaskPushNotificationConfigResponse {
    fn from(page: &ListTaskPushNotificationConfigsResponse) -> Self {
        Self {
            configs: page.configs.iter().map(Into::into).collect(),
            next_page_token: text_or_empty(page.next_page_token.as_deref()),
        }
    }
}

impl TryFrom<pb::ListTaskPushNotificationConfigResponse>
    for ListTaskPushNotificationConfigsResponse
{
    type Error = InvalidField;

    fn try_from(page: pb::ListTaskPushNotificationConfigResponse) -> Result<Self, InvalidField> {
        Ok(Self {
            configs: convert_all(page.configs, "configs")?,
            next_page_token: optional_text(page.next_page_token),
        })
    }
}
