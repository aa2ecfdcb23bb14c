//! Webhooks and their requests.

use latimer_pb::v1 as pb;

use crate::dialect::field::{
    convert_all, optional_count, optional_id, optional_text, required_id, saturating_i32,
    text_or_empty,
};
use crate::json::InvalidField;
use crate::model::{
    AuthenticationInfo, DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, Secret, TaskPushNotificationConfig,
};

impl From<&TaskPushNotificationConfig> for pb::TaskPushNotificationConfig {
    fn from(config: &TaskPushNotificationConfig) -> Self {
        let authentication = config.authentication.as_ref().map(|it| pb::AuthenticationInfo {
            scheme: it.scheme.clone(),
            credentials: text_or_empty(it.credentials.as_ref().map(Secret::reveal)),
        });
        Self {
            tenant: text_or_empty(config.tenant.as_deref()),
            id: text_or_empty(config.id.as_ref().map(AsRef::as_ref)),
            task_id: text_or_empty(config.task_id.as_ref().map(AsRef::as_ref)),
            url: config.url.clone(),
            token: text_or_empty(config.token.as_ref().map(Secret::reveal)),
            authentication,
        }
    }
}

impl TryFrom<pb::TaskPushNotificationConfig> for TaskPushNotificationConfig {
    type Error = InvalidField;

    fn try_from(config: pb::TaskPushNotificationConfig) -> Result<Self, InvalidField> {
        let authentication = config.authentication.map(|it| AuthenticationInfo {
            scheme: it.scheme,
            credentials: optional_text(it.credentials).map(Secret::new),
        });
        Ok(Self {
            tenant: optional_text(config.tenant),
            id: optional_id(&config.id, "id")?,
            task_id: optional_id(&config.task_id, "taskId")?,
            url: config.url,
            token: optional_text(config.token).map(Secret::new),
            authentication,
        })
    }
}

impl From<&GetTaskPushNotificationConfigRequest> for pb::GetTaskPushNotificationConfigRequest {
    fn from(request: &GetTaskPushNotificationConfigRequest) -> Self {
        Self {
            tenant: text_or_empty(request.tenant.as_deref()),
            task_id: request.task_id.to_string(),
            id: text_or_empty(request.id.as_ref().map(AsRef::as_ref)),
        }
    }
}

impl TryFrom<pb::GetTaskPushNotificationConfigRequest> for GetTaskPushNotificationConfigRequest {
    type Error = InvalidField;

    fn try_from(request: pb::GetTaskPushNotificationConfigRequest) -> Result<Self, InvalidField> {
        Ok(Self {
            tenant: optional_text(request.tenant),
            task_id: required_id(&request.task_id, "taskId")?,
            id: Some(required_id(&request.id, "id")?),
        })
    }
}

impl From<&DeleteTaskPushNotificationConfigRequest>
    for pb::DeleteTaskPushNotificationConfigRequest
{
    fn from(request: &DeleteTaskPushNotificationConfigRequest) -> Self {
        Self {
            tenant: text_or_empty(request.tenant.as_deref()),
            task_id: request.task_id.to_string(),
            id: text_or_empty(request.id.as_ref().map(AsRef::as_ref)),
        }
    }
}

impl TryFrom<pb::DeleteTaskPushNotificationConfigRequest>
    for DeleteTaskPushNotificationConfigRequest
{
    type Error = InvalidField;

    fn try_from(
        request: pb::DeleteTaskPushNotificationConfigRequest,
    ) -> Result<Self, InvalidField> {
        Ok(Self {
            tenant: optional_text(request.tenant),
            task_id: required_id(&request.task_id, "taskId")?,
            id: Some(required_id(&request.id, "id")?),
        })
    }
}

impl From<&ListTaskPushNotificationConfigsRequest> for pb::ListTaskPushNotificationConfigsRequest {
    fn from(request: &ListTaskPushNotificationConfigsRequest) -> Self {
        Self {
            tenant: text_or_empty(request.tenant.as_deref()),
            task_id: request.task_id.to_string(),
            page_size: request.page_size.map(saturating_i32).unwrap_or_default(),
            page_token: text_or_empty(request.page_token.as_deref()),
        }
    }
}

impl TryFrom<pb::ListTaskPushNotificationConfigsRequest>
    for ListTaskPushNotificationConfigsRequest
{
    type Error = InvalidField;

    fn try_from(request: pb::ListTaskPushNotificationConfigsRequest) -> Result<Self, InvalidField> {
        let page_size = optional_count(Some(request.page_size), "pageSize")?;
        Ok(Self {
            tenant: optional_text(request.tenant),
            task_id: required_id(&request.task_id, "taskId")?,
            page_size: page_size.filter(|it| *it != 0),
            page_token: optional_text(request.page_token),
        })
    }
}

impl From<&ListTaskPushNotificationConfigsResponse>
    for pb::ListTaskPushNotificationConfigsResponse
{
    fn from(page: &ListTaskPushNotificationConfigsResponse) -> Self {
        Self {
            configs: page.configs.iter().map(Into::into).collect(),
            next_page_token: text_or_empty(page.next_page_token.as_deref()),
        }
    }
}

impl TryFrom<pb::ListTaskPushNotificationConfigsResponse>
    for ListTaskPushNotificationConfigsResponse
{
    type Error = InvalidField;

    fn try_from(page: pb::ListTaskPushNotificationConfigsResponse) -> Result<Self, InvalidField> {
        Ok(Self {
            configs: convert_all(page.configs, "configs")?,
            next_page_token: optional_text(page.next_page_token),
        })
    }
}
