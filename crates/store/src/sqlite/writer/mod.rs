//! Writer thread with group commit.
//!
//! Callers queue write operations and wait. The thread takes all queued operations, runs them in
//! one transaction, commits once and notifies the callers. It never waits for further operations: a
//! single caller gets its own transaction, and under load more operations share one.
//!
//! | module | contents |
//! | --- | --- |
//! | `write_queue` | queued operations and the notification of their callers |
//! | `append`, `claim`, `retract`, `sweep`, `webhook` | write operations |
//! | `idempotency` | idempotency records: storage, expiry and limit |
//! | `capacity` | task counts and eviction order |
//! | `checkpoint` | transfer of the write-ahead log into the database |

mod append;
mod capacity;
mod checkpoint;
mod claim;
mod idempotency;
mod retract;
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
pub(super) use self::claim::{ClaimAbandoned, ClaimTask};
pub(super) use self::idempotency::PreparedReply;
pub(super) use self::retract::Retract;
pub(super) use self::sweep::Sweep;
pub(super) use self::webhook::{
    AddWebhook, AdvanceWebhook, PreparedWebhook, RemoveDeadLetter, RemoveWebhook,
};
pub(super) use self::write_queue::WriteOp;

/// Capacity of the queue. Further callers wait until there is room in it.
const QUEUE_CAPACITY: usize = 1_024;

/// Maximum number of operations per transaction, which bounds the wait of the first one.
const MAX_GROUP_SIZE: usize = 256;

/// Handle of the writer thread. Dropping it waits until the thread has completed all queued
/// operations.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<mpsc::Sender<Box<dyn QueuedWrite>>>,
    thread: Option<JoinHandle<()>>,
    commits: Arc<AtomicU64>,
}

impl Writer {
    /// Starts the writer thread.
    pub(super) fn start(state: WriterState) -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
        let commits = state.commits.clone();
        let thread = thread::Builder::new().name("latimer-store".to_owned());
        let thread = thread.spawn(move || state.run(receiver))?;
        Ok(Self { queue: Some(sender), thread: Some(thread), commits })
    }

    /// Queues an operation, and waits until its transaction is committed. Dropping the future
    /// cancels the operation if it is not queued yet, and has no effect on it afterwards.
    ///
    /// # Errors
    /// Fails if the operation or its transaction fails, or if the writer thread has ended.
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

    /// Returns the number of committed transactions.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed, and its callers get an error.
            let _ = thread.join();
        }
    }
}

/// Connection, counters and caches of the writer thread.
#[derive(Debug)]
pub(super) struct WriterState {
    checkpointer: Checkpointer,
    connection: Connection,
    /// Identifies this process in task rows.
    epoch: i64,
    capacity: Capacity,
    ledger: IdempotencyLedger,
    finished_cache: Arc<FinishedTaskCache>,
    /// Whether a webhook was ever registered.
    has_webhooks: bool,
    commits: Arc<AtomicU64>,
}

impl WriterState {
    /// Loads the state from an open database, and starts the checkpoint thread.
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

    /// Returns the connection of the writer.
    #[cfg(test)]
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    fn run(mut self, mut queue: mpsc::Receiver<Box<dyn QueuedWrite>>) {
        let mut group = Vec::with_capacity(MAX_GROUP_SIZE);
        while queue.blocking_recv_many(&mut group, MAX_GROUP_SIZE) > 0 {
            // Lets callers that are about to queue join this group. Costs nothing if there are
            // none.
            thread::yield_now();
            while group.len() < MAX_GROUP_SIZE
                && let Ok(write) = queue.try_recv()
            {
                group.push(write);
            }
            self.commit_group(&mut group);
            self.checkpointer.after_commit(&self.connection);
        }
        // Truncates the log, so that a single file remains. If this fails, the next opening
        // recovers it.
        drop(self.checkpointer);
        let all = CheckpointMode::TRUNCATE;
        let _ = self.connection.wal_checkpoint_v2(DEFAULT_NAME, all);
    }

    /// Runs a group of operations in one transaction, and notifies their callers.
    fn commit_group(&mut self, group: &mut Vec<Box<dyn QueuedWrite>>) {
        let failure = self.run_transaction(group).err().map(Arc::new);
        let busy = failure.as_ref().is_some_and(|it| is_busy(it));
        if failure.is_some() && !busy && group.len() > 1 {
            // One operation may have caused the failure, so each gets its own transaction.
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
                // Nothing was committed. If the rollback fails, the next transaction reports it.
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

/// Returns whether another program has locked the database for longer than the busy timeout.
fn is_busy(error: &rusqlite::Error) -> bool {
    let busy = [ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked];
    error.sqlite_error_code().is_some_and(|code| busy.contains(&code))
}
