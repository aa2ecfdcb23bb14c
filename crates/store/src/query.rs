//! Queries for lists of tasks.

use std::sync::Arc;

use latimer_protocol::{ContextId, Task, TaskId, TaskState, Timestamp};

use crate::TaskKey;

/// Filter and page of a list. A task must match all given conditions.
///
/// ```
/// # use latimer_protocol::TaskState;
/// # use latimer_store::{MemoryStore, TaskQuery, TaskStore};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), latimer_store::Error> {
/// let query = TaskQuery {
///     owner: "alice".into(),
///     agent: None,
///     excluded_agents: Vec::new(),
///     context: None,
///     state: Some(TaskState::Working),
///     status_changed_since: None,
///     after: None,
///     limit: 50,
/// };
/// let page = MemoryStore::default().list(&query).await?;
/// assert_eq!((page.tasks.len(), page.total, page.next), (0, 0, None));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TaskQuery {
    /// Owner of the tasks.
    pub owner: Arc<str>,
    /// Only tasks of this agent.
    pub agent: Option<Arc<str>>,
    /// No tasks of these agents.
    pub excluded_agents: Vec<Arc<str>>,
    /// Only tasks in this context.
    pub context: Option<ContextId>,
    /// Only tasks in this state.
    pub state: Option<TaskState>,
    /// Only tasks whose status changed at this time or later.
    pub status_changed_since: Option<Timestamp>,
    /// Only tasks after this position in the list.
    pub after: Option<ListCursor>,
    /// Maximum number of tasks on the page; at least 1.
    pub limit: usize,
}

/// Position in a list, which is sorted by status time, id and agent, all descending.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListCursor {
    /// Time of the last status change.
    pub status_changed_at: Timestamp,
    /// Task id.
    pub id: TaskId,
    /// Name of the agent.
    pub agent: Arc<str>,
}

/// Page of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskPage {
    /// Tasks in list order.
    pub tasks: Vec<Arc<Task>>,
    /// Position of the last task, if there is another page.
    pub next: Option<ListCursor>,
    /// Number of matching tasks on all pages.
    pub total: u64,
}

/// Tasks that wait for their callers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterruptedTasks {
    /// Number of all interrupted tasks.
    pub total: u64,
    /// The tasks that were asked for.
    pub tasks: Vec<TaskKey>,
}
