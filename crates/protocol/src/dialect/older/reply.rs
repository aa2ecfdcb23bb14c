//! Replies and stream events of any age before 1.0.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::Family;
use super::object::{ArtifactUpdate, Message, StatusUpdate, Task};
use super::request::PushConfig;
use crate::card::AgentCard;
use crate::json::{self, Invalid, Unreadable};
use crate::model::{
    self, ListTaskPushNotificationConfigsResponse, ListTasksResponse, MessageId,
    SendMessageResponse, StreamResponse, wire,
};
use crate::operation::Operation;
use crate::service::Reply;

/// Reads the reply to `operation`; to a streaming one, when the peer answers with a single object.
pub(in crate::dialect) fn read_reply(
    operation: Operation,
    text: &str,
    family: Family,
) -> Result<Reply, Unreadable> {
    Ok(match operation {
        Operation::SendMessage | Operation::SendStreamingMessage | Operation::SubscribeToTask => {
            Reply::Sent(match read_any(text, family, Place::Reply)? {
                StreamResponse::Task(task) => SendMessageResponse::Task(task.into()),
                StreamResponse::Message(message) => SendMessageResponse::Message(message),
                StreamResponse::StatusUpdate(_) | StreamResponse::ArtifactUpdate(_) => {
                    return Err(Invalid::new("", "is neither a task nor a message").into());
                }
            })
        }
        Operation::GetTask | Operation::CancelTask => {
            Reply::Task(json::from_str::<Task>(text)?.into_model(family)?.into())
        }
        Operation::ListTasks => Reply::Tasks(json::from_str::<Tasks>(text)?.into_model(family)?),
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            Reply::PushConfig(json::from_str::<PushConfig>(text)?.into_model()?)
        }
        Operation::ListTaskPushNotificationConfigs => Reply::PushConfigs(push_configs(text)?),
        Operation::DeleteTaskPushNotificationConfig => Reply::Removed(removed(text)),
        Operation::GetExtendedAgentCard | Operation::GetAgentCard => {
            Reply::Card(Box::new(AgentCard::read(text.as_bytes())?))
        }
    })
}

/// Reads one event of a stream.
pub(in crate::dialect) fn read_event(
    text: &str,
    family: Family,
) -> Result<StreamResponse, Unreadable> {
    read_any(text, family, Place::Stream)
}

/// Where a text was found: a task and a change of its status can look the same in 0.1.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Reply,
    Stream,
}

/// Which members are there, without looking into them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outline {
    #[serde(default, alias = "type", deserialize_with = "wire::text")]
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

enum Kind {
    Wrapped,
    Task,
    Message,
    StatusUpdate,
    ArtifactUpdate,
}

impl Outline {
    fn kind(&self, place: Place) -> Result<Kind, Invalid> {
        let wrapped = [&self.task, &self.message, &self.status_update, &self.artifact_update];
        if wrapped.into_iter().any(Option::is_some) {
            return Ok(Kind::Wrapped);
        }
        match self.kind.as_deref() {
            Some("task") => return Ok(Kind::Task),
            Some("message") => return Ok(Kind::Message),
            Some("status-update" | "TaskStatusUpdateEvent") => return Ok(Kind::StatusUpdate),
            Some("artifact-update" | "TaskArtifactUpdateEvent") => return Ok(Kind::ArtifactUpdate),
            _ => {}
        }
        let whole = self.artifacts.is_some() || self.history.is_some() || self.session_id.is_some();
        let update = self.r#final.is_some() || self.task_id.is_some();
        if self.role.is_some() {
            Ok(Kind::Message)
        } else if self.artifact.is_some() {
            Ok(Kind::ArtifactUpdate)
        } else if self.status.is_none() {
            Err(Invalid::new("", "is neither a task, a message nor an event"))
        } else if update || (place == Place::Stream && !whole) {
            Ok(Kind::StatusUpdate)
        } else {
            Ok(Kind::Task)
        }
    }
}

/// The wrapped form, which names what it holds by a member.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wrapped {
    task: Option<Task>,
    #[serde(alias = "msg")]
    message: Option<Message>,
    #[serde(alias = "status_update")]
    status_update: Option<StatusUpdate>,
    #[serde(alias = "artifact_update")]
    artifact_update: Option<ArtifactUpdate>,
}

fn read_any(text: &str, family: Family, place: Place) -> Result<StreamResponse, Unreadable> {
    // The answer that most calls get says what it is, and needs no second look.
    if place == Place::Reply
        && let Ok(task) = serde_json::from_str::<Task>(text)
        && task.says_so()
    {
        return Ok(StreamResponse::Task(task.into_model(family)?));
    }
    let kind = json::from_str::<Outline>(text)?.kind(place)?;
    let response = match kind {
        Kind::Wrapped => json::from_str::<Wrapped>(text)?.into_model(family),
        Kind::Task => json::from_str::<Task>(text)?.into_model(family).map(StreamResponse::Task),
        Kind::Message => message(json::from_str(text)?, family),
        Kind::StatusUpdate => json::from_str::<StatusUpdate>(text)?
            .into_model(family)
            .map(StreamResponse::StatusUpdate),
        Kind::ArtifactUpdate => json::from_str::<ArtifactUpdate>(text)?
            .into_model(family)
            .map(StreamResponse::ArtifactUpdate),
    };
    Ok(response?)
}

/// A direct answer. One without an id is named for what it is: there is nothing else to go by.
fn message(message: Message, family: Family) -> Result<StreamResponse, Invalid> {
    let name =
        || MessageId::new("message").map_err(|error| Invalid::new("messageId", error.to_string()));
    message.into_model(family, name).map(StreamResponse::Message)
}

impl Wrapped {
    fn into_model(self, family: Family) -> Result<StreamResponse, Invalid> {
        let given = [
            self.task.map(|it| (it.into_model(family).map(StreamResponse::Task), "task")),
            self.message.map(|it| (message(it, family), "message")),
            self.status_update.map(|it| {
                (it.into_model(family).map(StreamResponse::StatusUpdate), "statusUpdate")
            }),
            self.artifact_update.map(|it| {
                (it.into_model(family).map(StreamResponse::ArtifactUpdate), "artifactUpdate")
            }),
        ];
        let mut given = given.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some((response, name)), None) => response.map_err(|error| error.within(name)),
            _ => Err(Invalid::new("", "must hold exactly one of task, message and an event")),
        }
    }
}

/// A page of tasks. The version that has it as a method of its own is 1.0; what came before is a
/// habit of some peers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tasks {
    #[serde(default, deserialize_with = "wire::nullable")]
    tasks: Vec<Task>,
    #[serde(default, alias = "next_page_token", deserialize_with = "wire::nullable")]
    next_page_token: String,
    #[serde(default, alias = "page_size", deserialize_with = "wire::count")]
    page_size: Option<u32>,
    #[serde(default, alias = "total_size", deserialize_with = "wire::count")]
    total_size: Option<u32>,
}

impl Tasks {
    fn into_model(self, family: Family) -> Result<ListTasksResponse, Invalid> {
        let count = u32::try_from(self.tasks.len()).unwrap_or(u32::MAX);
        let tasks = self.tasks.into_iter().enumerate().map(|(place, task)| {
            task.into_model(family).map_err(|error| error.within(&format!("tasks[{place}]")))
        });
        Ok(ListTasksResponse {
            tasks: tasks.collect::<Result<Vec<model::Task>, _>>()?,
            next_page_token: self.next_page_token,
            page_size: self.page_size.unwrap_or(count),
            total_size: self.total_size.unwrap_or(count),
        })
    }
}

/// The webhooks of a task: a bare array over JSON-RPC, an object over REST.
fn push_configs(text: &str) -> Result<ListTaskPushNotificationConfigsResponse, Unreadable> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Page {
        #[serde(default, deserialize_with = "wire::nullable")]
        configs: Vec<PushConfig>,
        #[serde(default, alias = "next_page_token", deserialize_with = "wire::text")]
        next_page_token: Option<String>,
    }

    let page = match text.trim_ascii_start().starts_with('[') {
        true => Page { configs: json::from_str(text)?, next_page_token: None },
        false => json::from_str(text)?,
    };
    let configs = page.configs.into_iter().enumerate().map(|(place, config)| {
        config.into_model().map_err(|error| error.within(&format!("configs[{place}]")))
    });
    Ok(ListTaskPushNotificationConfigsResponse {
        configs: configs.collect::<Result<_, _>>()?,
        next_page_token: page.next_page_token,
    })
}

/// How many webhooks went. Only one kind of server counts them; to the others one is asked for.
fn removed(text: &str) -> u32 {
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    let count = body.get("removed").and_then(Value::as_u64);
    count.and_then(|count| u32::try_from(count).ok()).unwrap_or(1)
}
