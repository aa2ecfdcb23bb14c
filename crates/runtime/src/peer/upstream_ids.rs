//! Ids at an upstream agent or a program: those derived for it, and those stored with a local task.

use latimer_protocol::{ContextId, MessageId, TaskId};
use latimer_server::Turn;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Task and context ids at the upstream agent. Stored as the note of a local task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UpstreamIds {
    /// Upstream task id; `None` until the upstream agent has created a task.
    pub(crate) task: Option<TaskId>,
    /// Upstream context id.
    pub(crate) context: Option<ContextId>,
}

impl UpstreamIds {
    /// Parses a note. Returns `None` if it is invalid.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(crate) fn to_json(&self) -> String {
        // Two optional strings always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Derives the upstream context id of a turn's context, a UUID. Equal context ids of different
/// callers have different upstream ids.
pub(crate) fn context_id(turn: &Turn) -> Option<ContextId> {
    context_id_for(turn, turn.context_id())
}

/// Derives the upstream context id of any context of the turn's caller.
pub(crate) fn context_id_for(turn: &Turn, local_id: &ContextId) -> Option<ContextId> {
    ContextId::new(derive(turn, "context", local_id.as_str())).ok()
}

/// Derives the upstream task id, for agents whose clients choose task ids.
pub(crate) fn task_id(turn: &Turn) -> Option<TaskId> {
    TaskId::new(derive(turn, "task", turn.task_id().as_str())).ok()
}

/// Derives the upstream message id: the caller's message id and a suffix that depends on the
/// caller. A resent message has the same upstream id.
pub(crate) fn message_id(turn: &Turn) -> Option<MessageId> {
    let local_id = turn.message().message_id.as_str();
    let derived = derive(turn, "message", local_id);
    let (prefix, _) = derived.split_at(18);
    MessageId::new(format!("{local_id}-{prefix}")).or_else(|_| MessageId::new(derived)).ok()
}

/// Derives a UUID from caller, agent, kind of id and local id.
fn derive(turn: &Turn, kind: &str, local_id: &str) -> String {
    let mut digest = Sha256::new();
    for field in [kind, turn.caller().id(), turn.agent(), local_id] {
        // The length prefix makes the encoding unambiguous.
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
