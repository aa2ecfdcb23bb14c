//! Where an agent pushes to, and the requests about that.

use latimer_pb::v1 as pb;

use crate::dialect::field::{count, each, id, number, optional, optional_id, text};
use crate::json::Invalid;
use crate::model::{
    AuthenticationInfo, DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse, Secret, TaskPushNotificationConfig,
};

impl From<&TaskPushNotificationConfig> for pb::TaskPushNotificationConfig {
    fn from(config: &TaskPushNotificationConfig) -> Self {
        let authentication = config.authentication.as_ref().map(|it| pb::AuthenticationInfo {
            scheme: it.scheme.clone(),
            credentials: text(it.credentials.as_ref().map(Secret::reveal)),
        });
        Self {
            tenant: text(config.tenant.as_deref()),
            id: text(config.id.as_ref().map(AsRef::as_ref)),
            task_id: text(config.task_id.as_ref().map(AsRef::as_ref)),
            url: config.url.clone(),
            token: text(config.token.as_ref().map(Secret::reveal)),
            authentication,
        }
    }
}

impl TryFrom<pb::TaskPushNotificationConfig> for TaskPushNotificationConfig {
    type Error = Invalid;

    fn try_from(config: pb::TaskPushNotificationConfig) -> Result<Self, Invalid> {
        let authentication = config.authentication.map(|it| AuthenticationInfo {
            scheme: it.scheme,
            credentials: optional(it.credentials).map(Secret::new),
        });
        Ok(Self {
            tenant: optional(config.tenant),
            id: optional_id(&config.id, "id")?,
            task_id: optional_id(&config.task_id, "taskId")?,
            url: config.url,
            token: optional(config.token).map(Secret::new),
            authentication,
        })
    }
}

impl From<&GetTaskPushNotificationConfigRequest> for pb::GetTaskPushNotificationConfigRequest {
    fn from(request: &GetTaskPushNotificationConfigRequest) -> Self {
        Self {
            tenant: text(request.tenant.as_deref()),
            task_id: request.task_id.to_string(),
            id: text(request.id.as_ref().map(AsRef::as_ref)),
        }
    }
}

impl TryFrom<pb::GetTaskPushNotificationConfigRequest> for GetTaskPushNotificationConfigRequest {
    type Error = Invalid;

    fn try_from(request: pb::GetTaskPushNotificationConfigRequest) -> Result<Self, Invalid> {
        Ok(Self {
            tenant: optional(request.tenant),
            task_id: id(&request.task_id, "taskId")?,
            id: Some(id(&request.id, "id")?),
        })
    }
}

impl From<&DeleteTaskPushNotificationConfigRequest>
    for pb::DeleteTaskPushNotificationConfigRequest
{
    fn from(request: &DeleteTaskPushNotificationConfigRequest) -> Self {
        Self {
            tenant: text(request.tenant.as_deref()),
            task_id: request.task_id.to_string(),
            id: text(request.id.as_ref().map(AsRef::as_ref)),
        }
    }
}

impl TryFrom<pb::DeleteTaskPushNotificationConfigRequest>
    for DeleteTaskPushNotificationConfigRequest
{
    type Error = Invalid;

    fn try_from(request: pb::DeleteTaskPushNotificationConfigRequest) -> Result<Self, Invalid> {
        Ok(Self {
            tenant: optional(request.tenant),
            task_id: id(&request.task_id, "taskId")?,
            id: Some(id(&request.id, "id")?),
        })
    }
}

impl From<&ListTaskPushNotificationConfigsRequest> for pb::ListTaskPushNotificationConfigsRequest {
    fn from(request: &ListTaskPushNotificationConfigsRequest) -> Self {
        Self {
            tenant: text(request.tenant.as_deref()),
            task_id: request.task_id.to_string(),
            page_size: request.page_size.map(number).unwrap_or_default(),
            page_token: text(request.page_token.as_deref()),
        }
    }
}

impl TryFrom<pb::ListTaskPushNotificationConfigsRequest>
    for ListTaskPushNotificationConfigsRequest
{
    type Error = Invalid;

    fn try_from(request: pb::ListTaskPushNotificationConfigsRequest) -> Result<Self, Invalid> {
        let page_size = count(Some(request.page_size), "pageSize")?;
        Ok(Self {
            tenant: optional(request.tenant),
            task_id: id(&request.task_id, "taskId")?,
            page_size: page_size.filter(|it| *it != 0),
            page_token: optional(request.page_token),
        })
    }
}

impl From<&ListTaskPushNotificationConfigsResponse>
    for pb::ListTaskPushNotificationConfigsResponse
{
    fn from(page: &ListTaskPushNotificationConfigsResponse) -> Self {
        Self {
            configs: page.configs.iter().map(Into::into).collect(),
            next_page_token: text(page.next_page_token.as_deref()),
        }
    }
}

impl TryFrom<pb::ListTaskPushNotificationConfigsResponse>
    for ListTaskPushNotificationConfigsResponse
{
    type Error = Invalid;

    fn try_from(page: pb::ListTaskPushNotificationConfigsResponse) -> Result<Self, Invalid> {
        Ok(Self {
            configs: each(page.configs, "configs")?,
            next_page_token: optional(page.next_page_token),
        })
    }
}
