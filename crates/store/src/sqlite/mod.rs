//! Tasks in one file: no set-up, and they outlive the process.
//!
//! One thread writes, and commits what many callers append at once in one transaction ([`writer`]).
//! Others read beside it ([`reader`]). What a call returns is there for every later one. Two things
//! are asked for so often that they are in memory as well: which messages came before
//! ([`messages`]), and finished tasks that were asked for ([`recent`]).

mod codec;
mod config;
mod failure;
mod lock;
mod messages;
mod open;
mod place;
mod reader;
mod recent;
mod seal;
mod short;
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
use self::failure::{Damage, unavailable};
pub use self::lock::Holder;
use self::lock::Lock;
use self::messages::{Known, Messages};
pub use self::open::OpenError;
use self::reader::{Loaded, Readers};
use self::recent::Recent;
use self::seal::Seal;
use self::writer::{Desk, NewAnswer, NewEvents, Sweep, Take, Writer};
use crate::{
    Append, Error, Key, Logged, Outcome, Page, Query, Retention, Sent, SentKey, Stored, TaskStore,
    WebhookStore,
};

const BACKEND: &str = "sqlite";

/// Keeps tasks in a SQLite database: one file, and two beside it while it is open. Once a webhook was
/// registered, a further one has the key that their secrets are sealed with: without it the database
/// is whole but for them.
///
/// Dropping it writes what it was given, and leaves a single tidy file; that takes as long as a
/// commit. Long reads use the blocking threads of Tokio, so its methods are called within a runtime.
///
/// ```no_run
/// use latimer_store::{Sqlite, SqliteConfig};
///
/// let config = SqliteConfig { holder: "an example".to_owned(), ..SqliteConfig::default() };
/// let store = Sqlite::open("tasks.db", config)?;
/// # Ok::<(), latimer_store::OpenError>(())
/// ```
pub struct Sqlite {
    // In the order in which they go: the lock outlives all connections.
    writer: Writer,
    readers: Arc<Readers>,
    messages: Arc<Messages>,
    recent: Arc<Recent>,
    seal: Seal,
    path: PathBuf,
    retention: Retention,
    _lock: Lock,
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Sqlite").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Sqlite {
    /// Opens the store at `path`, or makes it. Reads and writes the disk: for the start of a
    /// program.
    ///
    /// # Errors
    /// When somebody has it open, when it is not a store or one of a newer version, or when the disk
    /// does not let us.
    pub fn open(path: impl AsRef<Path>, config: SqliteConfig) -> Result<Self, OpenError> {
        let SqliteConfig { durability, retention, holder } = config;
        let path = open::locate(path.as_ref())?;
        let lock = Lock::acquire(&path, &holder)?;
        let failed = |source| OpenError::Database { path: path.clone(), source };
        let opened = open::open(&path, durability)?;
        let (messages, recent) = (Arc::<Messages>::default(), Arc::<Recent>::default());
        let desk = Desk::new(opened, &retention, messages.clone(), recent.clone());
        let desk = desk.map_err(failed)?;
        let writer = Writer::start(desk).map_err(|error| failed(error.into()))?;
        let readers = Arc::new(Readers::new(path.clone()));
        let seal = Seal::beside(&path);
        Ok(Self { writer, readers, messages, recent, seal, path, retention, _lock: lock })
    }

    /// How many transactions were committed since it was opened. Appends that come at the same time
    /// share them.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.writer.commits()
    }
}

#[async_trait]
impl TaskStore for Sqlite {
    async fn append(&self, mut append: Append) -> Result<Revision, Error> {
        let webhook = append.webhook.take().map(|it| self.spelled_out(*it)).transpose()?;
        self.writer.run(NewEvents::new(append, webhook)?).await
    }

    async fn load(&self, key: &Key) -> Result<Option<Stored>, Error> {
        if let Some(stored) = self.recent.get(key) {
            return Ok(Some(stored));
        }
        let moment = self.recent.moment();
        let loaded = self.readers.read(|db| reader::load(db, key))?;
        let Some(Loaded { stored, bytes }) = loaded else { return Ok(None) };
        if let Some(moment) = moment
            && stored.header.state.is_terminal()
        {
            self.recent.add(moment, &stored, bytes);
        }
        Ok(Some(stored))
    }

    async fn events(&self, key: &Key, after: Revision, limit: usize) -> Result<Vec<Logged>, Error> {
        let key = key.clone();
        self.readers.read_long(move |db| reader::events(db, &key, after, limit)).await
    }

    async fn locate(&self, caller: &str, id: &TaskId) -> Result<Vec<Arc<str>>, Error> {
        self.readers.read(|db| reader::locate(db, caller, id))
    }

    /// A task that cannot be read is listed by its header, without anything it holds: it neither
    /// hides the others nor itself.
    async fn list(&self, query: &Query) -> Result<Page, Error> {
        let query = query.clone();
        self.readers.read_long(move |db| reader::list(db, &query)).await
    }

    async fn sent(&self, key: &SentKey, now: Timestamp) -> Result<Option<Outcome>, Error> {
        let known = self.messages.get(key).filter(|it| it.note.expires > now.as_millis());
        let Some(Known { place, note }) = known else { return Ok(None) };
        if note.event == 0 {
            let answer = self.readers.read(|db| reader::answer(db, place))?;
            return Ok(answer.map(Outcome::Message));
        }
        let key = self.readers.read(|db| reader::key(db, place::task(note.event)))?;
        let revision = place::revision(note.event);
        Ok(key.map(|key| Outcome::Task { key, revision }))
    }

    async fn remember(&self, sent: Sent, answer: &Message) -> Result<(), Error> {
        self.writer.run(NewAnswer::new(sent, answer)?).await
    }

    /// Tasks that cannot be read are passed over: they are taken, and stay as they are.
    async fn take_abandoned(&self, limit: usize) -> Result<Vec<Stored>, Error> {
        loop {
            let numbers = self.writer.run(Take { limit }).await?;
            if numbers.is_empty() {
                return Ok(Vec::new());
            }
            let taken = self.readers.read_long(move |db| {
                let loaded = numbers.into_iter().map(|it| reader::load_numbered(db, it));
                loaded.filter_map(readable).collect::<Result<Vec<_>, Error>>()
            });
            let taken = taken.await?;
            if !taken.is_empty() {
                return Ok(taken);
            }
        }
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, Error> {
        let age = i64::try_from(self.retention.max_age.as_millis()).unwrap_or(i64::MAX);
        let oldest = now.as_millis().saturating_sub(age);
        let mut removed = 0;
        loop {
            let swept = self.writer.run(Sweep { oldest, now }).await?;
            removed += swept.removed;
            if !swept.more {
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

    fn name(&self) -> &'static str {
        BACKEND
    }
}

fn readable(loaded: Result<Option<Stored>, Damage>) -> Option<Result<Stored, Error>> {
    match loaded {
        Ok(stored) => stored.map(Ok),
        Err(Damage::Row(_)) => None,
        Err(Damage::Database(error)) => Some(Err(unavailable(error))),
    }
}
