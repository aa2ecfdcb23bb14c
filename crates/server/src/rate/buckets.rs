//! Storage of rate limit buckets, limited in number.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::state::keyed::ShrinkableKeyedStateStore;

use super::RateKey;
use crate::sync::ShardedMap;

/// One access to a bucket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BucketQuery {
    pub(super) key: RateKey,
    pub(super) charge: Charge,
}

/// Whether an access charges the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Charge {
    /// Charges the weight of the call.
    Weight,
    /// Charges nothing and creates no bucket.
    Nothing,
}

/// The buckets: for each key the time at which its bucket is full again.
#[derive(Debug)]
pub(super) struct Buckets {
    full_at: ShardedMap<RateKey, Nanos, SHARD_COUNT>,
    count: AtomicUsize,
    /// Number of buckets ever created.
    created: Arc<AtomicUsize>,
}

const SHARD_COUNT: usize = 64;
/// Maximum number of buckets in one shard.
const MAX_BUCKETS_PER_SHARD: usize = 1024;

impl Buckets {
    /// Maximum number of buckets.
    #[cfg(test)]
    pub(super) const MAX_BUCKETS: usize = SHARD_COUNT * MAX_BUCKETS_PER_SHARD;

    pub(super) fn new(created: Arc<AtomicUsize>) -> Self {
        Self { full_at: ShardedMap::default(), count: AtomicUsize::new(0), created }
    }
}

impl StateStore for Buckets {
    type Key = BucketQuery;

    fn measure_and_replace<T, F, E>(&self, query: &BucketQuery, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut entry = self.full_at.entry(&query.key);
        if let Some(full_at) = entry.get_mut() {
            let (outcome, next_full_at) = measure(Some(*full_at))?;
            if query.charge == Charge::Weight {
                *full_at = next_full_at;
            }
            return Ok(outcome);
        }
        let (outcome, full_at) = measure(None)?;
        if query.charge == Charge::Weight {
            // Evicts the bucket that is closest to full, because it limits its key least.
            if entry.shard_len() >= MAX_BUCKETS_PER_SHARD
                && entry.evict_min_by_key(|full_at| *full_at).is_some()
            {
                self.count.fetch_sub(1, Relaxed);
            }
            entry.insert(query.key.clone(), full_at);
            self.count.fetch_add(1, Relaxed);
            self.created.fetch_add(1, Relaxed);
        }
        Ok(outcome)
    }
}

impl ShrinkableKeyedStateStore<BucketQuery> for Buckets {
    fn retain_recent(&self, drop_below: Nanos) {
        let removed = self.full_at.retain(|_, full_at| *full_at > drop_below);
        self.count.fetch_sub(removed, Relaxed);
        self.full_at.shrink_to_fit();
    }

    fn len(&self) -> usize {
        self.count.load(Relaxed)
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
