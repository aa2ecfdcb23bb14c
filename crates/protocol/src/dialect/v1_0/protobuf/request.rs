//! Requests and list replies.

use latimer_pb::v1 as pb;

use crate::dialect::field::{
    convert_all, in_field, optional_count, optional_id, optional_text, parse_state, required,
    required_id, saturating_i32, text_or_empty,
};
use crate::dialect::wellknown::{from_struct, from_timestamp, to_struct, to_timestamp};
use crate::json::InvalidField;
use crate::model::{
    CancelTaskRequest, GetExtendedAgentCardRequest, GetTaskRequest, ListTasksRequest,
    ListTasksResponse, SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest,
    TaskState,
};

impl From<&SendMessageRequest> for pb::SendMessageRequest {
    fn from(request: &SendMessageRequest) -> Self {
        Self {
            tenant: text_or_empty(request.tenant.as_deref()),
            message: Some((&request.message).into()),
            configuration: request.configuration.as_ref().map(Into::into),
            metadata: to_struct(&request.metadata),
        }
    }
}

impl TryFrom<pb::SendMessageRequest> for SendMessageRequest {
    type Error = InvalidField;

    fn try_from(request: pb::SendMessageRequest) -> Result<Self, InvalidField> {
        let message = required(request.message, "message")?;
        let configuration = request.configuration.map(TryInto::try_into).transpose();
        Ok(Self {
            tenant: optional_text(request.tenant),
            message: in_field(message.try_into(), "message")?,
            configuration: in_field(configuration, "configuration")?,
            metadata: from_struct(request.metadata, "metadata")?,
        })
    }
}

impl From<&SendMessageConfiguration> for pb::SendMessageConfiguration {
    fn from(configuration: &SendMessageConfiguration) -> Self {
        let push = configuration.task_push_notification_config.as_deref();
        Self {
            accepted_output_modes: configuration.accepted_output_modes.clone(),
            task_push_notification_config: push.map(Into::into),
            history_length: configuration.history_length.map(saturating_i32),
            return_immediately: configuration.return_immediately,
        }
    }
}

impl TryFrom<pb::SendMessageConfiguration> for SendMessageConfiguration {
    type Error = InvalidField;

    fn try_from(configuration: pb::SendMessageConfiguration) -> Result<Self, InvalidField> {
        let push =
            configuration.task_push_notification_config.map(|it| it.try_into().map(Box::new));
        Ok(Self {
            accepted_output_modes: configuration.accepted_output_modes,
            task_push_notification_config: in_field(
                push.transpose(),
                "taskPushNotificationConfig",
            )?,
            history_length: optional_count(configuration.history_length, "historyLength")?,
            return_immediately: configuration.return_immediately,
        })
    }
}

impl From<&GetTaskRequest> for pb::GetTaskRequest {
    fn from(request: &GetTaskRequest) -> Self {
        Self {
            tenant: text_or_empty(request.tenant.as_deref()),
            id: request.id.to_string(),
            history_length: request.history_length.map(saturating_i32),
        }
    }
}

impl TryFrom<pb::GetTaskRequest> for GetTaskRequest {
    type Error = InvalidField;

    fn try_from(request: pb::GetTaskRequest) -> Result<Self, InvalidField> {
        Ok(Self {
            tenant: optional_text(request.tenant),
            id: required_id(&request.id, "id")?,
            history_length: optional_count(request.history_length, "historyLength")?,
        })
    }
}

impl From<&ListTasksRequest> for pb::ListTasksRequest {
    fn from(request: &ListTasksRequest) -> Self {
        Self {
            tenant: text_or_empty(request.tenant.as_deref()),
            context_id: text_or_empty(request.context_id.as_ref().map(AsRef::as_ref)),
            status: request.status.unwrap_or_default().number(),
            page_size: request.page_size.map(saturating_i32),
            page_token: text_or_empty(request.page_token.as_deref()),
            history_length: request.history_length.map(saturating_i32),
            status_timestamp_after: request.status_timestamp_after.map(to_timestamp),
            include_artifacts: request.include_artifacts,
        }
    }
}

impl TryFrom<pb::ListTasksRequest> for ListTasksRequest {
    type Error = InvalidField;

    fn try_from(request: pb::ListTasksRequest) -> Result<Self, InvalidField> {
        let status = parse_state(request.status, "status")?;
        let after = request.status_timestamp_after;
        Ok(Self {
            tenant: optional_text(request.tenant),
            context_id: optional_id(&request.context_id, "contextId")?,
            status: Some(status).filter(|it| *it != TaskState::Unspecified),
            page_size: optional_count(request.page_size, "pageSize")?,
            page_token: optional_text(request.page_token),
            history_length: optional_count(request.history_length, "historyLength")?,
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
            page_size: saturating_i32(page.page_size),
            total_size: saturating_i32(page.total_size),
        }
    }
}

impl TryFrom<pb::ListTasksResponse> for ListTasksResponse {
    type Error = InvalidField;

    fn try_from(page: pb::ListTasksResponse) -> Result<Self, InvalidField> {
        Ok(Self {
            tasks: convert_all(page.tasks, "tasks")?,
            next_page_token: page.next_page_token,
            page_size: optional_count(Some(page.page_size), "pageSize")?.unwrap_or_default(),
            total_size: optional_count(Some(page.total_size), "totalSize")?.unwrap_or_default(),
        })
    }
}

impl From<&CancelTaskRequest> for pb::CancelTaskRequest {
    fn from(request: &CancelTaskRequest) -> Self {
        Self {
            tenant: text_or_empty(request.tenant.as_deref()),
            id: request.id.to_string(),
            metadata: to_struct(&request.metadata),
        }
    }
}

impl TryFrom<pb::CancelTaskRequest> for CancelTaskRequest {
    type Error = InvalidField;

    fn try_from(request: pb::CancelTaskRequest) -> Result<Self, InvalidField> {
        Ok(Self {
            tenant: optional_text(request.tenant),
            id: required_id(&request.id, "id")?,
            metadata: from_struct(request.metadata, "metadata")?,
        })
    }
}

impl From<&SubscribeToTaskRequest> for pb::SubscribeToTaskRequest {
    fn from(request: &SubscribeToTaskRequest) -> Self {
        Self { tenant: text_or_empty(request.tenant.as_deref()), id: request.id.to_string() }
    }
}

impl TryFrom<pb::SubscribeToTaskRequest> for SubscribeToTaskRequest {
    type Error = InvalidField;

    fn try_from(request: pb::SubscribeToTaskRequest) -> Result<Self, InvalidField> {
        Ok(Self { tenant: optional_text(request.tenant), id: required_id(&request.id, "id")? })
    }
}

impl From<&GetExtendedAgentCardRequest> for pb::GetExtendedAgentCardRequest {
    fn from(request: &GetExtendedAgentCardRequest) -> Self {
        Self { tenant: text_or_empty(request.tenant.as_deref()) }
    }
}

impl From<pb::GetExtendedAgentCardRequest> for GetExtendedAgentCardRequest {
    fn from(request: pb::GetExtendedAgentCardRequest) -> Self {
        Self { tenant: optional_text(request.tenant) }
    }
}
