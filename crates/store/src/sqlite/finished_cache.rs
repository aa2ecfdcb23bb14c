//! In-memory cache of recently read finished tasks.
//!
//! Finished tasks are immutable, so entries never go stale. The writer removes an entry before it
//! deletes the row. A reader inserts a task only if no removal began since it started reading,
//! because the task could be deleted before the insertion. Writes do not fill the cache: many tasks
//! are never read, and freeing a task is cheaper on the thread that allocated it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashTable;

use crate::sync::Sharded;
use crate::{StoredTask, TaskKey};

const SHARDS: usize = 16;

/// Maximum number of tasks per shard.
const MAX_TASKS_PER_SHARD: usize = 64;

/// Maximum encoded size of the tasks of a shard in bytes. They take about three times as much
/// memory.
const MAX_BYTES_PER_SHARD: usize = 1024 * 1024;

/// Cache of finished tasks, with first-in-first-out eviction.
#[derive(Debug, Default)]
pub(super) struct FinishedTaskCache {
    /// Shards with their own table, insertion order and size.
    shards: Sharded<Shard, SHARDS>,
    /// Removal counter: odd while the writer removes tasks, and different after each removal.
    removals: AtomicU64,
}

/// Value of the removal counter at a time without a removal in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheEpoch(u64);

#[derive(Debug, Default)]
struct Shard {
    tasks: HashTable<CachedTask>,
    /// Hash and sequence number of tasks in insertion order. May contain tasks that were removed.
    order: VecDeque<(u64, u64)>,
    next_sequence: u64,
    bytes: usize,
}

#[derive(Debug)]
struct CachedTask {
    hash: u64,
    sequence: u64,
    stored: StoredTask,
    bytes: usize,
}

impl FinishedTaskCache {
    /// Returns a task, if it is cached.
    pub(super) fn get(&self, key: &TaskKey) -> Option<StoredTask> {
        let hash = self.shards.hash(key);
        let shard = self.shards.lock(hash);
        shard.tasks.find(hash, |it| it.stored.key == *key).map(|it| it.stored.clone())
    }

    /// Returns the epoch for a reader that is about to read; `None` during a removal.
    pub(super) fn epoch(&self) -> Option<CacheEpoch> {
        let removals = self.removals.load(Ordering::SeqCst);
        removals.is_multiple_of(2).then_some(CacheEpoch(removals))
    }

    /// Inserts a task that was read since `epoch` and has an encoded size of `bytes`, unless a
    /// removal began since then.
    pub(super) fn add(&self, epoch: CacheEpoch, stored: &StoredTask, bytes: usize) {
        let hash = self.shards.hash(&stored.key);
        let mut shard = self.shards.lock(hash);
        if self.removals.load(Ordering::SeqCst) == epoch.0 {
            shard.insert(hash, stored.clone(), bytes);
        }
    }

    /// Removes a task. Called by the writer in a transaction that is not committed yet.
    pub(super) fn remove(&self, key: &TaskKey) {
        self.removals.fetch_or(1, Ordering::SeqCst);
        let hash = self.shards.hash(key);
        let mut shard = self.shards.lock(hash);
        if let Ok(entry) = shard.tasks.find_entry(hash, |it| it.stored.key == *key) {
            let (removed, _) = entry.remove();
            shard.bytes -= removed.bytes;
        }
    }

    /// Ends the removals of a transaction, whether it was committed or rolled back.
    pub(super) fn end_removal(&self) {
        // Only the writer thread modifies the counter.
        let removals = self.removals.load(Ordering::SeqCst);
        self.removals.store(removals + removals % 2, Ordering::SeqCst);
    }
}

impl Shard {
    fn insert(&mut self, hash: u64, stored: StoredTask, bytes: usize) {
        let is_cached = self.tasks.find(hash, |it| it.stored.key == stored.key).is_some();
        if is_cached || bytes > MAX_BYTES_PER_SHARD / 8 {
            return;
        }
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.bytes += bytes;
        self.order.push_back((hash, sequence));
        self.tasks.insert_unique(hash, CachedTask { hash, sequence, stored, bytes }, |it| it.hash);
        while self.order.len() > MAX_TASKS_PER_SHARD || self.bytes > MAX_BYTES_PER_SHARD {
            let Some((hash, sequence)) = self.order.pop_front() else { break };
            if let Ok(entry) = self.tasks.find_entry(hash, |it| it.sequence == sequence) {
                let (removed, _) = entry.remove();
                self.bytes -= removed.bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use latimer_protocol::{ContextId, Dialect, Revision, Task, TaskId, TaskState, Timestamp};

    use super::*;
    use crate::{PendingWork, TaskHeader};

    fn finished_task(number: usize) -> StoredTask {
        let id = TaskId::new(number.to_string()).unwrap();
        let (context, state) = (ContextId::new("c").unwrap(), TaskState::Completed);
        let task = Arc::new(Task::new(id.clone(), context.clone(), state));
        let (status_changed_at, created_in, pending_work) =
            (Timestamp::EPOCH, Dialect::V1_0, PendingWork::None);
        let header =
            TaskHeader { context, state, status_changed_at, created_in, pending_work, note: None };
        let key = TaskKey { owner: "caller".into(), agent: "agent".into(), id };
        StoredTask { key, task, revision: Revision::new(1), header }
    }

    fn add(cache: &FinishedTaskCache, stored: StoredTask, bytes: usize) {
        cache.add(cache.epoch().unwrap(), &stored, bytes);
    }

    fn count(cache: &FinishedTaskCache, numbers: std::ops::Range<usize>) -> usize {
        numbers.filter(|it| cache.get(&finished_task(*it).key).is_some()).count()
    }

    #[test]
    fn cache_keeps_latest_tasks_within_capacity() {
        let cache = FinishedTaskCache::default();
        let many = SHARDS * MAX_TASKS_PER_SHARD;
        for number in 0..10 * many {
            add(&cache, finished_task(number), 1);
        }
        assert!((many / 2..=many).contains(&count(&cache, 0..10 * many)));
        assert_eq!(count(&cache, 10 * many - MAX_TASKS_PER_SHARD..10 * many), MAX_TASKS_PER_SHARD);
    }

    #[test]
    fn cache_limits_bytes_and_skips_oversized_tasks() {
        let cache = FinishedTaskCache::default();
        add(&cache, finished_task(0), MAX_BYTES_PER_SHARD / 8 + 1);
        assert_eq!(count(&cache, 0..1), 0);
        for number in 1..1_000 {
            add(&cache, finished_task(number), MAX_BYTES_PER_SHARD / 8);
        }
        assert!((SHARDS..=8 * SHARDS).contains(&count(&cache, 0..1_000)));
    }

    #[test]
    fn removed_tasks_free_cache_bytes() {
        let cache = FinishedTaskCache::default();
        for number in 0..1_000 {
            add(&cache, finished_task(number), MAX_BYTES_PER_SHARD / 8);
            cache.remove(&finished_task(number).key);
            cache.end_removal();
        }
        assert_eq!(count(&cache, 0..1_000), 0);
        assert!(cache.shards.lock_each().all(|it| it.bytes == 0));
    }

    #[test]
    fn task_read_before_removal_is_not_cached_again() {
        let cache = FinishedTaskCache::default();
        let earlier_epoch = cache.epoch().unwrap();
        cache.add(earlier_epoch, &finished_task(1), 1);
        assert_eq!(count(&cache, 0..9), 1);
        cache.remove(&finished_task(1).key);
        assert!(cache.epoch().is_none(), "during the removal");
        cache.add(earlier_epoch, &finished_task(1), 1);
        assert_eq!(count(&cache, 0..9), 0, "during the removal");
        cache.end_removal();
        cache.add(earlier_epoch, &finished_task(1), 1);
        assert_eq!(count(&cache, 0..9), 0, "after the removal");
        cache.end_removal();
        cache.add(cache.epoch().unwrap(), &finished_task(2), 1);
        assert_eq!(count(&cache, 0..9), 1);
    }
}
