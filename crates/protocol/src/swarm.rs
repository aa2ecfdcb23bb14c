//! What members of a swarm ask of each other: directives, which travel as messages.

use std::fmt;

use serde_json::Value;

use crate::model::{Content, Message, MessageId, Part};

/// The member of a message's metadata that makes it a directive.
const KIND_METADATA_KEY: &str = "swarmKind";

/// Something that one member of a swarm asks of another, beside conversation.
///
/// It is a message whose metadata has a `swarmKind`, and whose data part says the rest. A server takes
/// it for one only when it was given a handler of directives; for every other it is a message. A
/// gateway passes none on.
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
    /// What it asks for.
    pub kind: DirectiveKind,
    /// What there is to know for it; `null` when nothing was said.
    pub content: Value,
}

/// What a directive asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DirectiveKind {
    /// To start an agent.
    SpawnAgent,
    /// To do a piece of work.
    ExecuteTask,
    /// To say what there is to work with.
    QueryResources,
    /// To pass a message on.
    ForwardMessage,
    /// To take over what another member knows.
    SyncState,
}

impl DirectiveKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::SpawnAgent,
        Self::ExecuteTask,
        Self::QueryResources,
        Self::ForwardMessage,
        Self::SyncState,
    ];

    /// Its name in metadata.
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

/// A message that says it is a directive, of none of the kinds there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "swarmKind must be one of spawn_agent, execute_task, query_resources, forward_message, sync_state"
)]
pub struct UnknownDirectiveKind;

impl Directive {
    /// A directive.
    pub fn new(kind: DirectiveKind, content: impl Into<Value>) -> Self {
        Self { kind, content: content.into() }
    }

    /// The directive that a message is; none when it is not one.
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

    /// The directive as a message.
    #[must_use]
    pub fn into_message(self, message_id: MessageId) -> Message {
        let mut message = Message::user(message_id, Part::data(self.content));
        message.metadata.insert(KIND_METADATA_KEY.to_owned(), self.kind.name().into());
        message
    }
}
