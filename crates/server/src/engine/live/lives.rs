//! All live tasks, and who uses them.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::{DefaultHashBuilder, HashMap};
use latimer_protocol::TaskState;
use latimer_store::TaskKey;

use super::{Live, State};

/// All live tasks.
#[derive(Debug)]
pub(crate) struct Lives {
    hasher: DefaultHashBuilder,
    shards: Vec<Mutex<HashMap<TaskKey, Arc<Live>>>>,
}

const SHARDS: usize = 64;

impl Default for Lives {
    fn default() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { hasher: DefaultHashBuilder::default(), shards }
    }
}

impl Lives {
    /// A task that nobody knows of yet, in its first turn.
    pub(crate) fn begin(self: &Arc<Self>, key: TaskKey) -> Guard {
        let live = Live::new(key, State { status: TaskState::Submitted, ..State::default() }, 0);
        Guard { live: Arc::new(live), lives: Arc::clone(self) }
    }

    /// The live task of this key, which may not exist in the store.
    pub(crate) fn get(self: &Arc<Self>, key: &TaskKey) -> Guard {
        let mut shard = self.shard(key);
        if let Some(live) = shard.get(key) {
            live.users.fetch_add(1, Ordering::Relaxed);
            return Guard { live: Arc::clone(live), lives: Arc::clone(self) };
        }
        let live = Arc::new(Live::new(key.clone(), State::default(), 1));
        live.listed.store(true, Ordering::Relaxed);
        shard.insert(key.clone(), Arc::clone(&live));
        Guard { live, lives: Arc::clone(self) }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        let lens = self.shards.iter().map(|it| lock(it).len());
        lens.sum()
    }

    fn shard(&self, key: &TaskKey) -> MutexGuard<'_, HashMap<TaskKey, Arc<Live>>> {
        let hash = self.hasher.hash_one(key);
        lock(&self.shards[(hash >> 32) as usize % SHARDS])
    }
}

/// One user of a live task. All that is known of it goes when its last user does.
#[derive(Debug)]
pub(crate) struct Guard {
    live: Arc<Live>,
    lives: Arc<Lives>,
}

impl Guard {
    /// Lets others find the task. Must come before its first event that does not end it.
    pub(crate) fn list(&self) {
        if !self.live.listed.swap(true, Ordering::AcqRel) {
            let key = self.live.key.clone();
            self.lives.shard(&self.live.key).insert(key, Arc::clone(&self.live));
        }
    }

    fn remove(&self, mut shard: MutexGuard<'_, HashMap<TaskKey, Arc<Live>>>) {
        let there = shard.get(&self.live.key);
        if there.is_some_and(|it| Arc::ptr_eq(it, &self.live)) {
            shard.remove(&self.live.key);
        }
    }

    /// A user that reads events: recent ones are kept for it.
    pub(crate) fn watch(&self) -> Watch {
        self.live.lock().readers += 1;
        Watch(self.clone())
    }
}

impl Clone for Guard {
    fn clone(&self) -> Self {
        self.live.users.fetch_add(1, Ordering::Relaxed);
        Self { live: Arc::clone(&self.live), lives: Arc::clone(&self.lives) }
    }
}

impl Deref for Guard {
    type Target = Live;

    fn deref(&self) -> &Live {
        &self.live
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.live.listed.load(Ordering::Acquire) {
            let last = self.live.users.fetch_sub(1, Ordering::AcqRel) == 1;
            if !last || !self.live.listed.load(Ordering::Acquire) {
                return;
            }
            // Listed by another guard meanwhile, which went before this one.
            let shard = self.lives.shard(&self.live.key);
            self.remove(shard);
            return;
        }
        // Others can only find it under this lock.
        let shard = self.lives.shard(&self.live.key);
        if self.live.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.remove(shard);
        }
    }
}

/// A user that reads events.
#[derive(Debug)]
pub(crate) struct Watch(Guard);

impl Deref for Watch {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        &self.0
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut state = self.0.live.lock();
        state.readers -= 1;
        if state.readers == 0 {
            state.tail = VecDeque::new();
            state.tail_bytes = 0;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
