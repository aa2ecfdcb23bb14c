//! Tasks, messages and artifacts of any age.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};

use super::Family;
use super::part::Part;
use crate::json::Invalid;
use crate::model::{
    self, ArtifactId, ContextId, MessageId, Metadata, Role, TaskId, TaskState, TaskStatus,
    Timestamp, wire,
};

/// A message: with or without an id, its parts under `parts` or `content`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dialect) struct Message {
    #[serde(default, alias = "message_id", deserialize_with = "wire::text")]
    pub(super) message_id: Option<MessageId>,
    #[serde(default, alias = "context_id", alias = "sessionId", deserialize_with = "wire::text")]
    context_id: Option<ContextId>,
    #[serde(default, alias = "task_id", deserialize_with = "wire::text")]
    task_id: Option<TaskId>,
    role: Role,
    #[serde(default, alias = "content", deserialize_with = "wire::nullable")]
    parts: Vec<Part>,
    #[serde(default, deserialize_with = "wire::nullable")]
    metadata: Metadata,
    #[serde(default, deserialize_with = "wire::nullable")]
    extensions: Vec<String>,
    #[serde(default, alias = "reference_task_ids", deserialize_with = "wire::nullable")]
    reference_task_ids: Vec<TaskId>,
}

impl Message {
    /// The message; `name` names one that has no id of its own.
    pub(super) fn into_model(
        self,
        family: Family,
        name: impl FnOnce() -> Result<MessageId, Invalid>,
    ) -> Result<model::Message, Invalid> {
        Ok(model::Message {
            message_id: self.message_id.map_or_else(name, Ok)?,
            context_id: self.context_id,
            task_id: self.task_id,
            role: self.role,
            parts: parts(self.parts, family, family.parts())?,
            metadata: self.metadata,
            extensions: self.extensions,
            reference_task_ids: self.reference_task_ids,
        })
    }
}

fn parts(parts: Vec<Part>, family: Family, name: &str) -> Result<Vec<model::Part>, Invalid> {
    let numbered = parts.into_iter().enumerate();
    numbered
        .map(|(index, part)| {
            part.into_model(family).map_err(|error| error.within(&format!("{name}[{index}]")))
        })
        .collect()
}

/// Names a message that a peer without message ids sent, so that every look at it finds the same.
fn derived_id(task: &str, place: impl std::fmt::Display) -> Result<MessageId, Invalid> {
    MessageId::new(format!("{task}-{place}"))
        .map_err(|error| Invalid::new("messageId", error.to_string()))
}

/// A status: an object, or just the name of a state.
#[derive(Debug)]
pub(in crate::dialect) struct Status {
    state: TaskState,
    message: Option<Message>,
    timestamp: Option<Timestamp>,
}

impl Status {
    fn into_model(self, family: Family, task: &str) -> Result<TaskStatus, Invalid> {
        let message = self.message.map(|it| it.into_model(family, || derived_id(task, "status")));
        Ok(TaskStatus {
            state: self.state,
            message: message.transpose().map_err(|error| error.within("message"))?,
            timestamp: self.timestamp,
        })
    }
}

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Object {
            state: TaskState,
            #[serde(default, alias = "update")]
            message: Option<Message>,
            #[serde(default, deserialize_with = "wire::text")]
            timestamp: Option<Timestamp>,
        }

        struct NameOrObject;

        impl<'de> Visitor<'de> for NameOrObject {
            type Value = Status;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a status")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Status, E> {
                let state = text.parse().map_err(E::custom)?;
                Ok(Status { state, message: None, timestamp: None })
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Status, A::Error> {
                let Object { state, message, timestamp } =
                    Object::deserialize(MapAccessDeserializer::new(members))?;
                Ok(Status { state, message, timestamp })
            }
        }

        deserializer.deserialize_any(NameOrObject)
    }
}

/// An artifact: known by its id, or by its number, which is 0 when it has neither.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dialect) struct Artifact {
    #[serde(default, alias = "artifact_id", deserialize_with = "wire::text")]
    artifact_id: Option<ArtifactId>,
    #[serde(default, deserialize_with = "wire::text")]
    name: Option<String>,
    #[serde(default, deserialize_with = "wire::text")]
    description: Option<String>,
    #[serde(default, deserialize_with = "wire::nullable")]
    parts: Vec<Part>,
    #[serde(default, deserialize_with = "wire::nullable")]
    metadata: Metadata,
    #[serde(default, deserialize_with = "wire::nullable")]
    extensions: Vec<String>,
    #[serde(default, deserialize_with = "wire::count")]
    index: Option<u32>,
    #[serde(default, deserialize_with = "wire::set")]
    append: bool,
    #[serde(default, alias = "last_chunk", deserialize_with = "wire::set")]
    last_chunk: bool,
}

impl Artifact {
    /// The artifact; `place` is its number when it does not say its own.
    fn into_model(self, family: Family, place: usize) -> Result<model::Artifact, Invalid> {
        let number = self.index.map_or(place as u64, u64::from);
        Ok(model::Artifact {
            artifact_id: self.artifact_id.unwrap_or_else(|| ArtifactId::numbered(number)),
            name: self.name,
            description: self.description,
            parts: parts(self.parts, family, "parts")?,
            metadata: self.metadata,
            extensions: self.extensions,
        })
    }
}

/// A task: its conversation a context or a session, its history under `history` or `messages`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dialect) struct Task {
    #[serde(default, deserialize_with = "wire::text")]
    kind: Option<String>,
    id: TaskId,
    #[serde(
        default,
        alias = "context_id",
        alias = "sessionId",
        alias = "session_id",
        deserialize_with = "wire::text"
    )]
    context_id: Option<ContextId>,
    status: Status,
    #[serde(default, deserialize_with = "wire::nullable")]
    artifacts: Vec<Artifact>,
    #[serde(default, alias = "messages", deserialize_with = "wire::nullable")]
    history: Vec<Message>,
    #[serde(default, deserialize_with = "wire::nullable")]
    metadata: Metadata,
}

impl Task {
    /// Whether it says itself that it is a task.
    pub(in crate::dialect) fn says_so(&self) -> bool {
        self.kind.as_deref() == Some("task")
    }

    pub(in crate::dialect) fn into_model(self, family: Family) -> Result<model::Task, Invalid> {
        let id = self.id;
        let status = self.status.into_model(family, id.as_str());
        let artifacts = self.artifacts.into_iter().enumerate().map(|(place, artifact)| {
            let named = |error: Invalid| error.within(&format!("artifacts[{place}]"));
            artifact.into_model(family, place).map_err(named)
        });
        let history = self.history.into_iter().enumerate().map(|(place, message)| {
            let named = |error: Invalid| error.within(&format!("history[{place}]"));
            message.into_model(family, || derived_id(id.as_str(), place)).map_err(named)
        });
        Ok(model::Task {
            context_id: self.context_id,
            status: status.map_err(|error| error.within("status"))?,
            artifacts: artifacts.collect::<Result<_, _>>()?,
            history: history.collect::<Result<_, _>>()?,
            metadata: self.metadata,
            id,
        })
    }
}

/// A change of status.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatusUpdate {
    #[serde(alias = "task_id", alias = "id")]
    task_id: TaskId,
    #[serde(default, alias = "context_id", alias = "sessionId", deserialize_with = "wire::text")]
    context_id: Option<ContextId>,
    status: Status,
    #[serde(default, deserialize_with = "wire::nullable")]
    metadata: Metadata,
}

impl StatusUpdate {
    pub(super) fn into_model(
        self,
        family: Family,
    ) -> Result<model::TaskStatusUpdateEvent, Invalid> {
        let status = self.status.into_model(family, self.task_id.as_str());
        Ok(model::TaskStatusUpdateEvent {
            task_id: self.task_id,
            context_id: self.context_id,
            status: status.map_err(|error| error.within("status"))?,
            metadata: self.metadata,
        })
    }
}

/// An artifact, or a piece of one; 0.1 keeps the flags inside the artifact.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactUpdate {
    #[serde(alias = "task_id", alias = "id")]
    task_id: TaskId,
    #[serde(default, alias = "context_id", alias = "sessionId", deserialize_with = "wire::text")]
    context_id: Option<ContextId>,
    artifact: Artifact,
    #[serde(default, deserialize_with = "wire::set")]
    append: bool,
    #[serde(default, alias = "last_chunk", deserialize_with = "wire::set")]
    last_chunk: bool,
    #[serde(default, deserialize_with = "wire::nullable")]
    metadata: Metadata,
}

impl ArtifactUpdate {
    pub(super) fn into_model(
        self,
        family: Family,
    ) -> Result<model::TaskArtifactUpdateEvent, Invalid> {
        Ok(model::TaskArtifactUpdateEvent {
            task_id: self.task_id,
            context_id: self.context_id,
            append: self.append || self.artifact.append,
            last_chunk: self.last_chunk || self.artifact.last_chunk,
            artifact: self
                .artifact
                .into_model(family, 0)
                .map_err(|error| error.within("artifact"))?,
            metadata: self.metadata,
        })
    }
}
