//! Finding a task by its conversation alone.
//!
//! Every agent of 1.0 can list the tasks of a conversation. But not every agent keeps to the name of a
//! conversation that it is told, and not every list is what was asked for: whether an agent's tasks are
//! found is tried out, before anybody depends on it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use latimer_protocol::{ContextId, ListTasksRequest, Reply, ReplyKind, Request, TaskId};
use tokio::time::{Instant, timeout};

use super::Client;
use crate::error::Error;

/// How long a look may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

/// Whole steps, in which those who look begin to.
const TIMER_STEP: Duration = Duration::from_millis(100);

/// Whether an agent's tasks are found.
#[derive(Debug)]
pub(super) struct TaskLookup {
    support: Mutex<LookupSupport>,
    created_at: Instant,
}

impl Default for TaskLookup {
    fn default() -> Self {
        Self { support: Mutex::default(), created_at: Instant::now() }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LookupSupport {
    /// Nobody tried.
    #[default]
    Unknown,
    /// Somebody does.
    Probing,
    Works,
    Fails,
}

impl TaskLookup {
    fn lock_support(&self) -> MutexGuard<'_, LookupSupport> {
        // It is one word.
        self.support.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first whole step behind a time from now. The runtime is woken for every time that comes
    /// before all others, which costs as much as the rest of a timer: many calls have this one alike.
    pub(super) fn next_timer_step(&self, delay: Duration) -> Instant {
        let due_millis = (self.created_at.elapsed() + delay).as_millis();
        let steps = due_millis / TIMER_STEP.as_millis() + 1;
        self.created_at + TIMER_STEP.saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX))
    }
}

impl Client {
    /// Whether the agent's tasks are found.
    pub(super) fn can_look_up_tasks(&self) -> bool {
        *self.0.task_lookup.lock_support() == LookupSupport::Works
    }

    /// Does without from now on.
    pub(super) fn disable_task_lookup(&self) {
        *self.0.task_lookup.lock_support() = LookupSupport::Fails;
    }

    /// The task of a conversation that has just one.
    pub(super) async fn look_up_task(&self, context: &ContextId) -> Result<Option<TaskId>, Error> {
        let request = ListTasksRequest {
            context_id: Some(context.clone()),
            page_size: Some(2),
            ..ListTasksRequest::default()
        };
        // Not tried again here: whoever looks, looks again.
        let call = self.build_call(Request::ListTasks(request));
        let listing = self.0.transport.exchange(&call);
        let timed_out = |_| Error::Timeout { origin: "the agent".into(), limit: LOOKUP_TIMEOUT };
        let ReplyKind::Single(Reply::TaskList(page)) =
            timeout(LOOKUP_TIMEOUT, listing).await.map_err(timed_out)??.kind
        else {
            return Ok(None);
        };
        // Whoever does not know the name may list anybody's.
        Ok(match page.tasks.as_slice() {
            [task] if task.context_id.as_ref() == Some(context) => Some(task.id.clone()),
            _ => None,
        })
    }
}

/// Trying it out with the only task of a conversation. When nothing comes of that, somebody else may.
pub(super) struct LookupProbe {
    client: Client,
    context: ContextId,
}

impl LookupProbe {
    /// A trial, if it is to be tried out and nobody is at it.
    pub(super) fn new(client: &Client, context: &ContextId) -> Option<Self> {
        let mut support = client.0.task_lookup.lock_support();
        if *support != LookupSupport::Unknown || !client.0.dialect.supports_context_listing() {
            return None;
        }
        *support = LookupSupport::Probing;
        Some(Self { client: client.clone(), context: context.clone() })
    }

    /// Looks whether this task is found.
    pub(super) async fn run(self, task: TaskId) {
        let support = match self.client.look_up_task(&self.context).await {
            Ok(Some(found_id)) if found_id == task => LookupSupport::Works,
            Err(error) if error.is_transient() => return,
            Ok(_) | Err(_) => LookupSupport::Fails,
        };
        *self.client.0.task_lookup.lock_support() = support;
    }
}

impl Drop for LookupProbe {
    fn drop(&mut self) {
        let mut support = self.client.0.task_lookup.lock_support();
        if *support == LookupSupport::Probing {
            *support = LookupSupport::Unknown;
        }
    }
}
