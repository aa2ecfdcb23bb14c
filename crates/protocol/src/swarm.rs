//! Directives: control messages between the members of a swarm of agents.

use std::fmt;

use serde_json::Value;

use crate::model::{Content, Message, MessageId, Part};

/// Metadata key that marks a message as a directive.
const KIND_METADATA_KEY: &str = "swarmKind";

/// Control message from one member of a swarm to another.
///
/// On the wire, a directive is a message whose metadata contains `swarmKind` and whose data part
/// contains the parameters. A server treats it as a directive only if a directive handler is
/// registered; otherwise it is an ordinary message. Gateways do not forward directives.
///
/// ```
/// use latimer_protocol::swarm::{Directive, DirectiveKind};
/// use latimer_protocol::MessageId;
/// use serde_json::json;
///
/// let directive = Directive::new(DirectiveKind::ExecuteTask, json!({"task": "index the archive"}));
/// let message = directive.clone().into_message(MessageId::new("m1")?);
/// assert_eq!(message.metadata["swarmKind"], "execute_task");
/// assert_eq!(Directive::from_message(&message), Some(Ok(directive)));
/// # Ok::<(), latimer_protocol::InvalidId>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Directive {
    /// Requested action.
    pub kind: DirectiveKind,
    /// Parameters of the action; `null` if the message has no data part.
    pub content: Value,
}

/// Action that a directive requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DirectiveKind {
    /// Start an agent.
    SpawnAgent,
    /// Execute a task.
    ExecuteTask,
    /// Report the available resources.
    QueryResources,
    /// Forward a message to another member.
    ForwardMessage,
    /// Adopt the sender's state.
    SyncState,
}

impl DirectiveKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [
        Self::SpawnAgent,
        Self::ExecuteTask,
        Self::QueryResources,
        Self::ForwardMessage,
        Self::SyncState,
    ];

    /// Returns the value of `swarmKind` for this kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SpawnAgent => "spawn_agent",
            Self::ExecuteTask => "execute_task",
            Self::QueryResources => "query_resources",
            Self::ForwardMessage => "forward_message",
            Self::SyncState => "sync_state",
        }
    }
}

impl fmt::Display for DirectiveKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The `swarmKind` of a message is not one of the known kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "swarmKind must be one of spawn_agent, execute_task, query_resources, forward_message, sync_state"
)]
pub struct UnknownDirectiveKind;

impl Directive {
    /// Creates a directive.
    pub fn new(kind: DirectiveKind, content: impl Into<Value>) -> Self {
        Self { kind, content: content.into() }
    }

    /// Reads the directive from a message; returns `None` for an ordinary message.
    ///
    /// # Errors
    /// The inner result is [`UnknownDirectiveKind`] if `swarmKind` has an unknown value.
    #[must_use]
    pub fn from_message(message: &Message) -> Option<Result<Self, UnknownDirectiveKind>> {
        let declared = message.metadata.get(KIND_METADATA_KEY)?;
        let Some(kind) = DirectiveKind::ALL.into_iter().find(|it| declared == it.name()) else {
            return Some(Err(UnknownDirectiveKind));
        };
        let content = message.parts.iter().find_map(|part| match &part.content {
            Content::Data(value) => Some((**value).clone()),
            Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
        });
        Some(Ok(Self { kind, content: content.unwrap_or_default() }))
    }

    /// Converts the directive into a message of the user.
    #[must_use]
    pub fn into_message(self, message_id: MessageId) -> Message {
        let mut message = Message::user(message_id, Part::data(self.content));
        message.metadata.insert(KIND_METADATA_KEY.to_owned(), self.kind.name().into());
        message
    }
}
