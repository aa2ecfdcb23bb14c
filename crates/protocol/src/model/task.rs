//! A task, its status and what it made.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::message::join_texts;
use super::wire;
use super::{ArtifactId, ContextId, Message, Metadata, Part, TaskId, TaskState, Timestamp};

/// Work that an agent does for a caller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its identifier.
    pub id: TaskId,
    /// The conversation it belongs to.
    #[serde(
        default,
        alias = "context_id",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<ContextId>,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it made. Shared, like what was said: a task, its log and those who read it hold the same.
    #[serde(default, deserialize_with = "wire::nullable", skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Arc<Artifact>>,
    /// What was said, oldest first.
    #[serde(default, deserialize_with = "wire::nullable", skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Arc<Message>>,
    /// Free-form members.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Metadata::is_empty"
    )]
    pub metadata: Metadata,
}

impl Task {
    /// A task that has just this status.
    pub fn new(id: TaskId, context_id: ContextId, status: impl Into<TaskStatus>) -> Self {
        Self {
            id,
            context_id: Some(context_id),
            status: status.into(),
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: Metadata::new(),
        }
    }

    /// A finished task whose one artifact is `text`, as the answer to `request`.
    ///
    /// The task takes its identifiers from the request where it names them, else from the
    /// arguments, and keeps the request as its history.
    pub fn completed_with_text(
        id: TaskId,
        context_id: ContextId,
        request: Message,
        text: impl Into<String>,
    ) -> Self {
        let id = request.task_id.clone().unwrap_or(id);
        let context_id = request.context_id.clone().unwrap_or(context_id);
        let artifact = Artifact::new(ArtifactId::first(), Part::text(text));
        Self {
            artifacts: vec![Arc::new(artifact)],
            history: vec![Arc::new(request)],
            ..Self::new(id, context_id, TaskState::Completed)
        }
    }

    /// What the task answered: the texts of its artifacts, else that of its status message.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<_> = self.artifacts.iter().map(|it| it.text()).collect();
        match (&self.status.message, texts.is_empty()) {
            (Some(message), true) => message.text(),
            _ => texts.join("\n"),
        }
    }

    /// Keeps only the newest `length` messages of the history; all of them when not given.
    pub fn trim_history(&mut self, length: Option<u32>) {
        let Some(length) = length else { return };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let surplus = self.history.len().saturating_sub(length);
        self.history.drain(..surplus);
    }
}

/// Where a task stands, since when, and what the agent says about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskStatus {
    /// The state.
    pub state: TaskState,
    /// What the agent says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<Message>>,
    /// Since when.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub timestamp: Option<Timestamp>,
}

impl TaskStatus {
    /// The same status with a message.
    #[must_use]
    pub fn with_message(mut self, message: Message) -> Self {
        self.message = Some(Arc::new(message));
        self
    }

    /// The same status, since `timestamp`.
    #[must_use]
    pub fn with_timestamp(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = Some(timestamp);
        self
    }
}

impl From<TaskState> for TaskStatus {
    fn from(state: TaskState) -> Self {
        Self { state, message: None, timestamp: None }
    }
}

/// Something a task made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Its identifier within the task.
    #[serde(alias = "artifact_id")]
    pub artifact_id: ArtifactId,
    /// A name for people.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    /// What it is, for people.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// What it holds; at least one part in what we send.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub parts: Vec<Part>,
    /// Free-form members.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Metadata::is_empty"
    )]
    pub metadata: Metadata,
    /// URIs of the extensions that took part in it.
    #[serde(default, deserialize_with = "wire::nullable", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

impl Artifact {
    /// An artifact of one part.
    pub fn new(artifact_id: ArtifactId, part: impl Into<Part>) -> Self {
        Self {
            artifact_id,
            name: None,
            description: None,
            parts: vec![part.into()],
            metadata: Metadata::new(),
            extensions: Vec::new(),
        }
    }

    /// All its texts, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        join_texts(&self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::MessageId;

    #[test]
    fn texts_are_joined_line_by_line() {
        let id = MessageId::new("m").unwrap();
        let message = Message::user(id, "a").with_part(Part::data(1)).with_part("b");
        assert_eq!(message.text(), "a\nb");
    }

    #[test]
    fn completed_with_text_prefers_the_ids_of_the_request() {
        let ids = || (TaskId::new("t").unwrap(), ContextId::new("c").unwrap());
        let request = Message::user(MessageId::new("m").unwrap(), "hi");
        let (id, context) = ids();
        let task = Task::completed_with_text(id, context, request.clone(), "done");
        assert_eq!((task.text().as_str(), task.status.state), ("done", TaskState::Completed));
        assert_eq!((task.id.as_str(), &task.history), ("t", &vec![request.clone().into()]));

        let (id, context) = ids();
        let request_with_task = request.with_task(TaskId::new("mine").unwrap());
        assert_eq!(Task::completed_with_text(id, context, request_with_task, "done").id, "mine");
    }

    #[test]
    fn task_text_without_artifacts_is_the_status_message() {
        let (id, context) = (TaskId::new("t").unwrap(), ContextId::new("c").unwrap());
        let message = Message::agent(MessageId::new("m").unwrap(), "no");
        let status = TaskStatus::from(TaskState::Failed).with_message(message);
        assert_eq!(Task::new(id, context, status).text(), "no");
    }
}
