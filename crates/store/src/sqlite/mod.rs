//! SQLite backend: durable tasks in a single file.
//!
//! One thread writes and commits concurrent appends in one transaction. Readers run concurrently on
//! other connections. Every result is visible to later calls.
//!
//! | module | contents |
//! | --- | --- |
//! | `config`, `open`, `lock` | settings, opening and migrating the file, exclusive lock of a process |
//! | `writer` | the writer thread: group commit, appends, eviction, sweeps, checkpoints |
//! | `reader` | connection pool and queries of readers |
//! | `idempotency_cache`, `finished_cache` | in-memory caches of idempotency records and finished tasks |
//! | `codec`, `compact`, `event_rowid` | encoding of rows, compact event encoding, row ids of events |
//! | `seal` | encryption of webhook configurations |
//! | `webhooks` | implementation of the webhook store |
//! | `error` | mapping of database errors |

mod codec;
mod compact;
mod config;
mod error;
mod event_rowid;
mod finished_cache;
mod idempotency_cache;
mod lock;
mod open;
mod reader;
mod seal;
#[cfg(test)]
mod tests;
mod webhooks;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use latimer_protocol::{Message, Revision, TaskId, Timestamp};

pub use self::config::{Durability, SqliteConfig};
use self::error::{RowError, unavailable};
use self::finished_cache::FinishedTaskCache;
use self::idempotency_cache::{CachedRecord, IdempotencyCache};
use self::lock::Lock;
pub use self::lock::LockHolder;
pub use self::open::OpenError;
use self::reader::{LoadedTask, ReaderPool};
use self::seal::Seal;
use self::writer::{
    ClaimAbandoned, ClaimTask, PreparedAppend, PreparedReply, Retract, Sweep, Writer, WriterState,
};
use crate::{
    Append, Error, IdempotencyKey, IdempotencyRecord, InterruptedTasks, LoggedEvent, PriorOutcome,
    Retention, StoredTask, TaskKey, TaskPage, TaskQuery, TaskStore, WebhookStore,
};

const BACKEND: &str = "sqlite";

/// Task store in a SQLite database: one file, and two more while it is open. The first registered
/// webhook creates a key file `*.key`, which encrypts webhook configurations. While the database
/// contains webhooks, it cannot be opened without this file.
///
/// Dropping the store completes all queued writes and truncates the write-ahead log, which takes
/// about as long as a commit. Long reads use Tokio's blocking threads, so all methods require a
/// runtime.
///
/// ```
/// use latimer_store::{SqliteConfig, SqliteStore, TaskStore};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("tasks.db");
/// let config = SqliteConfig { holder: "example".to_owned(), ..SqliteConfig::default() };
/// let store = SqliteStore::open(path, config)?;
/// assert_eq!(store.backend_name(), "sqlite");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SqliteStore {
    // Fields are dropped in this order: the lock must outlive all connections.
    writer: Writer,
    readers: Arc<ReaderPool>,
    idempotency_cache: Arc<IdempotencyCache>,
    finished_cache: Arc<FinishedTaskCache>,
    seal: Seal,
    path: PathBuf,
    retention: Retention,
    /// Identifies this process in task rows.
    epoch: i64,
    _lock: Lock,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens the store at `path`, or creates it. Blocks on disk I/O, so it should be called at the
    /// start of a program.
    ///
    /// # Errors
    /// Returns [`OpenError`] if another process has the store open, the file is not a task store or
    /// has a newer schema, its key file is missing, or the file cannot be read or written.
    pub fn open(path: impl AsRef<Path>, config: SqliteConfig) -> Result<Self, OpenError> {
        let SqliteConfig { durability, retention, holder } = config;
        let path = open::ensure_database_file(path.as_ref())?;
        let lock = Lock::acquire(&path, &holder)?;
        let failed = |source| OpenError::Database { path: path.clone(), source };
        let database = open::open(&path, durability)?;
        let epoch = database.epoch;
        let (idempotency_cache, finished_cache) =
            (Arc::<IdempotencyCache>::default(), Arc::<FinishedTaskCache>::default());
        let state = WriterState::new(
            database,
            &retention,
            idempotency_cache.clone(),
            finished_cache.clone(),
        );
        let state = state.map_err(failed)?;
        let writer = Writer::start(state).map_err(|error| failed(error.into()))?;
        let readers = Arc::new(ReaderPool::new(path.clone()));
        let seal = Seal::for_database(&path);
        Ok(Self {
            writer,
            readers,
            idempotency_cache,
            finished_cache,
            seal,
            path,
            retention,
            epoch,
            _lock: lock,
        })
    }

    /// Returns the number of transactions committed since the store was opened. Concurrent appends
    /// share a transaction.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.writer.commits()
    }
}

#[async_trait]
impl TaskStore for SqliteStore {
    async fn append(&self, mut append: Append) -> Result<Revision, Error> {
        let webhook = append.webhook.take().map(|it| self.prepare_webhook(*it)).transpose()?;
        self.writer.run(PreparedAppend::new(append, webhook)?).await
    }

    async fn load(&self, key: &TaskKey) -> Result<Option<StoredTask>, Error> {
        if let Some(stored) = self.finished_cache.get(key) {
            return Ok(Some(stored));
        }
        let epoch = self.finished_cache.epoch();
        let loaded = self.readers.read(|db| reader::load(db, key))?;
        let Some(LoadedTask { stored, bytes }) = loaded else { return Ok(None) };
        if let Some(epoch) = epoch
            && stored.header.state.is_terminal()
        {
            self.finished_cache.add(epoch, &stored, bytes);
        }
        Ok(Some(stored))
    }

    async fn events(
        &self,
        key: &TaskKey,
        after: Revision,
        limit: usize,
    ) -> Result<Vec<LoggedEvent>, Error> {
        let key = key.clone();
        self.readers.read_blocking(move |db| reader::events(db, &key, after, limit)).await
    }

    async fn find_agents(&self, owner: &str, id: &TaskId) -> Result<Vec<Arc<str>>, Error> {
        self.readers.read(|db| reader::find_agents(db, owner, id))
    }

    /// An unreadable task does not fail the list: it is listed with the data of its header only.
    async fn list(&self, query: &TaskQuery) -> Result<TaskPage, Error> {
        let query = query.clone();
        self.readers.read_blocking(move |db| reader::list(db, &query)).await
    }

    async fn find_prior_outcome(
        &self,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<PriorOutcome>, Error> {
        let cached =
            self.idempotency_cache.get(key).filter(|it| it.entry.expires_at > now.as_millis());
        let Some(CachedRecord { rowid, entry }) = cached else { return Ok(None) };
        if entry.event_rowid == 0 {
            let reply = self.readers.read(|db| reader::direct_reply(db, rowid))?;
            return Ok(reply.map(PriorOutcome::DirectReply));
        }
        let key = self
            .readers
            .read(|db| reader::task_key(db, event_rowid::task_number(entry.event_rowid)))?;
        let revision = event_rowid::revision(entry.event_rowid);
        Ok(key.map(|key| PriorOutcome::Task { key, revision }))
    }

    async fn record_direct_reply(
        &self,
        record: IdempotencyRecord,
        reply: &Message,
    ) -> Result<(), Error> {
        self.writer.run(PreparedReply::new(record, reply)?).await
    }

    async fn retract(
        &self,
        key: &TaskKey,
        expected: Revision,
        reply: Option<(IdempotencyRecord, &Message)>,
    ) -> Result<(), Error> {
        self.writer.run(Retract::new(key, expected, reply)?).await
    }

    async fn count_abandoned(&self) -> Result<u64, Error> {
        let epoch = self.epoch;
        self.readers.read_blocking(move |db| reader::count_abandoned(db, epoch)).await
    }

    async fn claim(&self, key: &TaskKey) -> Result<Option<StoredTask>, Error> {
        let claimed = self.writer.run(ClaimTask { key: key.clone() }).await?;
        match claimed {
            Some(_) => self.load(key).await,
            None => Ok(None),
        }
    }

    /// Tasks that cannot be read are claimed but not returned, so they stay unchanged.
    async fn claim_abandoned(&self, limit: usize) -> Result<Vec<StoredTask>, Error> {
        loop {
            let task_numbers = self.writer.run(ClaimAbandoned { limit }).await?;
            if task_numbers.is_empty() {
                return Ok(Vec::new());
            }
            let claimed = self.readers.read_blocking(move |db| {
                let loaded = task_numbers.into_iter().map(|it| reader::load_by_number(db, it));
                loaded.filter_map(skip_corrupt).collect::<Result<Vec<_>, Error>>()
            });
            let claimed = claimed.await?;
            if !claimed.is_empty() {
                return Ok(claimed);
            }
        }
    }

    async fn list_interrupted(
        &self,
        idle_since: Timestamp,
        limit: usize,
    ) -> Result<InterruptedTasks, Error> {
        let list = move |db: &_| reader::list_interrupted(db, idle_since, limit);
        self.readers.read_blocking(list).await
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, Error> {
        let age = i64::try_from(self.retention.max_age.as_millis()).unwrap_or(i64::MAX);
        let finished_by = now.as_millis().saturating_sub(age);
        let mut removed = 0;
        loop {
            let result = self.writer.run(Sweep { finished_by, now }).await?;
            removed += result.removed;
            if !result.more {
                return Ok(removed);
            }
        }
    }

    fn webhooks(&self) -> &dyn WebhookStore {
        self
    }

    fn retention(&self) -> &Retention {
        &self.retention
    }

    fn backend_name(&self) -> &'static str {
        BACKEND
    }
}

fn skip_corrupt(loaded: Result<Option<StoredTask>, RowError>) -> Option<Result<StoredTask, Error>> {
    match loaded {
        Ok(stored) => stored.map(Ok),
        Err(RowError::Corrupt(_)) => None,
        Err(RowError::Database(error)) => Some(Err(unavailable(error))),
    }
}
