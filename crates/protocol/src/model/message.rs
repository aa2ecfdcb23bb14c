//! One turn of a conversation.

use serde::{Deserialize, Serialize};

use super::wire;
use super::{ContextId, MessageId, Metadata, Part, Role, TaskId};

/// One turn of a conversation, by the caller or by the agent.
///
/// ```
/// # use latimer_protocol::{Message, MessageId};
/// let message = Message::user(MessageId::new("m1")?, "hello");
/// assert_eq!(message.text(), "hello");
/// # Ok::<(), latimer_protocol::InvalidId>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Its identifier, chosen by whoever wrote it.
    #[serde(alias = "message_id")]
    pub message_id: MessageId,
    /// The conversation it belongs to.
    #[serde(
        default,
        alias = "context_id",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<ContextId>,
    /// The task it belongs to.
    #[serde(
        default,
        alias = "task_id",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_id: Option<TaskId>,
    /// Who wrote it.
    pub role: Role,
    /// What it says; at least one part in what we send and in what callers send.
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
    /// Tasks it refers to, as a hint.
    #[serde(
        default,
        alias = "reference_task_ids",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub reference_task_ids: Vec<TaskId>,
}

impl Message {
    /// A message of one part.
    pub fn new(message_id: MessageId, role: Role, part: impl Into<Part>) -> Self {
        Self {
            message_id,
            context_id: None,
            task_id: None,
            role,
            parts: vec![part.into()],
            metadata: Metadata::new(),
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    /// A message of the caller.
    pub fn user(message_id: MessageId, part: impl Into<Part>) -> Self {
        Self::new(message_id, Role::User, part)
    }

    /// A message of the agent.
    pub fn agent(message_id: MessageId, part: impl Into<Part>) -> Self {
        Self::new(message_id, Role::Agent, part)
    }

    /// The same message with one more part.
    #[must_use]
    pub fn with_part(mut self, part: impl Into<Part>) -> Self {
        self.parts.push(part.into());
        self
    }

    /// The same message, within a conversation.
    #[must_use]
    pub fn with_context(mut self, context_id: ContextId) -> Self {
        self.context_id = Some(context_id);
        self
    }

    /// The same message, to a task.
    #[must_use]
    pub fn with_task(mut self, task_id: TaskId) -> Self {
        self.task_id = Some(task_id);
        self
    }

    /// All its texts, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        join_texts(&self.parts)
    }
}

/// The texts among `parts`, joined by line breaks.
pub(super) fn join_texts(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n")
}
