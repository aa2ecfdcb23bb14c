//! Store errors.

use latimer_protocol::{Revision, TaskId, TaskState};

/// Underlying error of any type.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Error of a store operation. The operation had no effect.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The task is at another revision than expected. Load it and decide again.
    #[error("task {task} is at revision {found}, not {expected}")]
    Conflict {
        /// Id of the task.
        task: TaskId,
        /// Revision that the append expected.
        expected: Revision,
        /// Revision of the stored task; [`Revision::START`] if it does not exist.
        found: Revision,
    },
    /// The task is terminal and cannot change.
    #[error("task {task} has finished ({state})")]
    Finished {
        /// Id of the task.
        task: TaskId,
        /// Its terminal state.
        state: TaskState,
    },
    /// The store has reached its maximum number of tasks, and none of them has finished. A retry
    /// may succeed later.
    #[error("the store is full: none of its {tasks} tasks has finished")]
    Full {
        /// Number of stored tasks.
        tasks: u64,
    },
    /// The backend failed. A retry may succeed.
    #[error("{backend} store unavailable: {source}")]
    Unavailable {
        /// Name of the backend.
        backend: &'static str,
        /// Underlying error.
        source: BoxError,
    },
    /// The stored task cannot be read: it is corrupt or was written by a newer version.
    #[error("{backend} store cannot read task {task}: {source}")]
    Unreadable {
        /// Name of the backend.
        backend: &'static str,
        /// Id of the task.
        task: TaskId,
        /// Underlying error.
        source: BoxError,
    },
}
