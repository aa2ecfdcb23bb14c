//! Registry of live tasks and references to them.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use latimer_protocol::TaskState;
use latimer_store::TaskKey;

use super::{LiveTask, State};
use crate::sync::{EntryGuard, ShardedMap};

/// The live tasks of an engine, by key.
#[derive(Debug, Default)]
pub(crate) struct LiveTasks(ShardedMap<TaskKey, Arc<LiveTask>, SHARDS>);

const SHARDS: usize = 64;

impl LiveTasks {
    /// Creates the live task of a new task, without registering it. The caller holds its writer
    /// permit.
    pub(crate) fn create(self: &Arc<Self>, key: TaskKey) -> LiveTaskRef {
        let live =
            LiveTask::new(key, State { task_state: TaskState::Submitted, ..State::default() }, 0);
        LiveTaskRef { live: Arc::new(live), live_tasks: Arc::clone(self) }
    }

    /// Returns the live task with this key; creates and registers it if needed. The task may not
    /// exist in the store.
    pub(crate) fn get_or_create(self: &Arc<Self>, key: &TaskKey) -> LiveTaskRef {
        let mut entry = self.0.entry(key);
        if let Some(live) = entry.get() {
            live.ref_count.fetch_add(1, Ordering::Relaxed);
            return LiveTaskRef { live: Arc::clone(live), live_tasks: Arc::clone(self) };
        }
        let live = Arc::new(LiveTask::new(key.clone(), State::default(), 1));
        live.registered.store(true, Ordering::Relaxed);
        entry.insert(key.clone(), Arc::clone(&live));
        LiveTaskRef { live, live_tasks: Arc::clone(self) }
    }

    /// Returns the number of registered live tasks.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Counted reference to a live task. Dropping the last one removes the live task.
#[derive(Debug)]
pub(crate) struct LiveTaskRef {
    live: Arc<LiveTask>,
    live_tasks: Arc<LiveTasks>,
}

impl LiveTaskRef {
    /// Registers a new task so that [`LiveTasks::get_or_create`] finds it. Must precede the first
    /// event that does not end the task.
    pub(crate) fn register(&self) {
        if !self.live.registered.swap(true, Ordering::AcqRel) {
            let (key, live) = (self.live.key.clone(), Arc::clone(&self.live));
            self.live_tasks.0.entry(&self.live.key).insert(key, live);
        }
    }

    fn remove(&self, mut entry: EntryGuard<'_, TaskKey, Arc<LiveTask>, TaskKey>) {
        entry.remove_if(|it| Arc::ptr_eq(it, &self.live));
    }

    /// Subscribes to events: recent ones are buffered while a subscription exists.
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
            // Another reference registered the task and was dropped first.
            self.remove(self.live_tasks.0.entry(&self.live.key));
            return;
        }
        // The task can be found only under this lock.
        let entry = self.live_tasks.0.entry(&self.live.key);
        if self.live.ref_count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.remove(entry);
        }
    }
}

/// Reference of a reader. Dropping the last one discards the buffered events.
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
