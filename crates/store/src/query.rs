//! Asking for many tasks.

use std::sync::Arc;

use latimer_protocol::{ContextId, Task, TaskId, TaskState, Timestamp};

/// Which tasks to list. All that is given must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskQuery {
    /// Whose tasks.
    pub owner: Arc<str>,
    /// Of one agent only.
    pub agent: Option<Arc<str>>,
    /// Not of these agents.
    pub excluded_agents: Vec<Arc<str>>,
    /// Of one conversation only.
    pub context: Option<ContextId>,
    /// In one state only.
    pub state: Option<TaskState>,
    /// Only those whose status changed then or later.
    pub status_changed_since: Option<Timestamp>,
    /// Only those behind this place in the order.
    pub after: Option<ListCursor>,
    /// At most so many; at least one.
    pub limit: usize,
}

/// A place in the order of a list: the latest first, then the greater id, then the greater agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListCursor {
    /// When the status changed.
    pub status_changed_at: Timestamp,
    /// The task.
    pub id: TaskId,
    /// Its agent.
    pub agent: Arc<str>,
}

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskPage {
    /// The tasks, in order.
    pub tasks: Vec<Arc<Task>>,
    /// Where the next page begins, when there is one: the place of the last task of this.
    pub next: Option<ListCursor>,
    /// How many tasks there are on all pages.
    pub total: u64,
}
