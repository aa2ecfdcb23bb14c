//! How much is kept, and for how long.

use std::time::Duration;

/// What is kept, and for how long. Only finished tasks are ever removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// The most tasks there may be. Beyond, the one that finished first makes room; if none is
    /// finished, no more are taken.
    pub max_tasks: u64,
    /// The most conversations there may be; beyond, the one that was quiet for longest makes room,
    /// as far as its tasks are finished. Zero means any number.
    pub max_contexts: u64,
    /// How long a finished task is kept.
    pub max_age: Duration,
    /// How often to look for what is too old.
    pub sweep_interval: Duration,
}

impl Retention {
    /// What a store in memory keeps unless told otherwise: 1,000 tasks of 500 conversations, for an
    /// hour.
    pub const DEFAULT_MEMORY: Self = Self {
        max_tasks: 1_000,
        max_contexts: 500,
        max_age: Duration::from_secs(3_600),
        sweep_interval: Duration::from_secs(300),
    };

    /// What a store on disk keeps unless told otherwise: a million tasks, for a week.
    pub const DEFAULT_DISK: Self = Self {
        max_tasks: 1_000_000,
        max_contexts: 0,
        max_age: Duration::from_secs(7 * 24 * 3_600),
        sweep_interval: Duration::from_secs(300),
    };
}
