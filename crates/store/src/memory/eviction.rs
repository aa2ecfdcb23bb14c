//! Eviction of finished tasks.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use latimer_protocol::ContextId;

use super::{EntryRef, MemoryStore, TaskEntry};
use crate::{Error, TaskKey};

/// Context of an owner and agent, with its number of tasks.
pub(super) struct ContextEntry {
    entry_id: u64,
    owner: Arc<str>,
    agent: Arc<str>,
    context: ContextId,
    task_count: u64,
}

impl MemoryStore {
    /// Counts a new task, and evicts finished tasks above the limit.
    pub(super) fn evict_for_new_task(&self) -> Result<(), Error> {
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

    /// Counts a task in its context. Returns `None` if contexts are not limited.
    pub(super) fn add_to_context(&self, key: &TaskKey, context: &ContextId) -> Option<EntryRef> {
        if self.retention.max_contexts == 0 {
            return None;
        }
        let hash = self.contexts.hash(&(&key.owner, &key.agent, context.as_str()));
        let mut shard = self.contexts.lock(hash);
        let is_same = |it: &ContextEntry| {
            it.context == *context && it.owner == key.owner && it.agent == key.agent
        };
        if let Some(entry) = shard.find_mut(hash, is_same) {
            entry.task_count += 1;
            return Some(EntryRef { hash, id: entry.entry_id });
        }
        let entry_ref = self.new_entry_ref(hash);
        let entry = ContextEntry {
            entry_id: entry_ref.id,
            owner: key.owner.clone(),
            agent: key.agent.clone(),
            context: context.clone(),
            task_count: 1,
        };
        let rehash =
            |it: &ContextEntry| self.contexts.hash(&(&it.owner, &it.agent, it.context.as_str()));
        shard.insert_unique(hash, entry, rehash);
        self.context_count.fetch_add(1, Ordering::Relaxed);
        Some(entry_ref)
    }

    fn remove_from_context(&self, entry_ref: EntryRef) {
        let mut shard = self.contexts.lock(entry_ref.hash);
        let entry = shard.find_entry(entry_ref.hash, |it| it.entry_id == entry_ref.id);
        let Ok(mut entry) = entry else { return };
        entry.get_mut().task_count -= 1;
        if entry.get().task_count == 0 {
            entry.remove();
            self.context_count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Evicts the tasks that finished first while there are too many contexts.
    pub(super) fn evict_excess_contexts(&self) {
        let limit = self.retention.max_contexts;
        let is_over_limit = || self.context_count.load(Ordering::Relaxed) > limit;
        while limit > 0 && is_over_limit() && self.remove_oldest() {}
    }

    pub(super) fn new_entry_ref(&self, hash: u64) -> EntryRef {
        EntryRef { hash, id: self.next_entry_id.fetch_add(1, Ordering::Relaxed) }
    }

    /// Removes the task that finished first. Returns `false` if none has finished.
    pub(super) fn remove_oldest(&self) -> bool {
        let oldest = self.finished.lock().pop_front();
        oldest.map(|(_, entry_ref)| self.remove(entry_ref)).is_some()
    }

    pub(super) fn remove(&self, entry_ref: EntryRef) {
        let removed = match self
            .tasks
            .lock(entry_ref.hash)
            .find_entry(entry_ref.hash, |it| it.is_referenced_by(entry_ref))
        {
            Ok(entry) => entry.remove().0,
            Err(_) => return,
        };
        self.forget(removed);
    }

    /// Updates counts and idempotency records after the removal of an entry.
    pub(super) fn forget(&self, removed: TaskEntry) {
        self.task_count.fetch_sub(1, Ordering::Relaxed);
        if let Some(context_entry) = removed.context_entry {
            self.remove_from_context(context_entry);
        }
        for key in removed.idempotency_keys {
            self.idempotency.entry(&key).remove();
        }
    }
}
