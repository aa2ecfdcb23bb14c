//! Messages between a user and an agent.

use serde::{Deserialize, Serialize};

use super::wire;
use super::{ContextId, MessageId, Metadata, Part, Role, TaskId};

/// One message of a user or an agent.
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
    /// Identifier, chosen by the sender.
    #[serde(alias = "message_id")]
    pub message_id: MessageId,
    /// Context that the message belongs to.
    #[serde(
        default,
        alias = "context_id",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<ContextId>,
    /// Task that the message belongs to.
    #[serde(
        default,
        alias = "task_id",
        deserialize_with = "wire::optional_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_id: Option<TaskId>,
    /// Whether the user or the agent wrote the message.
    pub role: Role,
    /// Content of the message. Senders must include at least one part.
    #[serde(default, deserialize_with = "wire::nullable")]
    pub parts: Vec<Part>,
    /// Application-defined metadata.
    #[serde(
        default,
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Metadata::is_empty"
    )]
    pub metadata: Metadata,
    /// URIs of the extensions that contributed to the message.
    #[serde(default, deserialize_with = "wire::nullable", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Tasks that the message refers to, as a hint for the agent.
    #[serde(
        default,
        alias = "reference_task_ids",
        deserialize_with = "wire::nullable",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub reference_task_ids: Vec<TaskId>,
}

impl Message {
    /// Creates a message with one part.
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

    /// Creates a message of the user with one part.
    pub fn user(message_id: MessageId, part: impl Into<Part>) -> Self {
        Self::new(message_id, Role::User, part)
    }

    /// Creates a message of the agent with one part.
    pub fn agent(message_id: MessageId, part: impl Into<Part>) -> Self {
        Self::new(message_id, Role::Agent, part)
    }

    /// Appends a part.
    #[must_use]
    pub fn with_part(mut self, part: impl Into<Part>) -> Self {
        self.parts.push(part.into());
        self
    }

    /// Sets the context.
    #[must_use]
    pub fn with_context(mut self, context_id: ContextId) -> Self {
        self.context_id = Some(context_id);
        self
    }

    /// Sets the task.
    #[must_use]
    pub fn with_task(mut self, task_id: TaskId) -> Self {
        self.task_id = Some(task_id);
        self
    }

    /// Returns the text parts, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        join_texts(&self.parts)
    }
}

/// Returns the text among `parts`, joined by line breaks.
pub(super) fn join_texts(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n")
}
