//! The one thread that writes, and group commit.
//!
//! Whoever has something to write hands it over and waits. The thread takes all that is there, does
//! it in one transaction, commits once and answers everybody. It never waits for company: a caller
//! alone has a transaction of its own, and the busier it gets, the more share one.

mod append;
mod capacity;
mod checkpoint;
mod claim;
mod idempotency;
mod sweep;
mod webhook;
mod write_queue;

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, DEFAULT_NAME, ErrorCode};
use tokio::sync::{mpsc, oneshot};

use self::capacity::Capacity;
use self::checkpoint::Checkpointer;
use self::idempotency::IdempotencyLedger;
use self::write_queue::{CompletedGroup, PendingWrite, QueuedWrite};
use super::error::unavailable;
use super::finished_cache::FinishedTaskCache;
use super::idempotency_cache::IdempotencyCache;
use super::open::OpenDatabase;
use crate::{BoxError, Error, Retention};

pub(super) use self::append::PreparedAppend;
pub(super) use self::claim::ClaimAbandoned;
pub(super) use self::idempotency::PreparedReply;
pub(super) use self::sweep::Sweep;
pub(super) use self::webhook::{
    AddWebhook, AdvanceWebhook, PreparedWebhook, RemoveDeadLetter, RemoveWebhook,
};
pub(super) use self::write_queue::WriteOp;

/// How many may wait for the writer before the next ones wait for a place to wait.
const QUEUE_CAPACITY: usize = 1_024;

/// The most that share a transaction, so that the first of them does not wait long.
const MAX_GROUP_SIZE: usize = 256;

/// A handle on the thread. Dropping it lets the thread finish what it was given, and waits for it.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<mpsc::Sender<Box<dyn QueuedWrite>>>,
    thread: Option<JoinHandle<()>>,
    commits: Arc<AtomicU64>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(state: WriterState) -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
        let commits = state.commits.clone();
        let thread = thread::Builder::new().name("latimer-store".to_owned());
        let thread = thread.spawn(move || state.run(receiver))?;
        Ok(Self { queue: Some(sender), thread: Some(thread), commits })
    }

    /// Has something written, and returns when it is. Dropped before it was handed over it is not
    /// done; dropped later it is.
    pub(super) async fn run<W: WriteOp>(&self, op: W) -> Result<W::Output, Error> {
        let closed = || unavailable("the store is closed");
        let (reply_sender, reply_receiver) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or_else(closed)?;
        queue.send(Box::new(PendingWrite::new(op, reply_sender))).await.map_err(|_| closed())?;
        let (output, group) = reply_receiver.await.map_err(|_| closed())?;
        if let Some(group) = group {
            group.notify_remaining();
        }
        output
    }

    /// How many transactions there were.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic over there was reported over there, and its callers know that it is closed.
            let _ = thread.join();
        }
    }
}

/// What the thread works with.
#[derive(Debug)]
pub(super) struct WriterState {
    checkpointer: Checkpointer,
    connection: Connection,
    /// Names this process in the tasks it is at.
    epoch: i64,
    capacity: Capacity,
    ledger: IdempotencyLedger,
    finished_cache: Arc<FinishedTaskCache>,
    /// Whether there ever was a webhook.
    has_webhooks: bool,
    commits: Arc<AtomicU64>,
}

impl WriterState {
    /// Sits down before a database that is open.
    pub(super) fn new(
        database: OpenDatabase,
        retention: &Retention,
        idempotency_cache: Arc<IdempotencyCache>,
        finished_cache: Arc<FinishedTaskCache>,
    ) -> Result<Self, BoxError> {
        let OpenDatabase { writer: mut connection, checkpoint_connection, epoch } = database;
        let capacity = Capacity::load(&connection, retention)?;
        let ledger = IdempotencyLedger::load(&connection, retention, idempotency_cache)?;
        let checkpointer = Checkpointer::start(&mut connection, checkpoint_connection)?;
        let any = "SELECT EXISTS (SELECT 1 FROM webhooks)";
        let has_webhooks = connection.query_row(any, [], |row| row.get(0))?;
        Ok(Self {
            checkpointer,
            connection,
            epoch,
            capacity,
            ledger,
            finished_cache,
            has_webhooks,
            commits: Arc::default(),
        })
    }

    /// The connection that writes.
    #[cfg(test)]
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    fn run(mut self, mut queue: mpsc::Receiver<Box<dyn QueuedWrite>>) {
        let mut group = Vec::with_capacity(MAX_GROUP_SIZE);
        while queue.blocking_recv_many(&mut group, MAX_GROUP_SIZE) > 0 {
            // Whoever was about to come, comes along: costs nothing when nobody is.
            thread::yield_now();
            while group.len() < MAX_GROUP_SIZE
                && let Ok(write) = queue.try_recv()
            {
                group.push(write);
            }
            self.commit_group(&mut group);
            self.checkpointer.after_commit(&self.connection);
        }
        // Leaves one tidy file behind. What fails here is made good at the next opening.
        drop(self.checkpointer);
        let all = CheckpointMode::TRUNCATE;
        let _ = self.connection.wal_checkpoint_v2(DEFAULT_NAME, all);
    }

    /// Does a group of jobs, and answers them.
    fn commit_group(&mut self, group: &mut Vec<Box<dyn QueuedWrite>>) {
        let failure = self.run_transaction(group).err().map(Arc::new);
        let busy = failure.as_ref().is_some_and(|it| is_busy(it));
        if failure.is_some() && !busy && group.len() > 1 {
            // One of them may be to blame for all: each on its own.
            for write in group.drain(..) {
                self.commit_group(&mut vec![write]);
            }
            return;
        }
        let writes = mem::replace(group, Vec::with_capacity(MAX_GROUP_SIZE));
        CompletedGroup::notify(writes, failure);
    }

    fn run_transaction(&mut self, group: &mut [Box<dyn QueuedWrite>]) -> rusqlite::Result<()> {
        let before = self.capacity.counts();
        let result = self.execute_group(group);
        if result.is_ok() {
            self.ledger.commit();
        } else {
            self.capacity.restore(before);
            self.ledger.roll_back();
            if !self.connection.is_autocommit() {
                // Nothing was committed. If not even this works, the next attempt says so.
                let _ = self.connection.execute_batch("ROLLBACK");
            }
        }
        self.finished_cache.end_removal();
        result
    }

    fn execute_group(&mut self, group: &mut [Box<dyn QueuedWrite>]) -> rusqlite::Result<()> {
        self.execute("BEGIN IMMEDIATE")?;
        for write in group {
            write.run(self)?;
        }
        self.write_pending_entries()?;
        self.write_finished()?;
        self.execute("COMMIT")?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn execute(&self, statement: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(statement)?.execute([]).map(|_| ())
    }
}

/// Whether somebody has locked the file with other tools, and for longer than we wait.
fn is_busy(error: &rusqlite::Error) -> bool {
    let busy = [ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked];
    error.sqlite_error_code().is_some_and(|code| busy.contains(&code))
}
