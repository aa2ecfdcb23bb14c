//! The one thread that writes, and group commit.
//!
//! Whoever has something to write hands it over and waits. The thread takes all that is there, does
//! it in one transaction, commits once and answers everybody. It never waits for company: a caller
//! alone has a transaction of its own, and the busier it gets, the more share one.

mod append;
mod checkpoint;
mod job;
mod room;
mod sent;
mod sweep;
mod take;
mod webhook;

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, DEFAULT_NAME, ErrorCode};
use tokio::sync::{mpsc, oneshot};

use self::checkpoint::Checkpoints;
use self::job::{Asked, Done, Job};
use self::room::Room;
use self::sent::Ledger;
use super::failure::unavailable;
use super::messages::Messages;
use super::open::Opened;
use super::recent::Recent;
use crate::{BoxError, Error, Retention};

pub(super) use self::append::NewEvents;
pub(super) use self::job::Work;
pub(super) use self::sent::NewAnswer;
pub(super) use self::sweep::Sweep;
pub(super) use self::take::Take;
pub(super) use self::webhook::{AddWebhook, Advance, NewWebhook, RemoveDead, RemoveWebhook};

/// How many may wait for the writer before the next ones wait for a place to wait.
const QUEUE: usize = 1_024;

/// The most that share a transaction, so that the first of them does not wait long.
const MAX_GROUP: usize = 256;

/// A handle on the thread. Dropping it lets the thread finish what it was given, and waits for it.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    commits: Arc<AtomicU64>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(desk: Desk) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let commits = desk.commits.clone();
        let thread = thread::Builder::new().name("latimer-store".to_owned());
        let thread = thread.spawn(move || desk.serve(queue))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), commits })
    }

    /// Has something written, and returns when it is. Dropped before it was handed over it is not
    /// done; dropped later it is.
    pub(super) async fn run<W: Work>(&self, work: W) -> Result<W::Answer, Error> {
        let closed = || unavailable("the store is closed");
        let (reply, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or_else(closed)?;
        jobs.send(Box::new(Asked::new(work, reply))).await.map_err(|_| closed())?;
        let (answer, others) = answer.await.map_err(|_| closed())?;
        if let Some(others) = others {
            others.tell();
        }
        answer
    }

    /// How many transactions there were.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic over there was reported over there, and its callers know that it is closed.
            let _ = thread.join();
        }
    }
}

/// What the thread works with.
#[derive(Debug)]
pub(super) struct Desk {
    checkpoints: Checkpoints,
    connection: Connection,
    /// Names this process in the tasks it is at.
    epoch: i64,
    room: Room,
    ledger: Ledger,
    recent: Arc<Recent>,
    /// Whether there ever was a webhook.
    has_webhooks: bool,
    commits: Arc<AtomicU64>,
}

impl Desk {
    /// Sits down before a database that is open.
    pub(super) fn new(
        opened: Opened,
        retention: &Retention,
        messages: Arc<Messages>,
        recent: Arc<Recent>,
    ) -> Result<Self, BoxError> {
        let Opened { writer: mut connection, helper, epoch } = opened;
        let room = Room::survey(&connection, retention)?;
        let ledger = Ledger::read(&connection, retention, messages)?;
        let checkpoints = Checkpoints::start(&mut connection, helper)?;
        let any = "SELECT EXISTS (SELECT 1 FROM webhooks)";
        let has_webhooks = connection.query_row(any, [], |row| row.get(0))?;
        Ok(Self {
            checkpoints,
            connection,
            epoch,
            room,
            ledger,
            recent,
            has_webhooks,
            commits: Arc::default(),
        })
    }

    /// The connection that writes.
    #[cfg(test)]
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    fn serve(mut self, mut queue: mpsc::Receiver<Box<dyn Job>>) {
        let mut group = Vec::with_capacity(MAX_GROUP);
        while queue.blocking_recv_many(&mut group, MAX_GROUP) > 0 {
            // Whoever was about to come, comes along: costs nothing when nobody is.
            thread::yield_now();
            while group.len() < MAX_GROUP
                && let Ok(job) = queue.try_recv()
            {
                group.push(job);
            }
            self.settle(&mut group);
            self.checkpoints.tend(&self.connection);
        }
        // Leaves one tidy file behind. What fails here is made good at the next opening.
        drop(self.checkpoints);
        let all = CheckpointMode::TRUNCATE;
        let _ = self.connection.wal_checkpoint_v2(DEFAULT_NAME, all);
    }

    /// Does a group of jobs, and answers them.
    fn settle(&mut self, group: &mut Vec<Box<dyn Job>>) {
        let failure = self.transact(group).err().map(Arc::new);
        let busy = failure.as_ref().is_some_and(|it| is_busy(it));
        if failure.is_some() && !busy && group.len() > 1 {
            // One of them may be to blame for all: each on its own.
            for job in group.drain(..) {
                self.settle(&mut vec![job]);
            }
            return;
        }
        let jobs = mem::replace(group, Vec::with_capacity(MAX_GROUP));
        Done::announce(jobs, failure);
    }

    fn transact(&mut self, group: &mut [Box<dyn Job>]) -> rusqlite::Result<()> {
        let before = self.room.counts();
        let done = self.attempt(group);
        if done.is_ok() {
            self.ledger.commit();
        } else {
            self.room.restore(before);
            self.ledger.roll_back();
            if !self.connection.is_autocommit() {
                // Nothing was committed. If not even this works, the next attempt says so.
                let _ = self.connection.execute_batch("ROLLBACK");
            }
        }
        self.recent.settle();
        done
    }

    fn attempt(&mut self, group: &mut [Box<dyn Job>]) -> rusqlite::Result<()> {
        self.execute("BEGIN IMMEDIATE")?;
        for job in group {
            job.run(self)?;
        }
        self.write_messages()?;
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
