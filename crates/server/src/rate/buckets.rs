//! Where it is kept how often everybody has asked. There is a limit on that, too.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::state::keyed::ShrinkableKeyedStateStore;
use hashbrown::{DefaultHashBuilder, HashMap};

use super::RateKey;

/// One question to the buckets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BucketQuery {
    pub(super) key: RateKey,
    pub(super) charge: Charge,
}

/// Whether a question changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Charge {
    Weight,
    Nothing,
}

/// The buckets: for each the time at which it will be full again.
#[derive(Debug)]
pub(super) struct Buckets {
    hasher: DefaultHashBuilder,
    shards: Vec<Mutex<Shard>>,
    count: AtomicUsize,
    /// How many were ever made.
    created: Arc<AtomicUsize>,
}

type Shard = HashMap<RateKey, Nanos>;

const SHARD_COUNT: usize = 64;
/// How many buckets there may be in one shard.
const MAX_BUCKETS_PER_SHARD: usize = 1024;

impl Buckets {
    /// How many buckets there may be.
    #[cfg(test)]
    pub(super) const MAX_BUCKETS: usize = SHARD_COUNT * MAX_BUCKETS_PER_SHARD;

    pub(super) fn new(created: Arc<AtomicUsize>) -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            shards: (0..SHARD_COUNT).map(|_| Mutex::default()).collect(),
            count: AtomicUsize::new(0),
            created,
        }
    }

    fn shard(&self, key: &RateKey) -> MutexGuard<'_, Shard> {
        let hash = self.hasher.hash_one(key);
        lock(&self.shards[(hash >> 32) as usize % SHARD_COUNT])
    }

    /// Removes the bucket that is the nearest to being full: the least is lost with it.
    fn evict_fullest(&self, shard: &mut Shard) {
        let fullest = shard.iter().min_by_key(|(_, full_at)| **full_at).map(|(key, _)| key.clone());
        if let Some(key) = fullest {
            shard.remove(&key);
            self.count.fetch_sub(1, Relaxed);
        }
    }
}

impl StateStore for Buckets {
    type Key = BucketQuery;

    fn measure_and_replace<T, F, E>(&self, query: &BucketQuery, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut shard = self.shard(&query.key);
        if let Some(full_at) = shard.get_mut(&query.key) {
            let (outcome, next_full_at) = measure(Some(*full_at))?;
            if query.charge == Charge::Weight {
                *full_at = next_full_at;
            }
            return Ok(outcome);
        }
        let (outcome, full_at) = measure(None)?;
        if query.charge == Charge::Weight {
            if shard.len() >= MAX_BUCKETS_PER_SHARD {
                self.evict_fullest(&mut shard);
            }
            shard.insert(query.key.clone(), full_at);
            self.count.fetch_add(1, Relaxed);
            self.created.fetch_add(1, Relaxed);
        }
        Ok(outcome)
    }
}

impl ShrinkableKeyedStateStore<BucketQuery> for Buckets {
    fn retain_recent(&self, drop_below: Nanos) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            let before = shard.len();
            shard.retain(|_, full_at| *full_at > drop_below);
            self.count.fetch_sub(before - shard.len(), Relaxed);
            let len = shard.len();
            shard.shrink_to(len);
        }
    }

    fn len(&self) -> usize {
        self.count.load(Relaxed)
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
