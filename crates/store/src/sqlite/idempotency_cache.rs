//! In-memory index of all idempotency records.
//!
//! Every message is looked up and almost none is found, so a lookup must not read the database. The
//! database stores the records in arrival order, and the index is rebuilt when the store is opened.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::codec::IdempotencyEntry;
use crate::IdempotencyKey;
use crate::sync::Sharded;

const SHARDS: usize = 64;

/// Index of idempotency records: about 60 bytes per record. A table, because a record contains its
/// key.
#[derive(Debug, Default)]
pub(super) struct IdempotencyCache(Sharded<HashTable<CachedRecord>, SHARDS>);

/// Idempotency record and its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CachedRecord {
    /// Row that contains the record.
    pub(super) rowid: i64,
    pub(super) entry: IdempotencyEntry,
}

impl IdempotencyCache {
    /// Returns the record of a message, even if it has expired.
    pub(super) fn get(&self, key: &IdempotencyKey) -> Option<CachedRecord> {
        let hash = self.0.hash(key);
        self.0.lock(hash).find(hash, |it| it.entry.key == *key).copied()
    }

    /// Inserts a record. Replaces one with the same key.
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

    /// Removes the record of a message, unless a later row contains a newer one.
    pub(super) fn remove(&self, key: &IdempotencyKey, rowid: i64) {
        let is_same = |it: &CachedRecord| it.entry.key == *key && it.rowid == rowid;
        let hash = self.0.hash(key);
        if let Ok(entry) = self.0.lock(hash).find_entry(hash, is_same) {
            entry.remove();
        }
    }

    /// Returns the number of records.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock_each().map(|it| it.len()).sum()
    }
}
