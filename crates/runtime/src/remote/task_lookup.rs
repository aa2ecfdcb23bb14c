//! Looks up an upstream task by its context.
//!
//! Agents of 1.0 list the tasks of a context. Some agents replace the context id of a message, and
//! some ignore the filter of the list. Therefore a probe tests whether lookups work before a turn
//! depends on them.

use std::sync::Arc;
use std::time::Duration;

use latimer_client::{CallOptions, Client, Error as ClientError, RetryPolicy};
use latimer_protocol::{ContextId, Dialect, ListTasksRequest, TaskId};
use parking_lot::{Mutex, MutexGuard};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Timeout of one lookup.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

/// Interval to whose multiples the start of lookups is rounded up.
const TIMER_STEP: Duration = Duration::from_millis(100);

/// Support of one upstream for looking up tasks, and the background work of lookups. Dropping it
/// aborts the background work.
#[derive(Debug)]
pub(super) struct TaskLookup {
    support: Mutex<LookupSupport>,
    background: Mutex<JoinSet<()>>,
    created_at: Instant,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LookupSupport {
    /// Not tested yet.
    #[default]
    Unknown,
    /// A probe is running.
    Probing,
    /// Lookups return the task of a context.
    Works,
    /// Lookups fail or return wrong tasks.
    Fails,
}

impl TaskLookup {
    pub(super) fn new() -> Self {
        let (support, background) = (Mutex::default(), Mutex::default());
        Self { support, background, created_at: Instant::now() }
    }

    /// Discards the result of the probe, because the new card may describe another agent.
    pub(super) fn reset(&self) {
        *self.lock_support() = LookupSupport::Unknown;
    }

    /// Returns whether tasks can be looked up.
    pub(super) fn is_supported(&self) -> bool {
        *self.lock_support() == LookupSupport::Works
    }

    /// Disables lookups after they have failed.
    pub(super) fn disable(&self) {
        *self.lock_support() = LookupSupport::Fails;
    }

    /// Returns the task of a context that has exactly one.
    pub(super) async fn find(
        &self,
        client: &Client,
        context: &ContextId,
    ) -> Result<Option<TaskId>, ClientError> {
        let request = ListTasksRequest {
            context_id: Some(context.clone()),
            page_size: Some(2),
            ..ListTasksRequest::default()
        };
        let options = CallOptions {
            timeout: Some(LOOKUP_TIMEOUT),
            // A failed lookup is followed by another one.
            retry: Some(RetryPolicy { max_attempts: 1, ..RetryPolicy::default() }),
            ..CallOptions::default()
        };
        let page = client.with_options(options).list_tasks(request).await?;
        // An agent that does not know the context may list tasks of others.
        Ok(match page.tasks.as_slice() {
            [task] if task.context_id.as_ref() == Some(context) => Some(task.id.clone()),
            _ => None,
        })
    }

    /// Returns the first multiple of [`TIMER_STEP`] after `delay`. A runtime wakes up once for all
    /// timers that are due together, which costs less than one wake-up per call.
    pub(super) fn next_timer_step(&self, delay: Duration) -> Instant {
        let due_millis = (self.created_at.elapsed() + delay).as_millis();
        let steps = due_millis / TIMER_STEP.as_millis() + 1;
        self.created_at + TIMER_STEP.saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX))
    }

    /// Creates a probe, unless lookups have been tested, are being tested, or are not supported by
    /// the version.
    pub(super) fn start_probe(
        self: &Arc<Self>,
        client: &Client,
        context: &ContextId,
    ) -> Option<LookupProbe> {
        let mut support = self.lock_support();
        if *support != LookupSupport::Unknown || !lists_contexts(client) {
            return None;
        }
        *support = LookupSupport::Probing;
        let (lookup, client, context) = (Arc::clone(self), client.clone(), context.clone());
        Some(LookupProbe { lookup, client, context })
    }

    /// Runs `work` until it ends or this is dropped.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut background = self.background.lock();
        while background.try_join_next().is_some() {}
        background.spawn(work);
    }

    fn lock_support(&self) -> MutexGuard<'_, LookupSupport> {
        self.support.lock()
    }
}

/// Returns whether the version of the client's interface can list the tasks of a context.
fn lists_contexts(client: &Client) -> bool {
    let dialect = client.interface().map_or(Dialect::V1_0, |it| Dialect::over_jsonrpc(it.version));
    dialect.supports_context_listing()
}

/// A test of whether lookups work, with the only task of a context. Dropping it without a result
/// allows another probe.
pub(super) struct LookupProbe {
    lookup: Arc<TaskLookup>,
    client: Client,
    context: ContextId,
}

impl LookupProbe {
    /// Tests in the background whether `task` is found.
    pub(super) fn spawn(self, task: TaskId) {
        let lookup = Arc::clone(&self.lookup);
        lookup.spawn(self.run(task));
    }

    async fn run(self, task: TaskId) {
        let support = match self.lookup.find(&self.client, &self.context).await {
            Ok(Some(found_id)) if found_id == task => LookupSupport::Works,
            Err(error) if error.is_transient() => return,
            Ok(_) | Err(_) => LookupSupport::Fails,
        };
        *self.lookup.lock_support() = support;
    }
}

impl Drop for LookupProbe {
    fn drop(&mut self) {
        let mut support = self.lookup.lock_support();
        if *support == LookupSupport::Probing {
            *support = LookupSupport::Unknown;
        }
    }
}
