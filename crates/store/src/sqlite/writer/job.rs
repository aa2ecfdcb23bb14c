//! Something to write, and whoever waits for it.

use std::sync::Arc;

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

    /// Tells what came of it, once the transaction is committed or has failed.
    fn answer(self: Box<Self>, failure: Option<Arc<rusqlite::Error>>);
}

/// Work, and whoever waits for it.
pub(super) struct Asked<W: Work> {
    work: W,
    answer: Option<Result<W::Answer, Error>>,
    reply: oneshot::Sender<Result<W::Answer, Error>>,
}

impl<W: Work> Asked<W> {
    pub(super) fn new(work: W, reply: oneshot::Sender<Result<W::Answer, Error>>) -> Self {
        Self { work, answer: None, reply }
    }
}

impl<W: Work> Job for Asked<W> {
    fn run(&mut self, desk: &mut Desk) -> rusqlite::Result<()> {
        self.answer = Some(self.work.run(desk)?);
        Ok(())
    }

    fn answer(self: Box<Self>, failure: Option<Arc<rusqlite::Error>>) {
        let answer = match failure {
            Some(failure) => Some(Err(unavailable(failure))),
            None => self.answer,
        };
        if let Some(answer) = answer {
            // Whoever asked may have gone away.
            let _ = self.reply.send(answer);
        }
    }
}
