//! Finding a task by its conversation alone.
//!
//! Every agent of 1.0 can list the tasks of a conversation. But not every agent keeps to the name of a
//! conversation that it is told, and not every list is what was asked for: whether an agent's tasks are
//! found is tried out, before anybody depends on it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use latimer_protocol::{ContextId, ListTasksRequest, Reply, Request, TaskId};
use tokio::time::{Instant, timeout};

use super::Client;
use crate::error::Error;
use crate::transport::Outcome;

/// How long a look may take.
const LOOK: Duration = Duration::from_secs(2);

/// Whole steps, in which those who look begin to.
const STEP: Duration = Duration::from_millis(100);

/// Whether an agent's tasks are found.
#[derive(Debug)]
pub(super) struct Finding {
    known: Mutex<Known>,
    since: Instant,
}

impl Default for Finding {
    fn default() -> Self {
        Self { known: Mutex::default(), since: Instant::now() }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Known {
    /// Nobody tried.
    #[default]
    Nothing,
    /// Somebody does.
    Trying,
    Found,
    Missed,
}

impl Finding {
    fn known(&self) -> MutexGuard<'_, Known> {
        // It is one word.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first whole step behind a time from now. The runtime is woken for every time that comes
    /// before all others, which costs as much as the rest of a timer: many calls have this one alike.
    pub(super) fn step_after(&self, time: Duration) -> Instant {
        let after = (self.since.elapsed() + time).as_millis();
        let steps = after / STEP.as_millis() + 1;
        self.since + STEP.saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX))
    }
}

impl Client {
    /// Whether the agent's tasks are found.
    pub(super) fn finds_tasks(&self) -> bool {
        *self.0.finding.known() == Known::Found
    }

    /// Does without from now on.
    pub(super) fn stop_finding(&self) {
        *self.0.finding.known() = Known::Missed;
    }

    /// The task of a conversation that has just one.
    pub(super) async fn find_task(&self, context: &ContextId) -> Result<Option<TaskId>, Error> {
        let request = ListTasksRequest {
            context_id: Some(context.clone()),
            page_size: Some(2),
            ..ListTasksRequest::default()
        };
        // Not tried again here: whoever looks, looks again.
        let call = self.call(Request::ListTasks(request));
        let listed = self.0.transport.exchange(&call);
        let late = |_| Error::Timeout { origin: "the agent".into(), limit: LOOK };
        let Outcome::Reply(Reply::TaskList(page)) =
            timeout(LOOK, listed).await.map_err(late)??.outcome
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
pub(super) struct Trial {
    client: Client,
    context: ContextId,
}

impl Trial {
    /// A trial, if it is to be tried out and nobody is at it.
    pub(super) fn new(client: &Client, context: &ContextId) -> Option<Self> {
        let mut known = client.0.finding.known();
        if *known != Known::Nothing || !client.0.dialect.supports_context_listing() {
            return None;
        }
        *known = Known::Trying;
        Some(Self { client: client.clone(), context: context.clone() })
    }

    /// Looks whether this task is found.
    pub(super) async fn of(self, task: TaskId) {
        let known = match self.client.find_task(&self.context).await {
            Ok(Some(found)) if found == task => Known::Found,
            Err(error) if error.is_passing() => return,
            Ok(_) | Err(_) => Known::Missed,
        };
        *self.client.0.finding.known() = known;
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let mut known = self.client.0.finding.known();
        if *known == Known::Trying {
            *known = Known::Nothing;
        }
    }
}
