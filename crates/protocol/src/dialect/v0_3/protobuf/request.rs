//! Requests and list replies.

use latimer_pb::v0_3 as pb;

use crate::dialect::field::{
    convert_all, in_field, optional_count, optional_id, optional_text, parse_state, required,
    saturating_i32, text_or_empty,
};
use crate::dialect::v0_3::resource_name;
use crate::dialect::wellknown::{from_struct, from_timestamp, to_struct, to_timestamp};
use crate::json::InvalidField;
use crate::model::{
    CancelTaskRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse, Metadata,
    SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest, TaskState,
};

/// Converts a count in which 0 means absent.
pub(super) fn nonzero_count(value: i32, field: &str) -> Result<Option<u32>, InvalidField> {
    Ok(optional_count(Some(value), field)?.filter(|it| *it != 0))
}

impl From<&SendMessageRequest> for pb::SendMessageRequest {
    fn from(request: &SendMessageRequest) -> Self {
        Self {
            request: Some((&request.message).into()),
            // Without a configuration, servers take the missing `blocking` for `false`.
            configuration: Some(
                request
                    .configuration
                    .as_ref()
                    .map_or_else(|| (&SendMessageConfiguration::default()).into(), Into::into),
            ),
            metadata: to_struct(&request.metadata),
        }
    }
}

impl TryFrom<pb::SendMessageRequest> for SendMessageRequest {
    type Error = InvalidField;

    fn try_from(request: pb::SendMessageRequest) -> Result<Self, InvalidField> {
        let message = required(request.request, "message")?;
        let configuration = request.configuration.map(TryInto::try_into).transpose();
        let configuration: Option<SendMessageConfiguration> =
            in_field(configuration, "configuration")?;
        Ok(Self {
            tenant: None,
            message: in_field(message.try_into(), "message")?,
            // An empty configuration counts as absent.
            configuration: configuration.filter(|it| *it != SendMessageConfiguration::default()),
            metadata: from_struct(request.metadata, "metadata")?,
        })
    }
}

impl From<&SendMessageConfiguration> for pb::SendMessageConfiguration {
    fn from(configuration: &SendMessageConfiguration) -> Self {
        let push = configuration.task_push_notification_config.as_deref();
        Self {
            accepted_output_modes: configuration.accepted_output_modes.clone(),
            push_notification: push.map(Into::into),
            history_length: configuration.history_length.map(saturating_i32).unwrap_or_default(),
            blocking: !configuration.return_immediately,
        }
    }
}

impl TryFrom<pb::SendMessageConfiguration> for SendMessageConfiguration {
    type Error = InvalidField;

    fn try_from(configuration: pb::SendMessageConfiguration) -> Result<Self, InvalidField> {
        // `blocking` has no presence, so `false` is honored even in an otherwise empty
        // configuration. Clients that wait set it or omit the configuration.
        let push = configuration.push_notification.map(|it| it.try_into().map(Box::new));
        Ok(Self {
            accepted_output_modes: configuration.accepted_output_modes,
            task_push_notification_config: in_field(push.transpose(), "pushNotification")?,
            history_length: nonzero_count(configuration.history_length, "historyLength")?,
            return_immediately: !configuration.blocking,
        })
    }
}

impl From<&GetTaskRequest> for pb::GetTaskRequest {
    fn from(request: &GetTaskRequest) -> Self {
        Self {
            name: resource_name::format_task(&request.id),
            history_length: request.history_length.map(saturating_i32).unwrap_or_default(),
        }
    }
}

impl TryFrom<pb::GetTaskRequest> for GetTaskRequest {
    type Error = InvalidField;

    fn try_from(request: pb::GetTaskRequest) -> Result<Self, InvalidField> {
        Ok(Self {
            tenant: None,
            id: in_field(resource_name::parse_task(&request.name), "name")?,
            history_length: nonzero_count(request.history_length, "historyLength")?,
        })
    }
}

impl From<&CancelTaskRequest> for pb::CancelTaskRequest {
    fn from(request: &CancelTaskRequest) -> Self {
        Self { name: resource_name::format_task(&request.id) }
    }
}

impl TryFrom<pb::CancelTaskRequest> for CancelTaskRequest {
    type Error = InvalidField;

    fn try_from(request: pb::CancelTaskRequest) -> Result<Self, InvalidField> {
        let id = in_field(resource_name::parse_task(&request.name), "name")?;
        Ok(Self { tenant: None, id, metadata: Metadata::new() })
    }
}

impl From<&SubscribeToTaskRequest> for pb::TaskSubscriptionRequest {
    fn from(request: &SubscribeToTaskRequest) -> Self {
        Self { name: resource_name::format_task(&request.id) }
    }
}

impl TryFrom<pb::TaskSubscriptionRequest> for SubscribeToTaskRequest {
    type Error = InvalidField;

    fn try_from(request: pb::TaskSubscriptionRequest) -> Result<Self, InvalidField> {
        Ok(Self { tenant: None, id: in_field(resource_name::parse_task(&request.name), "name")? })
    }
}

impl From<&ListTasksRequest> for pb::ListTasksRequest {
    fn from(request: &ListTasksRequest) -> Self {
        Self {
            context_id: text_or_empty(request.context_id.as_ref().map(AsRef::as_ref)),
            status: request.status.unwrap_or_default().number(),
            page_size: request.page_size.map(saturating_i32).unwrap_or_default(),
            page_token: text_or_empty(request.page_token.as_deref()),
            history_length: request.history_length.map(saturating_i32).unwrap_or_default(),
            last_updated_time: request.status_timestamp_after.map(to_timestamp),
            include_artifacts: request.include_artifacts.unwrap_or_default(),
        }
    }
}

impl TryFrom<pb::ListTasksRequest> for ListTasksRequest {
    type Error = InvalidField;

    fn try_from(request: pb::ListTasksRequest) -> Result<Self, InvalidField> {
        let after = request.last_updated_time;
        let status = parse_state(request.status, "status")?;
        Ok(Self {
            tenant: None,
            context_id: optional_id(&request.context_id, "contextId")?,
            status: Some(status).filter(|it| *it != TaskState::Unspecified),
            page_size: nonzero_count(request.page_size, "pageSize")?,
            page_token: optional_text(request.page_token),
            history_length: nonzero_count(request.history_length, "historyLength")?,
            status_timestamp_after: after
                .map(|it| from_timestamp(it, "lastUpdatedTime"))
                .transpose()?,
            include_artifacts: Some(request.include_artifacts).filter(|it| *it),
        })
    }
}

impl From<&ListTasksResponse> for pb::ListTasksResponse {
    fn from(page: &ListTasksResponse) -> Self {
        Self {
            tasks: page.tasks.iter().map(Into::into).collect(),
            next_page_token: page.next_page_token.clone(),
            total_size: saturating_i32(page.total_size),
        }
    }
}

impl TryFrom<pb::ListTasksResponse> for ListTasksResponse {
    type Error = InvalidField;

    fn try_from(page: pb::ListTasksResponse) -> Result<Self, InvalidField> {
        Ok(Self {
            page_size: u32::try_from(page.tasks.len()).unwrap_or(u32::MAX),
            tasks: convert_all(page.tasks, "tasks")?,
            next_page_token: page.next_page_token,
            total_size: optional_count(Some(page.total_size), "totalSize")?.unwrap_or_default(),
        })
    }
}
