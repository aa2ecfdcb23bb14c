//! Something to write, and whoever waits for it.

use std::mem;
use std::sync::{Arc, Mutex};
use std::thread;

use tokio::sync::oneshot;

use super::WriterState;
use crate::Error;
use crate::sqlite::error::unavailable;
use crate::sync::lock_unpoisoned;

/// Something to write. It may run more than once: only the last time counts.
pub(in crate::sqlite) trait WriteOp: Send + 'static {
    /// What comes of it.
    type Output: Send + 'static;

    /// Writes within a transaction. An error ends the whole transaction; what is only wrong with
    /// this work goes into the answer.
    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<Result<Self::Output, Error>>;
}

/// Work of any kind, with whoever waits for it.
pub(super) trait QueuedWrite: Send {
    /// Does the work within a transaction.
    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<()>;

    /// Tells what came of it, once the transaction is committed or has failed, and of whom to tell
    /// as well.
    fn complete(
        self: Box<Self>,
        failure: Option<Arc<rusqlite::Error>>,
        group: Option<Arc<CompletedGroup>>,
    );
}

/// Jobs that are done, and whose callers have yet to hear of it.
///
/// To wake somebody from another thread may cost a switch to theirs and back. So the writer wakes
/// one of a group and steps aside: who was woken tells the others, on a thread where they are at
/// home. Nobody depends on it: the writer tells those that are left.
pub(super) struct CompletedGroup {
    remaining: Mutex<Vec<Box<dyn QueuedWrite>>>,
    failure: Option<Arc<rusqlite::Error>>,
}

impl CompletedGroup {
    /// Tells everybody that a group is done.
    pub(super) fn notify(
        mut writes: Vec<Box<dyn QueuedWrite>>,
        failure: Option<Arc<rusqlite::Error>>,
    ) {
        let Some(first) = writes.pop() else { return };
        if writes.is_empty() {
            return first.complete(failure, None);
        }
        let group = Arc::new(Self { remaining: Mutex::new(writes), failure: failure.clone() });
        first.complete(failure, Some(group.clone()));
        thread::yield_now();
        group.notify_remaining();
    }

    /// Tells those who do not know yet.
    pub(super) fn notify_remaining(&self) {
        let remaining = mem::take(&mut *lock_unpoisoned(&self.remaining));
        for write in remaining {
            write.complete(self.failure.clone(), None);
        }
    }
}

/// What came of some work, and the others to tell.
pub(super) type WriteReply<T> = (Result<T, Error>, Option<Arc<CompletedGroup>>);

/// Work, and whoever waits for it.
pub(super) struct PendingWrite<W: WriteOp> {
    op: W,
    output: Option<Result<W::Output, Error>>,
    reply_sender: oneshot::Sender<WriteReply<W::Output>>,
}

impl<W: WriteOp> PendingWrite<W> {
    pub(super) fn new(op: W, reply_sender: oneshot::Sender<WriteReply<W::Output>>) -> Self {
        Self { op, output: None, reply_sender }
    }
}

impl<W: WriteOp> QueuedWrite for PendingWrite<W> {
    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<()> {
        self.output = Some(self.op.run(writer)?);
        Ok(())
    }

    fn complete(
        self: Box<Self>,
        failure: Option<Arc<rusqlite::Error>>,
        group: Option<Arc<CompletedGroup>>,
    ) {
        let output = match failure {
            Some(failure) => Some(Err(unavailable(failure))),
            None => self.output,
        };
        if let Some(output) = output {
            // Whoever asked may have gone away.
            let _ = self.reply_sender.send((output, group));
        }
    }
}
