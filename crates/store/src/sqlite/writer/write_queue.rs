//! Queued write operations, and the notification of their callers.

use std::mem;
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::WriterState;
use crate::Error;
use crate::sqlite::error::unavailable;

/// Write operation. It may run several times if its transaction is retried; only the last run
/// counts.
pub(in crate::sqlite) trait WriteOp: Send + 'static {
    /// Result of the operation.
    type Output: Send + 'static;

    /// Runs within a transaction. The outer error rolls back the transaction of the group; the
    /// inner error is only the result of this operation.
    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<Result<Self::Output, Error>>;
}

/// Operation of any type, with its waiting caller.
pub(super) trait QueuedWrite: Send {
    /// Runs the operation within a transaction.
    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<()>;

    /// Sends the result to the caller after the transaction was committed or failed, with the group
    /// whose remaining callers it should notify.
    fn complete(
        self: Box<Self>,
        failure: Option<Arc<rusqlite::Error>>,
        group: Option<Arc<CompletedGroup>>,
    );
}

/// Writes of one committed group whose callers have not been notified yet.
///
/// The writer wakes one caller, which wakes the others on its own runtime thread. This avoids a
/// thread switch per caller. The writer notifies any that remain.
pub(super) struct CompletedGroup {
    remaining: Mutex<Vec<Box<dyn QueuedWrite>>>,
    failure: Option<Arc<rusqlite::Error>>,
}

impl CompletedGroup {
    /// Notifies all callers of a group.
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

    /// Notifies the callers that have not been notified yet.
    pub(super) fn notify_remaining(&self) {
        let remaining = mem::take(&mut *self.remaining.lock());
        for write in remaining {
            write.complete(self.failure.clone(), None);
        }
    }
}

/// Result of an operation, and the group whose remaining callers the receiver notifies.
pub(super) type WriteReply<T> = (Result<T, Error>, Option<Arc<CompletedGroup>>);

/// Queued operation with the channel to its caller.
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
            // The caller may have dropped its future.
            let _ = self.reply_sender.send((output, group));
        }
    }
}
