//! Where tasks are kept.
//!
//! A task is an append-only log of events. A [`TaskStore`] keeps the logs, a small header of each
//! task, and now and then the whole task that a log amounts to, so that nobody has to read a long
//! log to know where it stands. It knows neither transports nor versions of the protocol.
//!
//! | backend | for |
//! | --- | --- |
//! | [`MemoryStore`] | tests, and agents whose tasks may be lost |
//! | `SqliteStore` (feature `sqlite`; needs a C compiler) | one process: a single file, and nothing to set up |
//!
//! Every backend passes the suite in `conformance` (feature `conformance`).

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
pub use query::{ListCursor, TaskPage, TaskQuery};
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

/// Durable home of tasks. Every implementation passes the suite in `conformance`.
///
/// All methods may be called at once by any number of callers. A future that is dropped may or may
/// not have done its work; what it did, it did whole.
#[async_trait]
pub trait TaskStore: fmt::Debug + Send + Sync + 'static {
    /// Appends events and the task's new header in one step: all of it is there afterwards, or
    /// nothing. When it returns, the events survive whatever the backend promises to survive.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the task is not at `append.expected`, which also holds for one that
    /// is created and exists, or is continued and does not. [`Error::Finished`] when it is over.
    /// [`Error::Full`] when it would be a task too many and none can make room.
    async fn append(&self, append: Append) -> Result<Revision, Error>;

    /// The task as it stands.
    async fn load(&self, key: &TaskKey) -> Result<Option<StoredTask>, Error>;

    /// The events of a task behind a revision, in order, at most `limit` of them. None for a task
    /// that does not exist.
    async fn events(
        &self,
        key: &TaskKey,
        after: Revision,
        limit: usize,
    ) -> Result<Vec<LoggedEvent>, Error>;

    /// The agents of which `caller` has a task named `id`. Where callers name tasks there may be
    /// several.
    async fn find_agents(&self, owner: &str, id: &TaskId) -> Result<Vec<Arc<str>>, Error>;

    /// The tasks that a query asks for, the latest status first, and of equal ones the greater id.
    async fn list(&self, query: &TaskQuery) -> Result<TaskPage, Error>;

    /// What came of a message that was sent before, unless that has been forgotten.
    async fn find_prior_outcome(
        &self,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<PriorOutcome>, Error>;

    /// Remembers that a message was answered with another, without a task. What was answered with a
    /// task is remembered by [`TaskStore::append`].
    async fn record_direct_reply(
        &self,
        record: IdempotencyRecord,
        reply: &Message,
    ) -> Result<(), Error>;

    /// Takes over at most `limit` tasks of processes that are gone: those with work that is waiting
    /// or was being done. They are this process's from now on. Empty when there are none left.
    async fn claim_abandoned(&self, limit: usize) -> Result<Vec<StoredTask>, Error>;

    /// Removes what is too old or too much, and returns how many tasks went. Only finished tasks
    /// go.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Error>;

    /// Where the webhooks of tasks are kept.
    fn webhooks(&self) -> &dyn WebhookStore;

    /// What is kept, and for how long.
    fn retention(&self) -> &Retention;

    /// The name of the backend, for people.
    fn backend_name(&self) -> &'static str;
}
