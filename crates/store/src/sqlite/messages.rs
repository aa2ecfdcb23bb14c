//! Messages that were sent before, in memory.
//!
//! Every message is looked up, and hardly any is found. The database has them in the order in which
//! they came; where each of them is, is known here, and read anew when the store is opened.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::codec::Note;
use crate::SentKey;

/// So that callers rarely meet, and no single map grows large enough for its growth to be noticed.
const SHARDS: usize = 64;

/// Messages that were sent before.
#[derive(Debug)]
pub(super) struct Messages {
    shards: Vec<Mutex<HashMap<SentKey, Known>>>,
}

/// What is known of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// The row that it is in.
    pub(super) place: i64,
    pub(super) note: Note,
}

impl Default for Messages {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

impl Messages {
    /// What is known of a message, whether it has expired or not.
    pub(super) fn get(&self, key: &SentKey) -> Option<Known> {
        self.shard(key).get(key).copied()
    }

    /// Remembers a message, instead of what was known of it before.
    pub(super) fn insert(&self, known: Known) {
        self.shard(&known.note.key).insert(known.note.key, known);
    }

    /// Forgets a message of a row, unless it came again in a later one.
    pub(super) fn remove(&self, key: &SentKey, place: i64) {
        let mut shard = self.shard(key);
        if shard.get(key).is_some_and(|it| it.place == place) {
            shard.remove(key);
        }
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|it| lock(it).len()).sum()
    }

    fn shard(&self, key: &SentKey) -> MutexGuard<'_, HashMap<SentKey, Known>> {
        lock(&self.shards[usize::from(key.0[0]) % SHARDS])
    }
}

/// Nothing can panic while a shard is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
