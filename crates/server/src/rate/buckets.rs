//! Where it is kept how often everybody has asked. There is a limit on that, too.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::state::keyed::ShrinkableKeyedStateStore;
use hashbrown::{DefaultHashBuilder, HashMap};

use super::Who;

/// One question to the buckets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ask {
    pub(super) who: Who,
    pub(super) take: Take,
}

/// Whether a question changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Take {
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
    made: Arc<AtomicUsize>,
}

type Shard = HashMap<Who, Nanos>;

const SHARDS: usize = 64;
/// How many buckets there may be in one shard.
const MOST_IN_SHARD: usize = 1024;

impl Buckets {
    /// How many buckets there may be.
    #[cfg(test)]
    pub(super) const MOST: usize = SHARDS * MOST_IN_SHARD;

    pub(super) fn new(made: Arc<AtomicUsize>) -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            count: AtomicUsize::new(0),
            made,
        }
    }

    fn shard(&self, who: &Who) -> MutexGuard<'_, Shard> {
        let hash = self.hasher.hash_one(who);
        lock(&self.shards[(hash >> 32) as usize % SHARDS])
    }

    /// Removes the bucket that is the nearest to being full: the least is lost with it.
    fn make_room(&self, shard: &mut Shard) {
        let fullest = shard.iter().min_by_key(|(_, full)| **full).map(|(who, _)| who.clone());
        if let Some(who) = fullest {
            shard.remove(&who);
            self.count.fetch_sub(1, Relaxed);
        }
    }
}

impl StateStore for Buckets {
    type Key = Ask;

    fn measure_and_replace<T, F, E>(&self, ask: &Ask, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut shard = self.shard(&ask.who);
        if let Some(full) = shard.get_mut(&ask.who) {
            let (outcome, next) = measure(Some(*full))?;
            if ask.take == Take::Weight {
                *full = next;
            }
            return Ok(outcome);
        }
        let (outcome, full) = measure(None)?;
        if ask.take == Take::Weight {
            if shard.len() >= MOST_IN_SHARD {
                self.make_room(&mut shard);
            }
            shard.insert(ask.who.clone(), full);
            self.count.fetch_add(1, Relaxed);
            self.made.fetch_add(1, Relaxed);
        }
        Ok(outcome)
    }
}

impl ShrinkableKeyedStateStore<Ask> for Buckets {
    fn retain_recent(&self, drop_below: Nanos) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            let before = shard.len();
            shard.retain(|_, full| *full > drop_below);
            self.count.fetch_sub(before - shard.len(), Relaxed);
            let least = shard.len();
            shard.shrink_to(least);
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
