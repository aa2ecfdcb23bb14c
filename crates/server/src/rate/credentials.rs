//! Credentials that were right or wrong before, as keyed hashes, limited in number.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::RateKey;
use crate::sync::ShardedMap;

/// Hash of credentials with a key of this process, which reveals nothing about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CredentialHash(u64);

/// Credentials that were right, and those that were wrong at an address. When a list is full, it
/// drops the credentials that were used least recently.
#[derive(Debug, Default)]
pub(super) struct CredentialHistory {
    hasher: RandomState,
    right: ShardedMap<CredentialHash, u64, SHARD_COUNT>,
    wrong: ShardedMap<(RateKey, CredentialHash), u64, SHARD_COUNT>,
    /// Number of recorded uses, which orders them.
    uses: AtomicU64,
}

const SHARD_COUNT: usize = 64;
/// Maximum number of credentials in one shard.
const MAX_CREDENTIALS_PER_SHARD: usize = 256;

impl CredentialHistory {
    pub(super) fn hash(&self, values: impl Hash) -> CredentialHash {
        CredentialHash(self.hasher.hash_one(values))
    }

    pub(super) fn record_right(&self, credentials: CredentialHash) {
        record(&self.right, credentials, self.uses.fetch_add(1, Relaxed));
    }

    pub(super) fn was_right(&self, credentials: CredentialHash) -> bool {
        self.right.entry(&credentials).get().is_some()
    }

    /// Records wrong credentials of an address, and returns whether they are new.
    pub(super) fn record_wrong(&self, address: &RateKey, credentials: CredentialHash) -> bool {
        let uses = self.uses.fetch_add(1, Relaxed);
        record(&self.wrong, (address.clone(), credentials), uses)
    }
}

/// Records a use of a key, and returns whether the key is new.
fn record<K: Clone + Eq + Hash>(map: &ShardedMap<K, u64, SHARD_COUNT>, key: K, uses: u64) -> bool {
    let mut entry = map.entry(&key);
    if let Some(last_use) = entry.get_mut() {
        *last_use = uses;
        return false;
    }
    if entry.shard_len() >= MAX_CREDENTIALS_PER_SHARD {
        entry.evict_min_by_key(|last_use| *last_use);
    }
    entry.insert(key.clone(), uses);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> RateKey {
        RateKey::for_address(text.parse().unwrap())
    }

    #[test]
    fn wrong_credentials_are_new_once_per_address() {
        let history = CredentialHistory::default();
        let (one, other) = (history.hash("one"), history.hash("other"));
        assert!(history.record_wrong(&address("192.0.2.1"), one));
        assert!(!history.record_wrong(&address("192.0.2.1"), one));
        assert!(history.record_wrong(&address("192.0.2.1"), other));
        assert!(history.record_wrong(&address("192.0.2.2"), one));
        assert!(!history.was_right(one));
        history.record_right(one);
        assert!(history.was_right(one) && !history.was_right(other));
    }

    #[test]
    fn history_is_bounded_and_keeps_recent_credentials() {
        let history = CredentialHistory::default();
        let used = history.hash("used");
        for number in 0..4 * SHARD_COUNT * MAX_CREDENTIALS_PER_SHARD {
            history.record_right(history.hash(number));
            history.record_right(used);
        }
        assert!(history.right.len() <= SHARD_COUNT * MAX_CREDENTIALS_PER_SHARD);
        assert!(history.was_right(used));
    }
}
