//! Tasks, messages and artifacts of any age.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};

use super::Family;
use super::part::Part;
use crate::json::{self, Invalid};
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
    #[serde(default, alias = "context_id", deserialize_with = "wire::text")]
    context_id: Option<ContextId>,
    #[serde(default, alias = "task_id", deserialize_with = "wire::text")]
    task_id: Option<TaskId>,
    #[serde(default)]
    role: Option<Role>,
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
            role: family.required(self.role, "role")?,
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
fn derived_id(task: &str, place: impl fmt::Display) -> Result<MessageId, Invalid> {
    MessageId::new(format!("{task}-{place}"))
        .map_err(|error| Invalid::new("messageId", error.to_string()))
}

/// A status: an object, or just the name of a state.
#[derive(Debug)]
pub(in crate::dialect) struct Status {
    state: Option<TaskState>,
    message: Option<Message>,
    timestamp: Option<Timestamp>,
}

impl Status {
    fn into_model(self, family: Family, task: &str) -> Result<TaskStatus, Invalid> {
        let message = self.message.map(|it| {
            let nameless = it.message_id.is_none();
            let mut message = it.into_model(family, || derived_id(task, "status"))?;
            // One status after another says something: they are told apart by what they say.
            if nameless {
                let said = fingerprint(&message.parts);
                message.message_id = derived_id(task, format_args!("status-{said:016x}"))?;
            }
            Ok(Arc::new(message))
        });
        Ok(TaskStatus {
            state: family.required(self.state, "state")?,
            message: message.transpose().map_err(|error: Invalid| error.within("message"))?,
            timestamp: self.timestamp,
        })
    }
}

/// A number for what parts say: FNV-1a over their JSON, the same in every program.
fn fingerprint(parts: &[model::Part]) -> u64 {
    let mut text = Vec::new();
    json::write(&mut text, parts);
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    text.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Object {
            #[serde(default)]
            state: Option<TaskState>,
            #[serde(default, alias = "update")]
            message: Option<Message>,
            #[serde(default, deserialize_with = "wire::text")]
            timestamp: Option<Timestamp>,
        }

        struct NameOrObject;

        impl<'de> Visitor<'de> for NameOrObject {
            type Value = Status;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a status")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Status, E> {
                let state = Some(text.parse().map_err(E::custom)?);
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
    #[serde(default, alias = "context_id", deserialize_with = "wire::text")]
    context_id: Option<ContextId>,
    #[serde(default, alias = "session_id", deserialize_with = "wire::text")]
    session_id: Option<ContextId>,
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
            artifact.into_model(family, place).map(Arc::new).map_err(named)
        });
        let history = self.history.into_iter().enumerate().map(|(place, message)| {
            let named = |error: Invalid| error.within(&format!("history[{place}]"));
            let message = message.into_model(family, || derived_id(id.as_str(), place));
            message.map(Arc::new).map_err(named)
        });
        Ok(model::Task {
            context_id: self.context_id.or(self.session_id),
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
    #[serde(default, alias = "task_id", deserialize_with = "wire::text")]
    task_id: Option<TaskId>,
    #[serde(default, deserialize_with = "wire::text")]
    id: Option<TaskId>,
    #[serde(default, alias = "context_id", deserialize_with = "wire::text")]
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
        let task_id = self.task_id.or(self.id).ok_or_else(|| Invalid::missing("taskId"))?;
        let status = self.status.into_model(family, task_id.as_str());
        Ok(model::TaskStatusUpdateEvent {
            task_id,
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
    #[serde(default, alias = "task_id", deserialize_with = "wire::text")]
    task_id: Option<TaskId>,
    #[serde(default, deserialize_with = "wire::text")]
    id: Option<TaskId>,
    #[serde(default, alias = "context_id", deserialize_with = "wire::text")]
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
            task_id: self.task_id.or(self.id).ok_or_else(|| Invalid::missing("taskId"))?,
            context_id: self.context_id,
            append: self.append || self.artifact.append,
            last_chunk: self.last_chunk || self.artifact.last_chunk,
            artifact: self
                .artifact
                .into_model(family, 0)
                .map(Arc::new)
                .map_err(|error| error.within("artifact"))?,
            metadata: self.metadata,
        })
    }
}
