//! Something to write, and whoever waits for it.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use super::Desk;
use crate::Error;
use crate::sqlite::failure::unavailable;

/// Something to write. It may run more than once: only the last time counts.
pub(in crate::sqlite) trait Work: Send + 'static {
    /// What comes of it.
    type Answer: Send + 'static;

    /// Writes within a transaction. An error ends the whole transaction; what is only wrong with
    /// this work goes into the answer.
    fn run(&mut self, desk: &mut Desk) -> rusqlite::Result<Result<Self::Answer, Error>>;
}

/// Work of any kind, with whoever waits for it.
pub(super) trait Job: Send {
    /// Does the work within a transaction.
    fn run(&mut self, desk: &mut Desk) -> rusqlite::Result<()>;

    /// Tells what came of it, once the transaction is committed or has failed, and of whom to tell
    /// as well.
    fn answer(self: Box<Self>, failure: Option<Arc<rusqlite::Error>>, others: Option<Arc<Done>>);
}

/// Jobs that are done, and whose callers have yet to hear of it.
///
/// To wake somebody from another thread may cost a switch to theirs and back. So the writer wakes
/// one of a group and steps aside: who was woken tells the others, on a thread where they are at
/// home. Nobody depends on it: the writer tells those that are left.
pub(super) struct Done {
    left: Mutex<Vec<Box<dyn Job>>>,
    failure: Option<Arc<rusqlite::Error>>,
}

impl Done {
    /// Tells everybody that a group is done.
    pub(super) fn announce(mut jobs: Vec<Box<dyn Job>>, failure: Option<Arc<rusqlite::Error>>) {
        let Some(one) = jobs.pop() else { return };
        if jobs.is_empty() {
            return one.answer(failure, None);
        }
        let others = Arc::new(Self { left: Mutex::new(jobs), failure: failure.clone() });
        one.answer(failure, Some(others.clone()));
        thread::yield_now();
        others.tell();
    }

    /// Tells those who do not know yet.
    pub(super) fn tell(&self) {
        let left = mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner));
        for job in left {
            job.answer(self.failure.clone(), None);
        }
    }
}

/// What came of some work, and the others to tell.
pub(super) type Reply<T> = (Result<T, Error>, Option<Arc<Done>>);

/// Work, and whoever waits for it.
pub(super) struct Asked<W: Work> {
    work: W,
    answer: Option<Result<W::Answer, Error>>,
    reply: oneshot::Sender<Reply<W::Answer>>,
}

impl<W: Work> Asked<W> {
    pub(super) fn new(work: W, reply: oneshot::Sender<Reply<W::Answer>>) -> Self {
        Self { work, answer: None, reply }
    }
}

impl<W: Work> Job for Asked<W> {
    fn run(&mut self, desk: &mut Desk) -> rusqlite::Result<()> {
        self.answer = Some(self.work.run(desk)?);
        Ok(())
    }

    fn answer(self: Box<Self>, failure: Option<Arc<rusqlite::Error>>, others: Option<Arc<Done>>) {
        let answer = match failure {
            Some(failure) => Some(Err(unavailable(failure))),
            None => self.answer,
        };
        if let Some(answer) = answer {
            // Whoever asked may have gone away.
            let _ = self.reply.send((answer, others));
        }
    }
}
