//! Task storage.
//!
//! A task is an append-only log of events. A [`TaskStore`] stores the logs, a small header of each
//! task, and periodic snapshots, so that loading a task does not replay a long log. It is
//! independent of transports and protocol versions.
//!
//! | backend | use |
//! | --- | --- |
//! | [`MemoryStore`] | tests, and agents whose tasks may be lost |
//! | `SqliteStore` (feature `sqlite`) | durable tasks of one process, in a single file |
//!
//! Every backend passes the suite in `conformance`.
//!
//! | module | contents |
//! | --- | --- |
//! | `record`, `query`, `webhook` | stored records, list queries, webhooks and dead letters |
//! | `retention`, `error` | retention limits, store errors |
//! | `memory`, `sqlite` | the backends |
//! | `conformance` | the contract of [`TaskStore`] as executable rules |
//!
//! # Features
//!
//! No feature is enabled by default.
//!
//! - `sqlite`: adds `SqliteStore`. Requires a C compiler.
//! - `conformance`: adds the module `conformance`, for tests of backends.

#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod memory;
mod query;
mod record;
mod retention;
#[cfg(feature = "sqlite")]
mod sqlite;
#[doc(hidden)]
pub mod sync;
mod webhook;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use latimer_protocol::{Message, Revision, TaskId, Timestamp};

pub use error::{BoxError, Error};
pub use memory::MemoryStore;
pub use query::{InterruptedTasks, ListCursor, TaskPage, TaskQuery};
pub use record::{
    Append, IdempotencyKey, IdempotencyRecord, LoggedEvent, PendingWork, PriorOutcome, StoredTask,
    TaskHeader, TaskKey,
};
pub use retention::Retention;
#[cfg(feature = "sqlite")]
pub use sqlite::{Durability, LockHolder, OpenError, SqliteConfig, SqliteStore};
pub use webhook::{
    AddWebhookOutcome, DeadLetter, DeliveryProgress, ProgressUpdate, Webhook, WebhookStore,
};

/// Storage backend for tasks. Every implementation passes the suite in `conformance`.
///
/// Methods can be called concurrently. Dropping a future cancels its operation or lets it complete,
/// but never leaves it partially applied. Methods other than [`append`](Self::append) fail only if
/// the backend does ([`Error::Unavailable`]) or a record is corrupt ([`Error::Unreadable`]).
///
/// ```
/// # use latimer_protocol::{ContextId, Dialect, Event, Revision, Task, TaskId, TaskState, Timestamp};
/// # use latimer_store::{Append, Error, MemoryStore, PendingWork, TaskHeader, TaskKey, TaskStore};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let key = TaskKey { owner: "alice".into(), agent: "echo".into(), id: TaskId::new("t1")? };
/// # let context = ContextId::new("c1")?;
/// # let task = Task::new(key.id.clone(), context.clone(), TaskState::Working);
/// # let header = TaskHeader {
/// #     context,
/// #     state: TaskState::Working,
/// #     status_changed_at: Timestamp::EPOCH,
/// #     created_in: Dialect::V1_0,
/// #     pending_work: PendingWork::Running,
/// #     note: None,
/// # };
/// # let (events, snapshot, idempotency, webhook) = (vec![Event::Created(task)], None, None, None);
/// # let expected = Revision::START;
/// # let create =
/// #     Append { key: key.clone(), expected, events, header, snapshot, idempotency, webhook };
/// let store = MemoryStore::default();
/// let revision = store.append(create.clone()).await?;
/// assert_eq!(revision, Revision::new(1));
/// assert_eq!(store.load(&key).await?.map(|it| it.revision), Some(revision));
/// assert_eq!(store.events(&key, Revision::START, 10).await?.len(), 1);
/// // A second creation of the same task conflicts.
/// assert!(matches!(store.append(create).await, Err(Error::Conflict { .. })));
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait TaskStore: fmt::Debug + Send + Sync + 'static {
    /// Appends events to the log of one task and replaces its header, atomically. Returns the
    /// revision of the last event. The events are then as durable as the backend promises.
    ///
    /// # Errors
    /// Returns [`Error::Conflict`] if the task is not at revision `append.expected`, which includes
    /// creating a task that exists and extending one that does not. Returns [`Error::Finished`] if
    /// the task is terminal. Returns [`Error::Full`] if the store is full and no finished task can be
    /// evicted.
    async fn append(&self, append: Append) -> Result<Revision, Error>;

    /// Loads a task; `None` if it does not exist.
    async fn load(&self, key: &TaskKey) -> Result<Option<StoredTask>, Error>;

    /// Returns up to `limit` events of a task after a revision, in order. Empty if the task does
    /// not exist.
    async fn events(
        &self,
        key: &TaskKey,
        after: Revision,
        limit: usize,
    ) -> Result<Vec<LoggedEvent>, Error>;

    /// Returns the agents that have a task with this owner and id. There can be several where
    /// clients choose task ids.
    async fn find_agents(&self, owner: &str, id: &TaskId) -> Result<Vec<Arc<str>>, Error>;

    /// Returns a page of the tasks that match a query, sorted by status time, id and agent, all
    /// descending. Held tasks match no query.
    async fn list(&self, query: &TaskQuery) -> Result<TaskPage, Error>;

    /// Returns the outcome of an earlier message with this key, unless its record has expired at
    /// `now` or was evicted.
    async fn find_prior_outcome(
        &self,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<PriorOutcome>, Error>;

    /// Records that a message was answered with a direct reply. Outcomes that are tasks are
    /// recorded by [`TaskStore::append`].
    async fn record_direct_reply(
        &self,
        record: IdempotencyRecord,
        reply: &Message,
    ) -> Result<(), Error>;

    /// Removes a held task with its webhooks, because its agent replied with a message or rejected
    /// the request. Records `reply` as the outcome of the message in the same transaction; without
    /// a reply, the message has no outcome.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the task is not held or not at revision `expected`.
    async fn retract(
        &self,
        key: &TaskKey,
        expected: Revision,
        reply: Option<(IdempotencyRecord, &Message)>,
    ) -> Result<(), Error>;

    /// Returns the number of tasks whose process ended with pending work.
    async fn count_abandoned(&self) -> Result<u64, Error>;

    /// Claims a task whose process ended with pending work. `None` if the task is not abandoned, for
    /// example because this process has claimed it already.
    async fn claim(&self, key: &TaskKey) -> Result<Option<StoredTask>, Error>;

    /// Claims up to `limit` tasks whose process ended with pending work: those with a started turn
    /// first, each group in creation order. Claimed tasks belong to this process. Returns an empty
    /// list when none are left.
    async fn claim_abandoned(&self, limit: usize) -> Result<Vec<StoredTask>, Error>;

    /// Returns the number of interrupted tasks, and up to `limit` of those whose status has not changed
    /// since `idle_since`: first those of the owner with the most interrupted tasks, and of each owner
    /// the one that has waited longest.
    async fn list_interrupted(
        &self,
        idle_since: Timestamp,
        limit: usize,
    ) -> Result<InterruptedTasks, Error>;

    /// Removes finished tasks and idempotency records beyond the retention. Returns the number of
    /// removed tasks.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Error>;

    /// Returns the storage of webhooks.
    fn webhooks(&self) -> &dyn WebhookStore;

    /// Returns the retention limits.
    fn retention(&self) -> &Retention;

    /// Returns the name of the backend for logs and errors, such as `sqlite`.
    fn backend_name(&self) -> &'static str;
}
