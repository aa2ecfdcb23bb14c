//! All live tasks, and who uses them.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::{DefaultHashBuilder, HashMap};
use latimer_protocol::TaskState;
use latimer_store::TaskKey;

use super::{LiveTask, State};

/// All live tasks.
#[derive(Debug)]
pub(crate) struct LiveTasks {
    hasher: DefaultHashBuilder,
    shards: Vec<Mutex<HashMap<TaskKey, Arc<LiveTask>>>>,
}

const SHARDS: usize = 64;

impl Default for LiveTasks {
    fn default() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { hasher: DefaultHashBuilder::default(), shards }
    }
}

impl LiveTasks {
    /// A task that nobody knows of yet, in its first turn.
    pub(crate) fn create(self: &Arc<Self>, key: TaskKey) -> LiveTaskRef {
        let live =
            LiveTask::new(key, State { task_state: TaskState::Submitted, ..State::default() }, 0);
        LiveTaskRef { live: Arc::new(live), live_tasks: Arc::clone(self) }
    }

    /// The live task of this key, which may not exist in the store.
    pub(crate) fn get_or_create(self: &Arc<Self>, key: &TaskKey) -> LiveTaskRef {
        let mut shard = self.shard(key);
        if let Some(live) = shard.get(key) {
            live.ref_count.fetch_add(1, Ordering::Relaxed);
            return LiveTaskRef { live: Arc::clone(live), live_tasks: Arc::clone(self) };
        }
        let live = Arc::new(LiveTask::new(key.clone(), State::default(), 1));
        live.registered.store(true, Ordering::Relaxed);
        shard.insert(key.clone(), Arc::clone(&live));
        LiveTaskRef { live, live_tasks: Arc::clone(self) }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        let sizes = self.shards.iter().map(|it| lock(it).len());
        sizes.sum()
    }

    fn shard(&self, key: &TaskKey) -> MutexGuard<'_, HashMap<TaskKey, Arc<LiveTask>>> {
        let hash = self.hasher.hash_one(key);
        lock(&self.shards[(hash >> 32) as usize % SHARDS])
    }
}

/// One user of a live task. All that is known of it goes when its last user does.
#[derive(Debug)]
pub(crate) struct LiveTaskRef {
    live: Arc<LiveTask>,
    live_tasks: Arc<LiveTasks>,
}

impl LiveTaskRef {
    /// Lets others find the task. Must come before its first event that does not end it.
    pub(crate) fn register(&self) {
        if !self.live.registered.swap(true, Ordering::AcqRel) {
            let key = self.live.key.clone();
            self.live_tasks.shard(&self.live.key).insert(key, Arc::clone(&self.live));
        }
    }

    fn remove(&self, mut shard: MutexGuard<'_, HashMap<TaskKey, Arc<LiveTask>>>) {
        let registered = shard.get(&self.live.key);
        if registered.is_some_and(|it| Arc::ptr_eq(it, &self.live)) {
            shard.remove(&self.live.key);
        }
    }

    /// A user that reads events: recent ones are kept for it.
    pub(crate) fn subscribe(&self) -> Subscription {
        self.live.lock().readers += 1;
        Subscription(self.clone())
    }
}

impl Clone for LiveTaskRef {
    fn clone(&self) -> Self {
        self.live.ref_count.fetch_add(1, Ordering::Relaxed);
        Self { live: Arc::clone(&self.live), live_tasks: Arc::clone(&self.live_tasks) }
    }
}

impl Deref for LiveTaskRef {
    type Target = LiveTask;

    fn deref(&self) -> &LiveTask {
        &self.live
    }
}

impl Drop for LiveTaskRef {
    fn drop(&mut self) {
        if !self.live.registered.load(Ordering::Acquire) {
            let last = self.live.ref_count.fetch_sub(1, Ordering::AcqRel) == 1;
            if !last || !self.live.registered.load(Ordering::Acquire) {
                return;
            }
            // Listed by another guard meanwhile, which went before this one.
            let shard = self.live_tasks.shard(&self.live.key);
            self.remove(shard);
            return;
        }
        // Others can only find it under this lock.
        let shard = self.live_tasks.shard(&self.live.key);
        if self.live.ref_count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.remove(shard);
        }
    }
}

/// A user that reads events.
#[derive(Debug)]
pub(crate) struct Subscription(LiveTaskRef);

impl Deref for Subscription {
    type Target = LiveTaskRef;

    fn deref(&self) -> &LiveTaskRef {
        &self.0
    }
}

impl Drop for Subscription {
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
