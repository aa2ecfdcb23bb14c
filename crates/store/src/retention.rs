//! Retention limits.

use std::time::Duration;

/// Limits on stored tasks. The store removes only finished tasks; the engine cancels interrupted ones.
///
/// ```
/// # use std::time::Duration;
/// # use latimer_store::{MemoryStore, Retention, TaskStore};
/// let day = Duration::from_secs(24 * 3_600);
/// let retention = Retention { max_tasks: 10_000, max_age: day, ..Retention::DEFAULT_MEMORY };
/// let store = MemoryStore::new(retention.clone());
/// assert_eq!(*store.retention(), retention);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Maximum number of tasks. A new task evicts the one that finished first; if none has
    /// finished, the new task is rejected.
    pub max_tasks: u64,
    /// Maximum number of contexts. Above it, the tasks that finished first are evicted until the
    /// number of contexts is within the limit. Unfinished tasks are never evicted, so the limit can be
    /// exceeded. Zero disables the limit.
    pub max_contexts: u64,
    /// Time after which a finished task is removed.
    pub max_age: Duration,
    /// Interval between two sweeps.
    pub sweep_interval: Duration,
    /// Time after which an interrupted task without a message of its caller is canceled.
    pub max_idle: Duration,
    /// Maximum number of interrupted tasks. Above it, the owner with the most loses the one that
    /// waited longest; all anonymous callers count as one owner.
    pub max_waiting: u64,
}

impl Retention {
    /// Default limits of the memory store: 1,000 tasks in 500 contexts, for an hour. Half of the tasks
    /// may be interrupted.
    pub const DEFAULT_MEMORY: Self = Self {
        max_tasks: 1_000,
        max_contexts: 500,
        max_age: Duration::from_secs(3_600),
        sweep_interval: Duration::from_secs(300),
        max_idle: Duration::from_secs(3_600),
        max_waiting: 500,
    };

    /// Default limits of the SQLite store: a million tasks, for a week. Half of the tasks may be
    /// interrupted.
    pub const DEFAULT_DISK: Self = Self {
        max_tasks: 1_000_000,
        max_contexts: 0,
        max_age: Duration::from_secs(7 * 24 * 3_600),
        sweep_interval: Duration::from_secs(300),
        max_idle: Duration::from_secs(7 * 24 * 3_600),
        max_waiting: 500_000,
    };
}
