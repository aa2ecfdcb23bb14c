//! The task engine: everything right of the seam.
//!
//! A task is a log, and everything that watches it is a reader with a cursor: a blocking send, a
//! stream, a subscription. One writer per task appends what the agent says, durable first and then
//! visible. See `ARCHITECTURE.md` for the invariants.

mod accept;
mod agent_lookup;
mod cancel;
mod context_queue;
mod idempotency;
pub(crate) mod ids;
mod live;
mod page_token;
mod quota;
mod reader;
mod recover;
mod send;
mod shutdown;
mod task_scope;
mod tasks;
#[cfg(test)]
mod tests;
mod turn_runner;
mod webhooks;

use std::fmt;
use std::future::ready;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use latimer_protocol::binding::parameters::CURSOR_EXTENSION;
use latimer_protocol::{Call, CallResponse, Error, ErrorKind, Message, Request, Service, Task};
use latimer_store::{Error as StoreError, TaskKey, TaskStore};
use tokio_util::task::TaskTracker;
use tracing::error;

use self::context_queue::ContextQueue;
use self::idempotency::InFlightMessages;
use self::live::LiveTasks;
pub use self::quota::CallerLimits;
use self::quota::{CallerQuota, CallerStreamGuard};
use self::shutdown::Shutdown;
pub use self::task_scope::AccessRule;
pub(crate) use self::task_scope::weight;
use crate::agent::AgentRegistry;
use crate::push::WebhookDispatcher;

/// How long turns that are stopped have to write down what was said.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs tasks. Cheap to clone; clones are one engine.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    registry: Arc<AgentRegistry>,
    store: Arc<dyn TaskStore>,
    limits: EngineLimits,
    /// None when nobody is told about tasks.
    dispatcher: OnceLock<WebhookDispatcher>,
    live_tasks: Arc<LiveTasks>,
    context_queue: ContextQueue,
    in_flight_messages: Arc<InFlightMessages>,
    quota: Arc<CallerQuota>,
    /// Everything that goes on when nobody waits for it.
    tracker: TaskTracker,
    shutdown: Shutdown,
    streams: Arc<AtomicUsize>,
    turns: AtomicUsize,
}

/// What one caller, or all of them, can ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineLimits {
    /// Parts of one message.
    pub max_parts: usize,
    /// Streams that are open at the same time.
    pub max_streams: usize,
    /// Turns that go on at the same time.
    pub max_turns: usize,
    /// What one caller can have of it.
    pub per_caller: CallerLimits,
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self {
            max_parts: 1_000,
            max_streams: 20_000,
            max_turns: 10_000,
            per_caller: CallerLimits::default(),
        }
    }
}

/// How much is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Activity {
    /// Tasks that somebody works on or watches.
    pub live_tasks: usize,
    /// Turns that agents are at.
    pub turns: usize,
    /// Streams that are open.
    pub streams: usize,
}

impl Engine {
    /// An engine for these agents, whose tasks are kept in `store`. Call [`Engine::recover`] before
    /// anybody calls the agents.
    #[must_use]
    pub fn new(
        registry: Arc<AgentRegistry>,
        store: Arc<dyn TaskStore>,
        limits: EngineLimits,
    ) -> Self {
        Self(Arc::new(Inner {
            registry,
            store,
            dispatcher: OnceLock::new(),
            live_tasks: Arc::default(),
            context_queue: ContextQueue::default(),
            in_flight_messages: Arc::default(),
            quota: Arc::new(CallerQuota::new(limits.per_caller.clone())),
            tracker: TaskTracker::new(),
            shutdown: Shutdown::default(),
            streams: Arc::default(),
            turns: AtomicUsize::new(0),
            limits,
        }))
    }

    /// The same engine, which also tells webhooks about tasks. The first courier stays.
    #[must_use]
    pub fn with_dispatcher(self, dispatcher: WebhookDispatcher) -> Self {
        self.0.dispatcher.get_or_init(|| dispatcher);
        self
    }

    /// How much is going on.
    #[must_use]
    pub fn activity(&self) -> Activity {
        Activity {
            live_tasks: self.0.live_tasks.len(),
            turns: self.0.turns.load(Ordering::Relaxed),
            streams: self.0.streams.load(Ordering::Relaxed),
        }
    }

    /// Whether it takes no more work.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.shutdown.is_draining()
    }

    /// Takes no more work, and waits until what goes on is done, for at most `limit`. What is not
    /// done then stays in the store as it is, for [`Engine::recover`] of the next process; streams
    /// are told.
    pub async fn drain(&self, limit: Duration) {
        self.0.shutdown.drain();
        self.0.tracker.close();
        let done = tokio::time::timeout(limit, self.0.tracker.wait()).await;
        self.0.shutdown.stop();
        if done.is_err() {
            // They only have to write down what was said.
            let _ = tokio::time::timeout(FLUSH_TIMEOUT, self.0.tracker.wait()).await;
        }
        self.stop_dispatcher();
        if let Some(dispatcher) = self.0.dispatcher.get() {
            dispatcher.stopped().await;
        }
    }

    /// Takes no more work, and leaves what goes on as it is.
    pub(crate) fn stop_now(&self) {
        self.0.shutdown.drain();
        self.0.shutdown.stop();
        self.stop_dispatcher();
    }

    fn stop_dispatcher(&self) {
        if let Some(dispatcher) = self.0.dispatcher.get() {
            dispatcher.stop();
        }
    }

    /// Tells webhooks that a task has new events.
    fn notify_webhooks(&self, task: &TaskKey) {
        if let Some(dispatcher) = self.0.dispatcher.get() {
            dispatcher.notify(task);
        }
    }

    pub(crate) fn store(&self) -> &Arc<dyn TaskStore> {
        &self.0.store
    }

    fn quota(&self) -> &CallerQuota {
        &self.0.quota
    }

    fn shutdown(&self) -> &Shutdown {
        &self.0.shutdown
    }
}

/// What `#[async_trait]` makes of a method.
type CallFuture<'a> = Pin<Box<dyn Future<Output = Result<CallResponse, Error>> + Send + 'a>>;

impl Service for Engine {
    /// Written out, so that each operation has a future of its own size.
    fn call<'a, 'b>(&'a self, call: Call) -> CallFuture<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        let Call { context, request } = call;
        match request {
            Request::SendMessage(it) => Box::pin(self.send(context, it)),
            Request::SendStreamingMessage(it) => Box::pin(self.stream(context, it)),
            Request::GetTask(it) => Box::pin(self.get(context, it)),
            Request::ListTasks(it) => Box::pin(self.list(context, it)),
            Request::CancelTask(it) => Box::pin(self.cancel(context, it)),
            Request::SubscribeToTask(it) => Box::pin(self.subscribe(context, it)),
            Request::CreateTaskPushNotificationConfig(it) => {
                Box::pin(self.create_webhook(context, it))
            }
            Request::GetTaskPushNotificationConfig(it) => Box::pin(self.get_webhook(context, it)),
            Request::ListTaskPushNotificationConfigs(it) => {
                Box::pin(self.list_webhooks(context, it))
            }
            Request::DeleteTaskPushNotificationConfig(it) => {
                Box::pin(self.delete_webhook(context, it))
            }
            Request::GetExtendedAgentCard(it) => {
                Box::pin(ready(self.extended_card(&context, &it).map(Into::into)))
            }
            Request::GetAgentCard => Box::pin(ready(self.card(&context).map(Into::into))),
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Engine").field("activity", &self.activity()).finish_non_exhaustive()
    }
}

/// What a caller learns of a failure of the store. The log has the rest.
fn store_error(error: StoreError) -> Error {
    match error {
        StoreError::Full { .. } => {
            Error::new(ErrorKind::Unavailable, "too many tasks are going on; try again later")
        }
        StoreError::Conflict { task, .. } | StoreError::Finished { task, .. } => {
            let message = format!("task {task} was changed by somebody else; try again");
            Error::new(ErrorKind::Unavailable, message)
        }
        error @ StoreError::Unreadable { .. } => {
            error!(%error, "stored task cannot be read");
            Error::internal()
        }
        error => {
            error!(%error, "store failed");
            Error::new(ErrorKind::Unavailable, "tasks cannot be stored now; try again later")
        }
    }
}

/// The task with as much of its history as was asked for.
fn trim_history(task: Arc<Task>, length: Option<u32>) -> Arc<Task> {
    let is_long_enough =
        |length: u32| usize::try_from(length).is_ok_and(|it| it >= task.history.len());
    if length.is_none_or(is_long_enough) {
        return task;
    }
    Arc::new(Task {
        id: task.id.clone(),
        context_id: task.context_id.clone(),
        status: task.status.clone(),
        artifacts: task.artifacts.clone(),
        history: last_messages(&task.history, length).to_vec(),
        metadata: task.metadata.clone(),
    })
}

/// As many of the last messages as are asked for; all unless a number is.
fn last_messages(history: &[Arc<Message>], length: Option<u32>) -> &[Arc<Message>] {
    let length = length.map_or(usize::MAX, |it| usize::try_from(it).unwrap_or(usize::MAX));
    &history[history.len().saturating_sub(length)..]
}

/// Counts a stream until it is dropped.
struct StreamGuard {
    open_streams: Arc<AtomicUsize>,
    _caller_stream: CallerStreamGuard,
}

impl StreamGuard {
    /// Counts one more, if there may be.
    fn new(
        count: &Arc<AtomicUsize>,
        limit: usize,
        caller_stream: CallerStreamGuard,
    ) -> Result<Self, Error> {
        let guard = Self { open_streams: Arc::clone(count), _caller_stream: caller_stream };
        if count.fetch_add(1, Ordering::Relaxed) >= limit {
            let message = "too many streams are open; try again later";
            return Err(Error::new(ErrorKind::RateLimited, message));
        }
        Ok(guard)
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.open_streams.fetch_sub(1, Ordering::Relaxed);
    }
}
