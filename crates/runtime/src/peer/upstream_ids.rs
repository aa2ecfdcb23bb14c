//! Ids at an upstream agent: those derived for it, and those stored with a local task.

use latimer_protocol::{ContextId, MessageId, TaskId};
use latimer_server::Turn;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Which task and conversation it is for the agent behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UpstreamIds {
    /// The task, as soon as there is one.
    pub(crate) task: Option<TaskId>,
    /// The conversation.
    pub(crate) context: Option<ContextId>,
}

impl UpstreamIds {
    /// Reads a note. One that makes no sense is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(crate) fn to_json(&self) -> String {
        // It is two texts.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The name that a conversation has for the agent behind: callers who call theirs alike do not meet.
pub(crate) fn context_id(turn: &Turn) -> Option<ContextId> {
    context_id_for(turn, turn.context_id())
}

/// The name that any conversation of the caller has there.
pub(crate) fn context_id_for(turn: &Turn, local_id: &ContextId) -> Option<ContextId> {
    ContextId::new(derive(turn, "context", local_id.as_str())).ok()
}

/// The name that a task has for an agent behind whose callers name its tasks.
pub(crate) fn task_id(turn: &Turn) -> Option<TaskId> {
    TaskId::new(derive(turn, "task", turn.task_id().as_str())).ok()
}

/// The id that a message has for the agent behind: the caller's own, and whose it is. The same message
/// has the same one.
pub(crate) fn message_id(turn: &Turn) -> Option<MessageId> {
    let local_id = turn.message().message_id.as_str();
    let derived = derive(turn, "message", local_id);
    let (prefix, _) = derived.split_at(18);
    MessageId::new(format!("{local_id}-{prefix}")).or_else(|_| MessageId::new(derived)).ok()
}

/// A UUID that follows from whose something is, and what it is called.
fn derive(turn: &Turn, kind: &str, local_id: &str) -> String {
    let mut digest = Sha256::new();
    for field in [kind, turn.caller().id(), turn.agent(), local_id] {
        // With its length, so that no two lists of texts are the same bytes.
        digest.update((field.len() as u64).to_be_bytes());
        digest.update(field);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.finalize()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstream_ids_round_trip_as_json() {
        let (task, context) = (TaskId::new("t").ok(), ContextId::new("c").ok());
        for ids in [
            UpstreamIds::default(),
            UpstreamIds { task: task.clone(), context: None },
            UpstreamIds { task, context },
        ] {
            assert_eq!(UpstreamIds::parse(&ids.to_json()), Some(ids));
        }
        assert_eq!(UpstreamIds::parse("no note"), None);
    }
}
