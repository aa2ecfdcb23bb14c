//! Finding a task by its conversation alone.
//!
//! Every agent of 1.0 can list the tasks of a conversation. But not every agent keeps to the name of a
//! conversation that it is told, and not every list is complete: whether an agent's tasks are found is
//! tried out, before anybody depends on it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use latimer_protocol::{ContextId, Dialect, ListTasksRequest, TaskId};
use tokio::time::timeout;

use super::Client;

/// How long a look may take.
const LOOK: Duration = Duration::from_secs(2);

/// Whether an agent's tasks are found.
#[derive(Debug, Default)]
pub(super) struct Finding(Mutex<Known>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Known {
    /// Nobody tried.
    #[default]
    Nothing,
    Found,
    Missed,
}

impl Finding {
    fn get(&self) -> Known {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, known: Known) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }
}

impl Client {
    /// Whether the agent's tasks are found.
    pub(super) fn finds_tasks(&self) -> bool {
        self.0.dialect == Dialect::V1_0 && self.0.finding.get() == Known::Found
    }

    /// Whether that is still to be tried out.
    pub(super) fn may_find_tasks(&self) -> bool {
        self.0.dialect == Dialect::V1_0 && self.0.finding.get() == Known::Nothing
    }

    /// Tries it out with the only task of a conversation.
    pub(super) async fn try_finding(&self, context: &ContextId, id: &TaskId) {
        let found = self.find_task(context).await;
        let known = if found.as_ref() == Some(id) { Known::Found } else { Known::Missed };
        self.0.finding.set(known);
    }

    /// Does without from now on.
    pub(super) fn stop_finding(&self) {
        self.0.finding.set(Known::Missed);
    }

    /// The latest task of a conversation, if there is one and it can be told.
    pub(super) async fn find_task(&self, context: &ContextId) -> Option<TaskId> {
        let request = ListTasksRequest {
            context_id: Some(context.clone()),
            page_size: Some(1),
            ..ListTasksRequest::default()
        };
        let page = timeout(LOOK, self.list_tasks(request)).await.ok()?.ok()?;
        page.tasks.first().map(|it| it.id.clone())
    }
}
