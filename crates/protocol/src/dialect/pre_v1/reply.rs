//! Replies and stream events of all versions before 1.0.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::JsonFlavor;
use super::object::{ArtifactUpdate, Message, StatusUpdate, Task};
use super::request::PushConfig;
use crate::card::AgentCard;
use crate::json::{self, InvalidField, ParseError};
use crate::model::{
    self, ListTaskPushNotificationConfigsResponse, ListTasksResponse, MessageId,
    SendMessageResponse, StreamResponse, wire,
};
use crate::operation::Operation;
use crate::service::Reply;

/// Decodes the reply to `operation`, including a single object as the reply to a streaming
/// operation.
pub(in crate::dialect) fn read_reply(
    operation: Operation,
    text: &str,
    flavor: JsonFlavor,
) -> Result<Reply, ParseError> {
    Ok(match operation {
        Operation::SendMessage | Operation::SendStreamingMessage | Operation::SubscribeToTask => {
            Reply::SendMessage(match read_payload(text, flavor, PayloadContext::Reply)? {
                StreamResponse::Task(task) => SendMessageResponse::Task(task.into()),
                StreamResponse::Message(message) => SendMessageResponse::Message(message),
                StreamResponse::StatusUpdate(_) | StreamResponse::ArtifactUpdate(_) => {
                    return Err(InvalidField::new("", "is not a task or a message").into());
                }
            })
        }
        Operation::GetTask | Operation::CancelTask => {
            Reply::Task(json::from_str::<Task>(text)?.into_model(flavor)?.into())
        }
        Operation::ListTasks => {
            Reply::TaskList(json::from_str::<TaskPage>(text)?.into_model(flavor)?)
        }
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            Reply::PushConfig(json::from_str::<PushConfig>(text)?.into_model()?)
        }
        Operation::ListTaskPushNotificationConfigs => Reply::PushConfigList(push_configs(text)?),
        Operation::DeleteTaskPushNotificationConfig => {
            Reply::PushConfigsDeleted(deleted_count(text))
        }
        Operation::GetExtendedAgentCard | Operation::GetAgentCard => {
            Reply::Card(Box::new(AgentCard::read(text.as_bytes())?))
        }
    })
}

/// Decodes one event of a stream.
pub(in crate::dialect) fn read_event(
    text: &str,
    flavor: JsonFlavor,
) -> Result<StreamResponse, ParseError> {
    read_payload(text, flavor, PayloadContext::Stream)
}

/// Context of a payload. In 0.1 it distinguishes tasks from status events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PayloadContext {
    Reply,
    Stream,
}

/// Presence of members that determine the type of a payload.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MemberPresence {
    #[serde(default, alias = "type", deserialize_with = "wire::optional_text")]
    kind: Option<String>,
    task: Option<IgnoredAny>,
    #[serde(alias = "msg")]
    message: Option<IgnoredAny>,
    #[serde(alias = "status_update")]
    status_update: Option<IgnoredAny>,
    #[serde(alias = "artifact_update")]
    artifact_update: Option<IgnoredAny>,
    role: Option<IgnoredAny>,
    artifact: Option<IgnoredAny>,
    status: Option<IgnoredAny>,
    artifacts: Option<IgnoredAny>,
    #[serde(alias = "messages")]
    history: Option<IgnoredAny>,
    #[serde(alias = "contextId", alias = "context_id")]
    session_id: Option<IgnoredAny>,
    #[serde(alias = "task_id")]
    task_id: Option<IgnoredAny>,
    r#final: Option<IgnoredAny>,
}

enum PayloadKind {
    Wrapped,
    Task,
    Message,
    StatusUpdate,
    ArtifactUpdate,
}

impl MemberPresence {
    fn kind(&self, context: PayloadContext) -> Result<PayloadKind, InvalidField> {
        let wrapped = [&self.task, &self.message, &self.status_update, &self.artifact_update];
        if wrapped.into_iter().any(Option::is_some) {
            return Ok(PayloadKind::Wrapped);
        }
        match self.kind.as_deref() {
            Some("task") => return Ok(PayloadKind::Task),
            Some("message") => return Ok(PayloadKind::Message),
            Some("status-update" | "TaskStatusUpdateEvent") => {
                return Ok(PayloadKind::StatusUpdate);
            }
            Some("artifact-update" | "TaskArtifactUpdateEvent") => {
                return Ok(PayloadKind::ArtifactUpdate);
            }
            _ => {}
        }
        let has_task_members =
            self.artifacts.is_some() || self.history.is_some() || self.session_id.is_some();
        let has_update_members = self.r#final.is_some() || self.task_id.is_some();
        if self.role.is_some() {
            Ok(PayloadKind::Message)
        } else if self.artifact.is_some() {
            Ok(PayloadKind::ArtifactUpdate)
        } else if self.status.is_none() {
            Err(InvalidField::new("", "is not a task, a message or an event"))
        } else if has_update_members || (context == PayloadContext::Stream && !has_task_members) {
            Ok(PayloadKind::StatusUpdate)
        } else {
            Ok(PayloadKind::Task)
        }
    }
}

/// Payload wrapped in a member that names its type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrappedPayload {
    task: Option<Task>,
    #[serde(alias = "msg")]
    message: Option<Message>,
    #[serde(alias = "status_update")]
    status_update: Option<StatusUpdate>,
    #[serde(alias = "artifact_update")]
    artifact_update: Option<ArtifactUpdate>,
}

fn read_payload(
    text: &str,
    flavor: JsonFlavor,
    context: PayloadContext,
) -> Result<StreamResponse, ParseError> {
    // Fast path: most replies are tagged tasks.
    if context == PayloadContext::Reply
        && let Ok(task) = serde_json::from_str::<Task>(text)
        && task.is_tagged_task()
    {
        return Ok(StreamResponse::Task(task.into_model(flavor)?));
    }
    let kind = json::from_str::<MemberPresence>(text)?.kind(context)?;
    let response = match kind {
        PayloadKind::Wrapped => json::from_str::<WrappedPayload>(text)?.into_model(flavor),
        PayloadKind::Task => {
            json::from_str::<Task>(text)?.into_model(flavor).map(StreamResponse::Task)
        }
        PayloadKind::Message => message(json::from_str(text)?, flavor),
        PayloadKind::StatusUpdate => json::from_str::<StatusUpdate>(text)?
            .into_model(flavor)
            .map(StreamResponse::StatusUpdate),
        PayloadKind::ArtifactUpdate => json::from_str::<ArtifactUpdate>(text)?
            .into_model(flavor)
            .map(StreamResponse::ArtifactUpdate),
    };
    Ok(response?)
}

/// Converts a direct reply. One without an id gets a constant id.
fn message(message: Message, flavor: JsonFlavor) -> Result<StreamResponse, InvalidField> {
    let fallback_id = || {
        MessageId::new("message").map_err(|error| InvalidField::new("messageId", error.to_string()))
    };
    message.into_model(flavor, fallback_id).map(StreamResponse::Message)
}

impl WrappedPayload {
    fn into_model(self, flavor: JsonFlavor) -> Result<StreamResponse, InvalidField> {
        let present = [
            self.task.map(|it| (it.into_model(flavor).map(StreamResponse::Task), "task")),
            self.message.map(|it| (message(it, flavor), "message")),
            self.status_update.map(|it| {
                (it.into_model(flavor).map(StreamResponse::StatusUpdate), "statusUpdate")
            }),
            self.artifact_update.map(|it| {
                (it.into_model(flavor).map(StreamResponse::ArtifactUpdate), "artifactUpdate")
            }),
        ];
        let mut present = present.into_iter().flatten();
        match (present.next(), present.next()) {
            (Some((response, name)), None) => response.map_err(|error| error.within(name)),
            _ => {
                Err(InvalidField::new("", "must contain exactly one of task, message and an event"))
            }
        }
    }
}

/// Page of tasks. Only 1.0 defines an operation for it, but some older peers support one as well.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskPage {
    #[serde(default, deserialize_with = "wire::nullable")]
    tasks: Vec<Task>,
    #[serde(default, alias = "next_page_token", deserialize_with = "wire::nullable")]
    next_page_token: String,
    #[serde(default, alias = "page_size", deserialize_with = "wire::count")]
    page_size: Option<u32>,
    #[serde(default, alias = "total_size", deserialize_with = "wire::count")]
    total_size: Option<u32>,
}

impl TaskPage {
    fn into_model(self, flavor: JsonFlavor) -> Result<ListTasksResponse, InvalidField> {
        let count = u32::try_from(self.tasks.len()).unwrap_or(u32::MAX);
        let tasks = self.tasks.into_iter().enumerate().map(|(index, task)| {
            task.into_model(flavor).map_err(|error| error.within(&format!("tasks[{index}]")))
        });
        Ok(ListTasksResponse {
            tasks: tasks.collect::<Result<Vec<model::Task>, _>>()?,
            next_page_token: self.next_page_token,
            page_size: self.page_size.unwrap_or(count),
            total_size: self.total_size.unwrap_or(count),
        })
    }
}

/// Decodes the webhooks of a task: an array over JSON-RPC, an object over REST.
fn push_configs(text: &str) -> Result<ListTaskPushNotificationConfigsResponse, ParseError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct PushConfigPage {
        #[serde(default, deserialize_with = "wire::nullable")]
        configs: Vec<PushConfig>,
        #[serde(default, alias = "next_page_token", deserialize_with = "wire::optional_text")]
        next_page_token: Option<String>,
    }

    let page = match text.trim_ascii_start().starts_with('[') {
        true => PushConfigPage { configs: json::from_str(text)?, next_page_token: None },
        false => json::from_str(text)?,
    };
    let configs = page.configs.into_iter().enumerate().map(|(index, config)| {
        config.into_model().map_err(|error| error.within(&format!("configs[{index}]")))
    });
    Ok(ListTaskPushNotificationConfigsResponse {
        configs: configs.collect::<Result<_, _>>()?,
        next_page_token: page.next_page_token,
    })
}

/// Returns the number of deleted webhooks. Servers that do not report it deleted one.
fn deleted_count(text: &str) -> u32 {
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    let count = body.get("removed").and_then(Value::as_u64);
    count.and_then(|count| u32::try_from(count).ok()).unwrap_or(1)
}
