//! Room for new tasks: what goes, and when.

use std::hash::BuildHasher;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use hashbrown::HashTable;
use latimer_protocol::ContextId;

use super::{Memory, Spot, lock, place};
use crate::{Error, Key};

/// A conversation, and how many tasks it has.
pub(super) struct Conversation {
    number: u64,
    caller: Arc<str>,
    agent: Arc<str>,
    context: ContextId,
    tasks: u64,
}

impl Memory {
    /// Counts one more task, and removes finished ones until it fits.
    pub(super) fn make_room(&self) -> Result<(), Error> {
        let limit = self.retention.max_tasks;
        let tasks = self.task_count.fetch_add(1, Ordering::Relaxed) + 1;
        for _ in limit..tasks {
            if !self.remove_oldest() {
                self.task_count.fetch_sub(1, Ordering::Relaxed);
                return Err(Error::Full { tasks: tasks - 1 });
            }
        }
        Ok(())
    }

    /// Counts a task in its conversation, where those are limited.
    pub(super) fn join(&self, key: &Key, context: &ContextId) -> Option<Spot> {
        if self.retention.max_contexts == 0 {
            return None;
        }
        let hash = self.hasher.hash_one((&key.caller, &key.agent, context.as_str()));
        let mut shard = self.conversation_shard(hash);
        let is_it = |it: &Conversation| {
            it.context == *context && it.caller == key.caller && it.agent == key.agent
        };
        if let Some(conversation) = shard.find_mut(hash, is_it) {
            conversation.tasks += 1;
            return Some(Spot { hash, number: conversation.number });
        }
        let spot = self.spot(hash);
        let conversation = Conversation {
            number: spot.number,
            caller: key.caller.clone(),
            agent: key.agent.clone(),
            context: context.clone(),
            tasks: 1,
        };
        let rehash =
            |it: &Conversation| self.hasher.hash_one((&it.caller, &it.agent, it.context.as_str()));
        shard.insert_unique(hash, conversation, rehash);
        self.conversation_count.fetch_add(1, Ordering::Relaxed);
        Some(spot)
    }

    fn leave(&self, spot: Spot) {
        let mut shard = self.conversation_shard(spot.hash);
        let found = shard.find_entry(spot.hash, |it| it.number == spot.number);
        let Ok(mut found) = found else { return };
        found.get_mut().tasks -= 1;
        if found.get().tasks == 0 {
            found.remove();
            self.conversation_count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Removes the tasks that finished first until there are not too many conversations.
    pub(super) fn limit_conversations(&self) {
        let limit = self.retention.max_contexts;
        let are_too_many = || self.conversation_count.load(Ordering::Relaxed) > limit;
        while limit > 0 && are_too_many() && self.remove_oldest() {}
    }

    fn conversation_shard(&self, hash: u64) -> MutexGuard<'_, HashTable<Conversation>> {
        lock(&self.conversations[place(hash)])
    }

    pub(super) fn spot(&self, hash: u64) -> Spot {
        Spot { hash, number: self.number.fetch_add(1, Ordering::Relaxed) }
    }

    /// Removes the task that finished first; false when none is finished.
    pub(super) fn remove_oldest(&self) -> bool {
        let oldest = lock(&self.finished).pop_front();
        oldest.map(|(_, spot)| self.remove(spot)).is_some()
    }

    pub(super) fn remove(&self, spot: Spot) {
        let removed = match self.shard(spot.hash).find_entry(spot.hash, |it| it.is_at(spot)) {
            Ok(entry) => entry.remove().0,
            Err(_) => return,
        };
        self.task_count.fetch_sub(1, Ordering::Relaxed);
        if let Some(conversation) = removed.conversation {
            self.leave(conversation);
        }
        for sent in removed.sent {
            self.sent_shard(sent).remove(&sent);
        }
    }
}
