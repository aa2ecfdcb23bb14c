//! Messages that were sent before, in memory.
//!
//! Every message is looked up, and hardly any is found. The database has them in the order in which
//! they came; where each of them is, is known here, and read anew when the store is opened.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::codec::IdempotencyEntry;
use crate::IdempotencyKey;
use crate::sync::Sharded;

const SHARDS: usize = 64;

/// Messages that were sent before: some 60 bytes for each. Not a map, because a record has its key
/// in it.
#[derive(Debug, Default)]
pub(super) struct IdempotencyCache(Sharded<HashTable<CachedRecord>, SHARDS>);

/// What is known of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CachedRecord {
    /// The row that it is in.
    pub(super) rowid: i64,
    pub(super) entry: IdempotencyEntry,
}

impl IdempotencyCache {
    /// What is known of a message, whether it has expired or not.
    pub(super) fn get(&self, key: &IdempotencyKey) -> Option<CachedRecord> {
        let hash = self.0.hash(key);
        self.0.lock(hash).find(hash, |it| it.entry.key == *key).copied()
    }

    /// Remembers a message, instead of what was known of it before.
    pub(super) fn insert(&self, record: CachedRecord) {
        let key = &record.entry.key;
        let hash = self.0.hash(key);
        let rehash = |it: &CachedRecord| self.0.hash(&it.entry.key);
        match self.0.lock(hash).entry(hash, |it| it.entry.key == *key, rehash) {
            Entry::Occupied(mut existing) => *existing.get_mut() = record,
            Entry::Vacant(vacant) => {
                vacant.insert(record);
            }
        }
    }

    /// Forgets a message of a row, unless it came again in a later one.
    pub(super) fn remove(&self, key: &IdempotencyKey, rowid: i64) {
        let is_it = |it: &CachedRecord| it.entry.key == *key && it.rowid == rowid;
        let hash = self.0.hash(key);
        if let Ok(entry) = self.0.lock(hash).find_entry(hash, is_it) {
            entry.remove();
        }
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock_each().map(|it| it.len()).sum()
    }
}
