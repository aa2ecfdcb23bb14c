//! Tasks, messages, artifacts and events of all versions before 1.0.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};

use super::JsonFlavor;
use super::part::Part;
use crate::json::{self, InvalidField};
use crate::model::{
    self, ArtifactId, ContextId, MessageId, Metadata, Role, TaskId, TaskState, TaskStatus,
    Timestamp, wire,
};

/// Message with or without an id, with its parts in `parts` or `content`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dialect) struct Message {
    #[serde(default, alias = "message_id", deserialize_with = "wire::optional_text")]
    pub(super) message_id: Option<MessageId>,
    #[serde(default, alias = "context_id", deserialize_with = "wire::optional_text")]
    context_id: Option<ContextId>,
    #[serde(default, alias = "task_id", deserialize_with = "wire::optional_text")]
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
    /// Converts to the model; `generate_id` creates the id if the message has none.
    pub(super) fn into_model(
        self,
        flavor: JsonFlavor,
        generate_id: impl FnOnce() -> Result<MessageId, InvalidField>,
    ) -> Result<model::Message, InvalidField> {
        Ok(model::Message {
            message_id: self.message_id.map_or_else(generate_id, Ok)?,
            context_id: self.context_id,
            task_id: self.task_id,
            role: flavor.required_enum(self.role, "role")?,
            parts: parts(self.parts, flavor, flavor.parts_member())?,
            metadata: self.metadata,
            extensions: self.extensions,
            reference_task_ids: self.reference_task_ids,
        })
    }
}

fn parts(
    parts: Vec<Part>,
    flavor: JsonFlavor,
    name: &str,
) -> Result<Vec<model::Part>, InvalidField> {
    let numbered = parts.into_iter().enumerate();
    numbered
        .map(|(index, part)| {
            part.into_model(flavor).map_err(|error| error.within(&format!("{name}[{index}]")))
        })
        .collect()
}

/// Derives the id of a message in a reply, so that decoding the same reply twice gives the same id.
fn derive_id(task: &str, suffix: impl fmt::Display) -> Result<MessageId, InvalidField> {
    MessageId::new(format!("{task}-{suffix}"))
        .map_err(|error| InvalidField::new("messageId", error.to_string()))
}

/// Status, either an object or the name of a state.
#[derive(Debug)]
pub(in crate::dialect) struct Status {
    state: Option<TaskState>,
    message: Option<Message>,
    timestamp: Option<Timestamp>,
}

impl Status {
    fn into_model(self, flavor: JsonFlavor, task: &str) -> Result<TaskStatus, InvalidField> {
        let message = self.message.map(|it| {
            let lacks_id = it.message_id.is_none();
            let mut message = it.into_model(flavor, || derive_id(task, "status"))?;
            // Distinguishes the messages of successive statuses by their content.
            if lacks_id {
                let hash = fingerprint(&message.parts);
                message.message_id = derive_id(task, format_args!("status-{hash:016x}"))?;
            }
            Ok(Arc::new(message))
        });
        Ok(TaskStatus {
            state: flavor.required_enum(self.state, "state")?,
            message: message.transpose().map_err(|error: InvalidField| error.within("message"))?,
            timestamp: self.timestamp,
        })
    }
}

/// Computes the FNV-1a hash of the parts' JSON. Must not change, because ids are derived from it.
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
            #[serde(default, deserialize_with = "wire::optional_text")]
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

/// Artifact, identified by its id or by its index, which defaults to its position.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dialect) struct Artifact {
    #[serde(default, alias = "artifact_id", deserialize_with = "wire::optional_text")]
    artifact_id: Option<ArtifactId>,
    #[serde(default, deserialize_with = "wire::optional_text")]
    name: Option<String>,
    #[serde(default, deserialize_with = "wire::optional_text")]
    description: Option<String>,
    #[serde(default, deserialize_with = "wire::nullable")]
    parts: Vec<Part>,
    #[serde(default, deserialize_with = "wire::nullable")]
    metadata: Metadata,
    #[serde(default, deserialize_with = "wire::nullable")]
    extensions: Vec<String>,
    #[serde(default, deserialize_with = "wire::count")]
    index: Option<u32>,
    #[serde(default, deserialize_with = "wire::bool_or_false")]
    append: bool,
    #[serde(default, alias = "last_chunk", deserialize_with = "wire::bool_or_false")]
    last_chunk: bool,
}

impl Artifact {
    /// Converts to the model; `default_index` is used if the artifact has neither id nor index.
    fn into_model(
        self,
        flavor: JsonFlavor,
        default_index: usize,
    ) -> Result<model::Artifact, InvalidField> {
        let index = self.index.map_or(default_index as u64, u64::from);
        Ok(model::Artifact {
            artifact_id: self.artifact_id.unwrap_or_else(|| ArtifactId::from_index(index)),
            name: self.name,
            description: self.description,
            parts: parts(self.parts, flavor, "parts")?,
            metadata: self.metadata,
            extensions: self.extensions,
        })
    }
}

/// Task with a context or a session, with its history in `history` or `messages`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::dialect) struct Task {
    #[serde(default, deserialize_with = "wire::optional_text")]
    kind: Option<String>,
    id: TaskId,
    #[serde(default, alias = "context_id", deserialize_with = "wire::optional_text")]
    context_id: Option<ContextId>,
    #[serde(default, alias = "session_id", deserialize_with = "wire::optional_text")]
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
    /// Returns whether `kind` identifies the object as a task.
    pub(in crate::dialect) fn is_tagged_task(&self) -> bool {
        self.kind.as_deref() == Some("task")
    }

    pub(in crate::dialect) fn into_model(
        self,
        flavor: JsonFlavor,
    ) -> Result<model::Task, InvalidField> {
        let id = self.id;
        let status = self.status.into_model(flavor, id.as_str());
        let artifacts = self.artifacts.into_iter().enumerate().map(|(index, artifact)| {
            let in_item = |error: InvalidField| error.within(&format!("artifacts[{index}]"));
            artifact.into_model(flavor, index).map(Arc::new).map_err(in_item)
        });
        let history = self.history.into_iter().enumerate().map(|(index, message)| {
            let in_item = |error: InvalidField| error.within(&format!("history[{index}]"));
            let message = message.into_model(flavor, || derive_id(id.as_str(), index));
            message.map(Arc::new).map_err(in_item)
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

/// Status event.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatusUpdate {
    #[serde(default, alias = "task_id", deserialize_with = "wire::optional_text")]
    task_id: Option<TaskId>,
    #[serde(default, deserialize_with = "wire::optional_text")]
    id: Option<TaskId>,
    #[serde(default, alias = "context_id", deserialize_with = "wire::optional_text")]
    context_id: Option<ContextId>,
    status: Status,
    #[serde(default, deserialize_with = "wire::nullable")]
    metadata: Metadata,
}

impl StatusUpdate {
    pub(super) fn into_model(
        self,
        flavor: JsonFlavor,
    ) -> Result<model::TaskStatusUpdateEvent, InvalidField> {
        let task_id = self.task_id.or(self.id).ok_or_else(|| InvalidField::missing("taskId"))?;
        let status = self.status.into_model(flavor, task_id.as_str());
        Ok(model::TaskStatusUpdateEvent {
            task_id,
            context_id: self.context_id,
            status: status.map_err(|error| error.within("status"))?,
            metadata: self.metadata,
        })
    }
}

/// Artifact event. 0.1 puts the flags into the artifact.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArtifactUpdate {
    #[serde(default, alias = "task_id", deserialize_with = "wire::optional_text")]
    task_id: Option<TaskId>,
    #[serde(default, deserialize_with = "wire::optional_text")]
    id: Option<TaskId>,
    #[serde(default, alias = "context_id", deserialize_with = "wire::optional_text")]
    context_id: Option<ContextId>,
    artifact: Artifact,
    #[serde(default, deserialize_with = "wire::bool_or_false")]
    append: bool,
    #[serde(default, alias = "last_chunk", deserialize_with = "wire::bool_or_false")]
    last_chunk: bool,
    #[serde(default, deserialize_with = "wire::nullable")]
    metadata: Metadata,
}

impl ArtifactUpdate {
    pub(super) fn into_model(
        self,
        flavor: JsonFlavor,
    ) -> Result<model::TaskArtifactUpdateEvent, InvalidField> {
        Ok(model::TaskArtifactUpdateEvent {
            task_id: self.task_id.or(self.id).ok_or_else(|| InvalidField::missing("taskId"))?,
            context_id: self.context_id,
            append: self.append || self.artifact.append,
            last_chunk: self.last_chunk || self.artifact.last_chunk,
            artifact: self
                .artifact
                .into_model(flavor, 0)
                .map(Arc::new)
                .map_err(|error| error.within("artifact"))?,
            metadata: self.metadata,
        })
    }
}
