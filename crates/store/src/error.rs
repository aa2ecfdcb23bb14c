//! What can go wrong with a store.

use latimer_protocol::{Revision, TaskId, TaskState};

/// The cause of a failure, whatever it is.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a store did not do what it was asked for. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another writer got there first: load the task and decide again.
    #[error("task {task} is at revision {found}, not {expected}")]
    Conflict {
        /// The task.
        task: TaskId,
        /// Where the writer believed it to be.
        expected: Revision,
        /// Where it is.
        found: Revision,
    },
    /// The task is over: nothing changes it any more.
    #[error("task {task} is over ({state})")]
    Finished {
        /// The task.
        task: TaskId,
        /// How it ended.
        state: TaskState,
    },
    /// There are as many tasks as may be, and none of them is finished. Try again later.
    #[error("the store is full: {tasks} tasks are going on")]
    Full {
        /// How many tasks there are.
        tasks: u64,
    },
    /// The backend failed; trying again may help.
    #[error("{backend} store unavailable: {source}")]
    Unavailable {
        /// The backend's name.
        backend: &'static str,
        /// Why.
        source: BoxError,
    },
    /// What was stored cannot be read: it was damaged, or written by a newer version.
    #[error("{backend} store cannot read task {task}: {source}")]
    Unreadable {
        /// The backend's name.
        backend: &'static str,
        /// The task.
        task: TaskId,
        /// Why.
        source: BoxError,
    },
}
