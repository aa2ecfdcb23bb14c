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
const GENERATION_SIZE: usize = 4096;

/// What is known of the conversations with an agent that were of use of late: by our names for them,
/// what the agent calls them, and whatever else there is to know.
#[derive(Debug)]
pub(crate) struct ContextCache<T = ContextId>(Mutex<Generations<T>>);

#[derive(Debug)]
struct Generations<T> {
    current: HashMap<ContextId, T>,
    previous: HashMap<ContextId, T>,
}

impl<T> Default for ContextCache<T> {
    fn default() -> Self {
        Self(Mutex::new(Generations { current: HashMap::new(), previous: HashMap::new() }))
    }
}

impl<T: Clone> ContextCache<T> {
    /// What is known of a conversation of ours, if it was of use of late.
    pub(crate) fn get(&self, key: &ContextId) -> Option<T> {
        let generations = self.lock();
        generations.current.get(key).or_else(|| generations.previous.get(key)).cloned()
    }

    /// Remembers what is known of it now. `ours` is unique to the caller.
    pub(crate) fn insert(&self, key: ContextId, value: T) {
        let mut generations = self.lock();
        if generations.current.len() >= GENERATION_SIZE {
            generations.previous = std::mem::take(&mut generations.current);
        }
        generations.current.insert(key, value);
    }

    fn lock(&self) -> MutexGuard<'_, Generations<T>> {
        // Entries are put in whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name that a conversation has for the agent behind: callers who call theirs alike do not meet.
pub(super) fn context_id(turn: &Turn) -> Option<ContextId> {
    context_id_for(turn, turn.context_id())
}

/// The name that any conversation of the caller has there.
pub(crate) fn context_id_for(turn: &Turn, local_id: &ContextId) -> Option<ContextId> {
    ContextId::new(derive(turn, "context", local_id.as_str())).ok()
}

/// The name that a task has for an agent behind whose callers name its tasks.
pub(super) fn task_id(turn: &Turn) -> Option<TaskId> {
    TaskId::new(derive(turn, "task", turn.task_id().as_str())).ok()
}

/// The id that a message has for the agent behind: the caller's own, and whose it is. The same message
/// has the same one.
pub(super) fn message_id(turn: &Turn) -> Option<MessageId> {
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
    fn context_cache_keeps_two_generations() {
        let id = |index: usize| ContextId::new(index.to_string()).unwrap();
        let cache = ContextCache::default();
        for index in 0..3 * GENERATION_SIZE {
            cache.insert(id(index), id(index + 1));
        }
        assert_eq!(cache.get(&id(0)), None);
        for index in [GENERATION_SIZE, 2 * GENERATION_SIZE, 3 * GENERATION_SIZE - 1] {
            assert_eq!(cache.get(&id(index)), Some(id(index + 1)), "{index}");
        }
    }
}
