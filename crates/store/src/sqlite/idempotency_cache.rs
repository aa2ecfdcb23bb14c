//! Messages that were sent before, in memory.
//!
//! Every message is looked up, and hardly any is found. The database has them in the order in which
//! they came; where each of them is, is known here, and read anew when the store is opened.

use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::codec::IdempotencyEntry;
use crate::IdempotencyKey;

/// So that callers rarely meet, and no single map grows large enough for its growth to be noticed.
const SHARDS: usize = 64;

/// Messages that were sent before: some 60 bytes for each.
#[derive(Debug)]
pub(super) struct IdempotencyCache {
    shards: Vec<Mutex<HashTable<CachedRecord>>>,
    hasher: DefaultHashBuilder,
}

/// What is known of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CachedRecord {
    /// The row that it is in.
    pub(super) rowid: i64,
    pub(super) entry: IdempotencyEntry,
}

impl Default for IdempotencyCache {
    fn default() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, hasher: DefaultHashBuilder::default() }
    }
}

impl IdempotencyCache {
    /// What is known of a message, whether it has expired or not.
    pub(super) fn get(&self, key: &IdempotencyKey) -> Option<CachedRecord> {
        self.shard(key).find(self.hash(key), |it| it.entry.key == *key).copied()
    }

    /// Remembers a message, instead of what was known of it before.
    pub(super) fn insert(&self, record: CachedRecord) {
        let (key, hash) = (&record.entry.key, self.hash(&record.entry.key));
        match self.shard(key).entry(hash, |it| it.entry.key == *key, |it| self.hash(&it.entry.key))
        {
            Entry::Occupied(mut existing) => *existing.get_mut() = record,
            Entry::Vacant(vacant) => {
                vacant.insert(record);
            }
        }
    }

    /// Forgets a message of a row, unless it came again in a later one.
    pub(super) fn remove(&self, key: &IdempotencyKey, rowid: i64) {
        let is_it = |it: &CachedRecord| it.entry.key == *key && it.rowid == rowid;
        if let Ok(entry) = self.shard(key).find_entry(self.hash(key), is_it) {
            entry.remove();
        }
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|it| lock(it).len()).sum()
    }

    fn hash(&self, key: &IdempotencyKey) -> u64 {
        self.hasher.hash_one(key)
    }

    fn shard(&self, key: &IdempotencyKey) -> MutexGuard<'_, HashTable<CachedRecord>> {
        lock(&self.shards[usize::from(key.0[0]) % SHARDS])
    }
}

/// Nothing can panic while a shard is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
