//! The task engine: runs agents, stores their events and serves calls.
//!
//! A task is a log of events. Its single writer appends the events of the running turn; they become
//! durable first and then visible. Blocking sends, streams and subscriptions are readers with a
//! cursor. `ARCHITECTURE.md` lists the invariants.
//!
//! | module | content |
//! | --- | --- |
//! | `accept` | validation of inbound messages and selection of their agent |
//! | `agent_lookup` | agent of a call, its authorization and cards |
//! | `cancel` | cancellation of tasks |
//! | `context_queue` | one turn at a time per context |
//! | `expire` | removal of expired tasks, end of tasks that wait too long |
//! | `idempotency` | recognition of resent messages |
//! | `ids` | new identifiers and the current time |
//! | `live` | in-memory state that the writer and the readers of a task share |
//! | `page_token` | page tokens of task lists |
//! | `quota` | concurrent tasks and streams per caller |
//! | `reader` | streams of a task's events |
//! | `recover` | tasks of ended processes |
//! | `send` | submission of messages and waiting for results |
//! | `shutdown` | drain and stop signals |
//! | `task_scope` | access rules and the tasks that a call may access |
//! | `tasks` | get, list and subscribe |
//! | `turn_queue` | concurrent and queued turns of an agent |
//! | `turn_runner` | execution of a turn and storage of its events |
//! | `webhooks` | operations on webhooks |

mod accept;
mod agent_lookup;
mod cancel;
mod context_queue;
mod expire;
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
mod turn_queue;
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
use self::expire::WaitingTasks;
use self::idempotency::InFlightMessages;
use self::live::LiveTasks;
pub use self::quota::CallerLimits;
use self::quota::{CallerQuota, CallerStreamGuard};
use self::recover::Recovery;
use self::shutdown::Shutdown;
pub use self::task_scope::AccessRule;
pub(crate) use self::task_scope::weight;
use self::turn_queue::TurnQueues;
use crate::agent::AgentRegistry;
use crate::push::WebhookDispatcher;

/// Time that stopped turns have to store their events.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves calls to agents: runs turns, stores tasks and streams events. Cheap to clone; clones
/// share one engine.
///
/// Must be used within a Tokio runtime. Turns continue when the future of their call is dropped;
/// [`Engine::drain`] waits for them.
///
/// ```
/// use std::sync::Arc;
///
/// use latimer_protocol::{Call, Message, MessageId, Request, SendMessageRequest, Service};
/// use latimer_server::{Agent, AgentRegistry, Engine, EngineLimits, Turn};
/// use latimer_store::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = Agent::from_fn("echo", |turn: Turn| async move { turn.reply(turn.text()).await });
/// let registry = Arc::new(AgentRegistry::new([agent])?);
/// let store = Arc::new(MemoryStore::default());
/// let engine = Engine::new(registry, store, EngineLimits::default());
/// engine.recover().await?;
///
/// let message = Message::user(MessageId::new("m1")?, "hello");
/// let request = Request::SendMessage(SendMessageRequest::from(message));
/// let response = engine.call(Call::new(request)).await?;
/// # drop(response);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    registry: Arc<AgentRegistry>,
    store: Arc<dyn TaskStore>,
    limits: EngineLimits,
    /// Unset if the server delivers no webhooks.
    dispatcher: OnceLock<WebhookDispatcher>,
    live_tasks: Arc<LiveTasks>,
    context_queue: ContextQueue,
    turn_queues: TurnQueues,
    in_flight_messages: Arc<InFlightMessages>,
    quota: Arc<CallerQuota>,
    /// Background tasks that the engine waits for when it drains.
    tracker: TaskTracker,
    shutdown: Shutdown,
    streams: Arc<AtomicUsize>,
    turns: AtomicUsize,
    held_tasks: AtomicUsize,
    recovery: Recovery,
    waiting: WaitingTasks,
}

/// Limits on messages, streams and turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineLimits {
    /// Maximum number of parts of one message.
    pub max_parts: usize,
    /// Maximum number of open streams of all callers.
    pub max_streams: usize,
    /// Maximum number of running turns of all callers.
    pub max_turns: usize,
    /// Maximum number of turns that the recovery of ended processes runs at a time.
    pub max_recovering: usize,
    /// Limits for each caller.
    pub per_caller: CallerLimits,
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self {
            max_parts: 1_000,
            max_streams: 20_000,
            max_turns: 10_000,
            max_recovering: 2_500,
            per_caller: CallerLimits::default(),
        }
    }
}

/// Counts of current work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Activity {
    /// Tasks with a running turn or a reader.
    pub live_tasks: usize,
    /// Running and waiting turns.
    pub turns: usize,
    /// Open streams.
    pub streams: usize,
    /// Tasks that their callers cannot see, because the agent may still reply with a message.
    pub held_tasks: usize,
    /// Tasks of ended processes that are not recovered yet.
    pub unrecovered_tasks: usize,
}

impl Engine {
    /// Creates an engine for agents, which keeps its tasks in `store`. Call [`Engine::recover`]
    /// before the first call.
    #[must_use]
    pub fn new(
        registry: Arc<AgentRegistry>,
        store: Arc<dyn TaskStore>,
        limits: EngineLimits,
    ) -> Self {
        Self(Arc::new(Inner {
            turn_queues: TurnQueues::new(&registry),
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
            held_tasks: AtomicUsize::new(0),
            waiting: WaitingTasks::default(),
            recovery: Recovery::new(limits.max_recovering),
            limits,
        }))
    }

    /// Sets the dispatcher that delivers events to webhooks. Without one, webhook operations fail.
    /// Only the first dispatcher is used.
    #[must_use]
    pub fn with_dispatcher(self, dispatcher: WebhookDispatcher) -> Self {
        self.0.dispatcher.get_or_init(|| dispatcher);
        self
    }

    /// Returns the counts of current work.
    #[must_use]
    pub fn activity(&self) -> Activity {
        Activity {
            live_tasks: self.0.live_tasks.len(),
            turns: self.0.turns.load(Ordering::Relaxed),
            streams: self.0.streams.load(Ordering::Relaxed),
            held_tasks: self.0.held_tasks.load(Ordering::Relaxed),
            unrecovered_tasks: usize::try_from(self.0.recovery.remaining()).unwrap_or(usize::MAX),
        }
    }

    /// Returns whether the engine rejects new messages because it drains or has stopped.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.shutdown.is_draining()
    }

    /// Rejects new messages and waits for running turns, for at most `limit`.
    ///
    /// Turns that take longer are dropped after their emitted events were stored; their tasks stay
    /// unfinished in the store, for [`Engine::recover`] of the next process. Streams that are still
    /// open then end with an error that clients can resume from. Returns the number of turns that
    /// were stopped, after the webhook deliveries have stopped.
    pub async fn drain(&self, limit: Duration) -> usize {
        self.0.shutdown.drain();
        self.0.tracker.close();
        let done = tokio::time::timeout(limit, self.0.tracker.wait()).await;
        let stopped_turns = if done.is_err() { self.activity().turns } else { 0 };
        self.0.shutdown.stop();
        if done.is_err() {
            // The turns were stopped and only store their events.
            let _ = tokio::time::timeout(FLUSH_TIMEOUT, self.0.tracker.wait()).await;
        }
        self.stop_dispatcher();
        if let Some(dispatcher) = self.0.dispatcher.get() {
            dispatcher.stopped().await;
        }
        stopped_turns
    }

    /// Rejects new messages and stops running turns and deliveries without waiting for them.
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

    /// Notifies the webhooks of a task about new events.
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

/// Future type that `#[async_trait]` generates for `Service::call`.
type CallFuture<'a> = Pin<Box<dyn Future<Output = Result<CallResponse, Error>> + Send + 'a>>;

impl Service for Engine {
    /// Not an `async` method, so that each operation allocates a future of its own size and not of
    /// the largest.
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

/// Converts an error of the store into one for callers. Logs the details, which callers do not get.
fn store_error(error: StoreError) -> Error {
    match error {
        StoreError::Full { .. } => {
            Error::new(ErrorKind::Unavailable, "the task store is full; try again later")
        }
        StoreError::Conflict { task, .. } | StoreError::Finished { task, .. } => {
            let message = format!("task {task} was changed concurrently; try again");
            Error::new(ErrorKind::Unavailable, message)
        }
        error @ StoreError::Unreadable { .. } => {
            error!(%error, "stored task is corrupt");
            Error::internal()
        }
        error => {
            error!(%error, "store failed");
            Error::new(ErrorKind::Unavailable, "the task store is unavailable; try again later")
        }
    }
}

/// Limits the history of a task to the last `length` messages.
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

/// Returns the last `length` messages, or all if there is no limit.
fn last_messages(history: &[Arc<Message>], length: Option<u32>) -> &[Arc<Message>] {
    let length = length.map_or(usize::MAX, |it| usize::try_from(it).unwrap_or(usize::MAX));
    &history[history.len().saturating_sub(length)..]
}

/// Counts an open stream until it is dropped.
struct StreamGuard {
    open_streams: Arc<AtomicUsize>,
    _caller_stream: CallerStreamGuard,
}

impl StreamGuard {
    /// Counts one more stream.
    ///
    /// # Errors
    /// Returns [`ErrorKind::RateLimited`] if `limit` streams are open.
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
