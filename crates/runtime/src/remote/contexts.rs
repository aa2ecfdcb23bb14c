//! Conversations: which of theirs is which of ours.
//!
//! An agent is told a conversation's name that follows from whose it is and what we call it, so that
//! nobody needs to remember it. An agent that calls it otherwise all the same is asked under its own
//! name from then on: that is remembered here for a while, and with its tasks for good.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use latimer_protocol::{ContextId, MessageId, TaskId};
use latimer_server::Turn;
use sha2::{Digest, Sha256};

/// How many are remembered of late; as many again of before.
const RECENT: usize = 4096;

/// What is known of the conversations with an agent that were of use of late: by our names for them,
/// what the agent calls them, and whatever else there is to know.
#[derive(Debug)]
pub(crate) struct Contexts<T = ContextId>(Mutex<Generations<T>>);

#[derive(Debug)]
struct Generations<T> {
    recent: HashMap<ContextId, T>,
    before: HashMap<ContextId, T>,
}

impl<T> Default for Contexts<T> {
    fn default() -> Self {
        Self(Mutex::new(Generations { recent: HashMap::new(), before: HashMap::new() }))
    }
}

impl<T: Clone> Contexts<T> {
    /// What is known of a conversation of ours, if it was of use of late.
    pub(crate) fn get(&self, ours: &ContextId) -> Option<T> {
        let known = self.lock();
        known.recent.get(ours).or_else(|| known.before.get(ours)).cloned()
    }

    /// Remembers what is known of it now. `ours` is unique to the caller.
    pub(crate) fn learn(&self, ours: ContextId, theirs: T) {
        let mut known = self.lock();
        if known.recent.len() >= RECENT {
            known.before = std::mem::take(&mut known.recent);
        }
        known.recent.insert(ours, theirs);
    }

    fn lock(&self) -> MutexGuard<'_, Generations<T>> {
        // Entries are put in whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name that a conversation has for the agent behind: callers who call theirs alike do not meet.
pub(super) fn context(turn: &Turn) -> Option<ContextId> {
    context_of(turn, turn.context_id())
}

/// The name that any conversation of the caller has there.
pub(crate) fn context_of(turn: &Turn, ours: &ContextId) -> Option<ContextId> {
    ContextId::new(name(turn, "context", ours.as_str())).ok()
}

/// The name that a task has for an agent behind whose callers name its tasks.
pub(super) fn task(turn: &Turn) -> Option<TaskId> {
    TaskId::new(name(turn, "task", turn.task_id().as_str())).ok()
}

/// The id that a message has for the agent behind: the caller's own, and whose it is. The same message
/// has the same one.
pub(super) fn message(turn: &Turn) -> Option<MessageId> {
    let own = turn.message().message_id.as_str();
    let whole = name(turn, "message", own);
    let (mark, _) = whole.split_at(18);
    MessageId::new(format!("{own}-{mark}")).or_else(|_| MessageId::new(whole)).ok()
}

/// A UUID that follows from whose something is, and what it is called.
fn name(turn: &Turn, what: &str, of: &str) -> String {
    let mut digest = Sha256::new();
    for text in [what, turn.caller().id(), turn.agent(), of] {
        // With its length, so that no two lists of texts are the same bytes.
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.finalize()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_of_use_of_late_is_known() {
        let id = |number: usize| ContextId::new(number.to_string()).unwrap();
        let contexts = Contexts::default();
        for number in 0..3 * RECENT {
            contexts.learn(id(number), id(number + 1));
        }
        assert_eq!(contexts.get(&id(0)), None);
        for number in [RECENT, 2 * RECENT, 3 * RECENT - 1] {
            assert_eq!(contexts.get(&id(number)), Some(id(number + 1)), "{number}");
        }
    }
}
