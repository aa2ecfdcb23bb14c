//! Requests and the replies that are no objects themselves.

use latimer_pb::v1 as pb;

use crate::dialect::field::{
    count, each, id, named, number, optional, optional_id, required, state, text,
};
use crate::dialect::wellknown::{from_struct, from_timestamp, to_struct, to_timestamp};
use crate::json::Invalid;
use crate::model::{
    AuthenticationInfo, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    ListTasksRequest, ListTasksResponse, Secret, SendMessageConfiguration, SendMessageRequest,
    SendMessageResponse, StreamResponse, SubscribeToTaskRequest, TaskPushNotificationConfig,
    TaskState,
};

impl From<&SendMessageResponse> for pb::SendMessageResponse {
    fn from(response: &SendMessageResponse) -> Self {
        use pb::send_message_response::Payload;
        let payload = match response {
            SendMessageResponse::Task(task) => Payload::Task(task.into()),
            SendMessageResponse::Message(message) => Payload::Message(message.into()),
        };
        Self { payload: Some(payload) }
    }
}

impl TryFrom<pb::SendMessageResponse> for SendMessageResponse {
    type Error = Invalid;

    fn try_from(response: pb::SendMessageResponse) -> Result<Self, Invalid> {
        use pb::send_message_response::Payload;
        match response.payload {
            Some(Payload::Task(it)) => named(it.try_into().map(Self::Task), "task"),
            Some(Payload::Message(it)) => named(it.try_into().map(Self::Message), "message"),
            None => Err(Invalid::new("", "needs one of task or message")),
        }
    }
}

impl From<&StreamResponse> for pb::StreamResponse {
    fn from(response: &StreamResponse) -> Self {
        use pb::stream_response::Payload;
        let payload = match response {
            StreamResponse::Task(it) => Payload::Task(it.into()),
            StreamResponse::Message(it) => Payload::Message(it.into()),
            StreamResponse::StatusUpdate(it) => Payload::StatusUpdate(it.into()),
            StreamResponse::ArtifactUpdate(it) => Payload::ArtifactUpdate(it.into()),
        };
        Self { payload: Some(payload) }
    }
}

impl TryFrom<pb::StreamResponse> for StreamResponse {
    type Error = Invalid;

    fn try_from(response: pb::StreamResponse) -> Result<Self, Invalid> {
        use pb::stream_response::Payload;
        match response.payload {
            Some(Payload::Task(it)) => named(it.try_into().map(Self::Task), "task"),
            Some(Payload::Message(it)) => named(it.try_into().map(Self::Message), "message"),
            Some(Payload::StatusUpdate(it)) => {
                named(it.try_into().map(Self::StatusUpdate), "statusUpdate")
            }
            Some(Payload::ArtifactUpdate(it)) => {
                named(it.try_into().map(Self::ArtifactUpdate), "artifactUpdate")
            }
            None => {
                let problem = "needs one of task, message, statusUpdate or artifactUpdate";
                Err(Invalid::new("", problem))
            }
        }
    }
}

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

impl From<&SendMessageRequest> for pb::SendMessageRequest {
    fn from(request: &SendMessageRequest) -> Self {
        Self {
            tenant: text(request.tenant.as_deref()),
            message: Some((&request.message).into()),
            configuration: request.configuration.as_ref().map(Into::into),
            metadata: to_struct(&request.metadata),
        }
    }
}

impl TryFrom<pb::SendMessageRequest> for SendMessageRequest {
    type Error = Invalid;

    fn try_from(request: pb::SendMessageRequest) -> Result<Self, Invalid> {
        let message = required(request.message, "message")?;
        let configuration = request.configuration.map(TryInto::try_into).transpose();
        Ok(Self {
            tenant: optional(request.tenant),
            message: named(message.try_into(), "message")?,
            configuration: named(configuration, "configuration")?,
            metadata: from_struct(request.metadata, "metadata")?,
        })
    }
}

impl From<&SendMessageConfiguration> for pb::SendMessageConfiguration {
    fn from(configuration: &SendMessageConfiguration) -> Self {
        let push = configuration.task_push_notification_config.as_ref();
        Self {
            accepted_output_modes: configuration.accepted_output_modes.clone(),
            task_push_notification_config: push.map(Into::into),
            history_length: configuration.history_length.map(number),
            return_immediately: configuration.return_immediately,
        }
    }
}

impl TryFrom<pb::SendMessageConfiguration> for SendMessageConfiguration {
    type Error = Invalid;

    fn try_from(configuration: pb::SendMessageConfiguration) -> Result<Self, Invalid> {
        let push = configuration.task_push_notification_config.map(TryInto::try_into).transpose();
        Ok(Self {
            accepted_output_modes: configuration.accepted_output_modes,
            task_push_notification_config: named(push, "taskPushNotificationConfig")?,
            history_length: count(configuration.history_length, "historyLength")?,
            return_immediately: configuration.return_immediately,
        })
    }
}

impl From<&GetTaskRequest> for pb::GetTaskRequest {
    fn from(request: &GetTaskRequest) -> Self {
        Self {
            tenant: text(request.tenant.as_deref()),
            id: request.id.to_string(),
            history_length: request.history_length.map(number),
        }
    }
}

impl TryFrom<pb::GetTaskRequest> for GetTaskRequest {
    type Error = Invalid;

    fn try_from(request: pb::GetTaskRequest) -> Result<Self, Invalid> {
        Ok(Self {
            tenant: optional(request.tenant),
            id: id(&request.id, "id")?,
            history_length: count(request.history_length, "historyLength")?,
        })
    }
}

impl From<&ListTasksRequest> for pb::ListTasksRequest {
    fn from(request: &ListTasksRequest) -> Self {
        Self {
            tenant: text(request.tenant.as_deref()),
            context_id: text(request.context_id.as_ref().map(AsRef::as_ref)),
            status: request.status.unwrap_or_default().number(),
            page_size: request.page_size.map(number),
            page_token: text(request.page_token.as_deref()),
            history_length: request.history_length.map(number),
            status_timestamp_after: request.status_timestamp_after.map(to_timestamp),
            include_artifacts: request.include_artifacts,
        }
    }
}

impl TryFrom<pb::ListTasksRequest> for ListTasksRequest {
    type Error = Invalid;

    fn try_from(request: pb::ListTasksRequest) -> Result<Self, Invalid> {
        let status = state(request.status, "status")?;
        let after = request.status_timestamp_after;
        Ok(Self {
            tenant: optional(request.tenant),
            context_id: optional_id(&request.context_id, "contextId")?,
            status: Some(status).filter(|it| *it != TaskState::Unspecified),
            page_size: count(request.page_size, "pageSize")?,
            page_token: optional(request.page_token),
            history_length: count(request.history_length, "historyLength")?,
            status_timestamp_after: after
                .map(|it| from_timestamp(it, "statusTimestampAfter"))
                .transpose()?,
            include_artifacts: request.include_artifacts,
        })
    }
}

impl From<&ListTasksResponse> for pb::ListTasksResponse {
    fn from(page: &ListTasksResponse) -> Self {
        Self {
            tasks: page.tasks.iter().map(Into::into).collect(),
            next_page_token: page.next_page_token.clone(),
            page_size: number(page.page_size),
            total_size: number(page.total_size),
        }
    }
}

impl TryFrom<pb::ListTasksResponse> for ListTasksResponse {
    type Error = Invalid;

    fn try_from(page: pb::ListTasksResponse) -> Result<Self, Invalid> {
        Ok(Self {
            tasks: each(page.tasks, "tasks")?,
            next_page_token: page.next_page_token,
            page_size: count(Some(page.page_size), "pageSize")?.unwrap_or_default(),
            total_size: count(Some(page.total_size), "totalSize")?.unwrap_or_default(),
        })
    }
}

impl From<&CancelTaskRequest> for pb::CancelTaskRequest {
    fn from(request: &CancelTaskRequest) -> Self {
        Self {
            tenant: text(request.tenant.as_deref()),
            id: request.id.to_string(),
            metadata: to_struct(&request.metadata),
        }
    }
}

impl TryFrom<pb::CancelTaskRequest> for CancelTaskRequest {
    type Error = Invalid;

    fn try_from(request: pb::CancelTaskRequest) -> Result<Self, Invalid> {
        Ok(Self {
            tenant: optional(request.tenant),
            id: id(&request.id, "id")?,
            metadata: from_struct(request.metadata, "metadata")?,
        })
    }
}

impl From<&SubscribeToTaskRequest> for pb::SubscribeToTaskRequest {
    fn from(request: &SubscribeToTaskRequest) -> Self {
        Self { tenant: text(request.tenant.as_deref()), id: request.id.to_string() }
    }
}

impl TryFrom<pb::SubscribeToTaskRequest> for SubscribeToTaskRequest {
    type Error = Invalid;

    fn try_from(request: pb::SubscribeToTaskRequest) -> Result<Self, Invalid> {
        Ok(Self { tenant: optional(request.tenant), id: id(&request.id, "id")? })
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

impl From<&GetExtendedAgentCardRequest> for pb::GetExtendedAgentCardRequest {
    fn from(request: &GetExtendedAgentCardRequest) -> Self {
        Self { tenant: text(request.tenant.as_deref()) }
    }
}

impl From<pb::GetExtendedAgentCardRequest> for GetExtendedAgentCardRequest {
    fn from(request: pb::GetExtendedAgentCardRequest) -> Self {
        Self { tenant: optional(request.tenant) }
    }
}
