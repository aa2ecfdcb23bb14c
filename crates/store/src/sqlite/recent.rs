//! Finished tasks that were asked for of late, in memory.
//!
//! A finished task never changes: it is here as it is in the file until it goes, and then it goes
//! here first. Readers put in what they read, unless the writer is about to remove tasks: what they
//! read then may be gone before it is in. What only was written is not here: nobody may ever ask for
//! it, and its many parts are freed more easily by whoever made them.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::{Key, Stored};

const SHARDS: usize = 16;

/// The most tasks of a shard.
const MAX_TASKS: usize = 64;

/// The most bytes of a shard, as they are in the file. In memory it is about three times that.
const MAX_BYTES: usize = 1024 * 1024;

/// Tasks that are finished.
#[derive(Debug)]
pub(super) struct Recent {
    shards: Vec<Mutex<Shard>>,
    hasher: DefaultHashBuilder,
    /// Odd while the writer removes tasks, and another number each time.
    removals: AtomicU64,
}

/// A moment in which nothing was being removed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment(u64);

#[derive(Debug, Default)]
struct Shard {
    tasks: HashTable<Entry>,
    /// The same in the order in which they came, by hash and turn, with some that are gone already.
    order: VecDeque<(u64, u64)>,
    turns: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    turn: u64,
    stored: Stored,
    bytes: usize,
}

impl Default for Recent {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: DefaultHashBuilder::default(),
            removals: AtomicU64::new(0),
        }
    }
}

impl Recent {
    /// A task, if it is here.
    pub(super) fn get(&self, key: &Key) -> Option<Stored> {
        let hash = self.hash(key);
        let shard = self.shard(hash);
        shard.tasks.find(hash, |it| it.stored.key == *key).map(|it| it.stored.clone())
    }

    /// Now, for a reader that is about to read; nothing while tasks are being removed.
    pub(super) fn moment(&self) -> Option<Moment> {
        let removals = self.removals.load(Ordering::SeqCst);
        removals.is_multiple_of(2).then_some(Moment(removals))
    }

    /// A reader puts in a task of so many bytes in the file that it read since that moment, unless
    /// some were removed meanwhile.
    pub(super) fn add(&self, moment: Moment, stored: &Stored, bytes: usize) {
        let hash = self.hash(&stored.key);
        let mut shard = self.shard(hash);
        if self.removals.load(Ordering::SeqCst) == moment.0 {
            shard.insert(hash, stored.clone(), bytes);
        }
    }

    /// The writer removes a task, in a transaction that it has not committed yet.
    pub(super) fn remove(&self, key: &Key) {
        self.removals.fetch_or(1, Ordering::SeqCst);
        let hash = self.hash(key);
        let mut shard = self.shard(hash);
        if let Ok(entry) = shard.tasks.find_entry(hash, |it| it.stored.key == *key) {
            let (removed, _) = entry.remove();
            shard.bytes -= removed.bytes;
        }
    }

    /// The transaction is over, whatever came of it.
    pub(super) fn settle(&self) {
        // Only the writer changes it.
        let removals = self.removals.load(Ordering::SeqCst);
        self.removals.store(removals + removals % 2, Ordering::SeqCst);
    }

    fn hash(&self, key: &Key) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Nothing can panic while a shard is held.
    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        // The low bits choose a slot within a table; the high ones choose the table.
        let shard = &self.shards[(hash >> 32) as usize % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shard {
    fn insert(&mut self, hash: u64, stored: Stored, bytes: usize) {
        let is_there = self.tasks.find(hash, |it| it.stored.key == stored.key).is_some();
        if is_there || bytes > MAX_BYTES / 8 {
            return;
        }
        let turn = self.turns;
        self.turns += 1;
        self.bytes += bytes;
        self.order.push_back((hash, turn));
        self.tasks.insert_unique(hash, Entry { hash, turn, stored, bytes }, |it| it.hash);
        while self.order.len() > MAX_TASKS || self.bytes > MAX_BYTES {
            let Some((hash, turn)) = self.order.pop_front() else { break };
            if let Ok(entry) = self.tasks.find_entry(hash, |it| it.turn == turn) {
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
    use crate::{Header, Work};

    fn task(number: usize) -> Stored {
        let id = TaskId::new(number.to_string()).unwrap();
        let (context, state) = (ContextId::new("c").unwrap(), TaskState::Completed);
        let task = Arc::new(Task::new(id.clone(), context.clone(), state));
        let (updated, dialect, work) = (Timestamp::EPOCH, Dialect::V1_0, Work::None);
        let header = Header { context, state, updated, dialect, work, note: None };
        let key = Key { caller: "caller".into(), agent: "agent".into(), id };
        Stored { key, task, revision: Revision::new(1), header }
    }

    fn add(recent: &Recent, stored: Stored, bytes: usize) {
        recent.add(recent.moment().unwrap(), &stored, bytes);
    }

    fn count(recent: &Recent, numbers: std::ops::Range<usize>) -> usize {
        numbers.filter(|it| recent.get(&task(*it).key).is_some()).count()
    }

    #[test]
    fn the_last_ones_are_there_and_not_too_many() {
        let recent = Recent::default();
        let many = SHARDS * MAX_TASKS;
        for number in 0..10 * many {
            add(&recent, task(number), 1);
        }
        assert!((many / 2..=many).contains(&count(&recent, 0..10 * many)));
        assert_eq!(count(&recent, 10 * many - MAX_TASKS..10 * many), MAX_TASKS);
    }

    #[test]
    fn large_ones_are_few_and_the_largest_are_not_there() {
        let recent = Recent::default();
        add(&recent, task(0), MAX_BYTES / 8 + 1);
        assert_eq!(count(&recent, 0..1), 0);
        for number in 1..1_000 {
            add(&recent, task(number), MAX_BYTES / 8);
        }
        assert!((SHARDS..=8 * SHARDS).contains(&count(&recent, 0..1_000)));
    }

    #[test]
    fn what_was_removed_makes_room() {
        let recent = Recent::default();
        for number in 0..1_000 {
            add(&recent, task(number), MAX_BYTES / 8);
            recent.remove(&task(number).key);
            recent.settle();
        }
        assert_eq!(count(&recent, 0..1_000), 0);
        assert!(recent.shards.iter().all(|it| it.lock().unwrap().bytes == 0));
    }

    #[test]
    fn what_was_read_before_a_removal_does_not_come_back() {
        let recent = Recent::default();
        let before = recent.moment().unwrap();
        recent.add(before, &task(1), 1);
        assert_eq!(count(&recent, 0..9), 1);
        recent.remove(&task(1).key);
        assert!(recent.moment().is_none(), "while it is removed");
        recent.add(before, &task(1), 1);
        assert_eq!(count(&recent, 0..9), 0, "while it is removed");
        recent.settle();
        recent.add(before, &task(1), 1);
        assert_eq!(count(&recent, 0..9), 0, "when it is removed");
        recent.settle();
        recent.add(recent.moment().unwrap(), &task(2), 1);
        assert_eq!(count(&recent, 0..9), 1);
    }
}
