//! Tasks, their status and their artifacts.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::message::join_texts;
use super::wire;
use super::{ArtifactId, ContextId, Message, Metadata, Part, TaskId, TaskState, Timestamp};

/// Work that an agent does for a caller.
///
/// ```
/// use latimer_protocol::{ContextId, Message, MessageId, Task, TaskId};
///
/// let request = Message::user(MessageId::new("m1")?, "hello");
/// let (id, context_id) = (TaskId::new("t1")?, ContextId::new("c1")?);
/// let task = Task::completed_with_text(id, context_id, request, "HELLO");
/// assert!(task.status.state.is_terminal());
/// assert_eq!(task.text(), "HELLO");
/// # Ok::<(), latimer_protocol::InvalidId>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Identifier of the task.
    pub id: TaskId,
    /// Context that the task belongs to.
    #[serde(
        default,
        alias = "context_id",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<ContextId>,
    /// Current status.
    pub status: TaskStatus,
    /// Output of the task. Artifacts and messages are reference-counted, so the task, its events
    /// and its readers share them.
    #[serde(default, deserialize_with = "wire::nullable", skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Arc<Artifact>>,
    /// Messages of the task, oldest first.
    #[serde(default, deserialize_with = "wire::nullable", skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Arc<Message>>,
    /// Application-defined metadata.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Metadata::is_empty"
    )]
    pub metadata: Metadata,
}

impl Task {
    /// Creates a task without artifacts, history or metadata.
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

    /// Creates a completed task whose only artifact is `text` and whose history is `request`.
    ///
    /// The task id and context id of `request` take precedence over the arguments.
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

    /// Returns the output as text: the text of all artifacts, or of the status message if there are
    /// no artifacts.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<_> = self.artifacts.iter().map(|it| it.text()).collect();
        match (&self.status.message, texts.is_empty()) {
            (Some(message), true) => message.text(),
            _ => texts.join("\n"),
        }
    }
}

/// State of a task, when it was entered, and an optional message of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskStatus {
    /// The state.
    pub state: TaskState,
    /// Message of the agent about the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<Message>>,
    /// Time at which the task entered the state.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub timestamp: Option<Timestamp>,
}

impl TaskStatus {
    /// Sets the message.
    #[must_use]
    pub fn with_message(mut self, message: Message) -> Self {
        self.message = Some(Arc::new(message));
        self
    }

    /// Sets the time.
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

/// Output of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Identifier, unique within the task.
    #[serde(alias = "artifact_id")]
    pub artifact_id: ArtifactId,
    /// Human-readable name.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    /// Human-readable description.
    #[serde(
        default,
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// Content of the artifact. Agents must include at least one part.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub parts: Vec<Part>,
    /// Application-defined metadata.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Metadata::is_empty"
    )]
    pub metadata: Metadata,
    /// URIs of the extensions that contributed to the artifact.
    #[serde(default, deserialize_with = "wire::nullable", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

impl Artifact {
    /// Creates an artifact with one part.
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

    /// Returns the text parts, joined by line breaks.
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
