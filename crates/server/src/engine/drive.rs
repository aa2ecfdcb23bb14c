//! Runs one turn: the agent, the store, and whatever stops them.

use std::future::poll_fn;
use std::mem;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use latimer_protocol::{Error, Message, Part, TaskState, TaskStatus};
use tokio::time::{Instant, sleep_until};
use tracing::error;

use super::lanes::Right;
use super::live::Guard;
use super::send::now;
use super::work::{Batch, Turning, Work};
use super::{ids, unavailable};
use crate::turn::{Emitted, Failure, TurnError};

/// Whether the agent begins a turn, or goes on with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Execute,
    Recover,
}

/// How the agent came to an end.
enum Ending {
    Returned(Result<(), Failure>),
    Canceled,
    TookTooLong(Duration),
    /// The server stops. The task goes on with the next one.
    Halted,
}

impl Work {
    /// Runs the turn to its end. What is said becomes durable whenever the agent waits.
    ///
    /// With `at_once` the task exists before the agent is asked. The right to work in a conversation,
    /// where one is needed, is given back at the end.
    pub(super) async fn drive(mut self, start: Start, at_once: bool, right: Option<Right>) {
        let turn = self.turn.clone();
        let executor = self.agent.executor().clone();
        let agent = match start {
            Start::Execute => executor.execute(turn.clone()),
            Start::Recover => executor.recover(turn.clone()),
        };
        let mut agent = Caught(agent);
        let driven = self.run(&mut agent, at_once).await;
        drop(agent);
        turn.outbox().close(TurnError::Stopped);
        if let Err(error) = driven {
            self.abandon(error);
        }
        drop(self);
        drop(right);
    }

    /// Waits for something before the turn can begin; the task is there meanwhile. None when it
    /// came to an end instead.
    pub(super) async fn wait_for<T, E>(
        &mut self,
        waited: impl Future<Output = Result<T, E>>,
    ) -> Option<T> {
        if !self.exists()
            && let Err(error) = self.flush(Turning::Waits).await
        {
            self.abandon(error);
            return None;
        }
        let (turn, halt) = (self.turn.clone(), self.engine.halt().clone());
        tokio::pin!(waited);
        let stored = loop {
            tokio::select! {
                waited = &mut waited => return waited.ok(),
                () = turn.cancelled().cancelled() => break self.finish(Ending::Canceled).await,
                // The next process begins it.
                () = halt.stopped() => return None,
                // Its caller said more meanwhile.
                () = turn.outbox().filled() => {
                    if let Err(error) = self.flush(Turning::Waits).await {
                        break Err(error);
                    }
                }
            }
        };
        if let Err(error) = stored {
            self.abandon(error);
        }
        None
    }

    async fn run(&mut self, agent: &mut Caught<'_>, at_once: bool) -> Result<(), Error> {
        if at_once {
            self.flush(Turning::GoesOn).await?;
        }
        // Many agents need no second look.
        let ending = match now(Pin::new(&mut *agent)).await {
            Poll::Ready(result) => Ending::Returned(result),
            // Apart, so that those who do not need it do not carry it.
            Poll::Pending => Box::pin(self.attend(agent)).await?,
        };
        self.finish(ending).await
    }

    /// Stores what is said while the agent goes on, until it ends or is stopped.
    async fn attend(&mut self, agent: &mut Caught<'_>) -> Result<Ending, Error> {
        let (turn, halt) = (self.turn.clone(), self.engine.halt().clone());
        let policy = self.agent.policy().clone();
        let mut canceled_at: Option<Instant> = None;
        let mut over_at: Option<Instant> = None;
        // The agent was looked at a moment ago, and nothing was waited for since.
        let mut looked = true;
        loop {
            let answered = self.answer_directly().await?;
            looked &= !answered;
            canceled_at = turn.is_cancelled().then(|| canceled_at.unwrap_or_else(Instant::now));
            if over_at.is_none() && (answered || self.state().is_terminal()) {
                over_at = Some(Instant::now());
            }
            let limit = over_at.or(canceled_at).map(|at| at + policy.cancel_grace);
            let limit = limit.or_else(|| turn.deadline().map(Instant::from_std));
            // Looked at before anything else: an agent that never stops talking is stopped too.
            if halt.is_stopped() {
                turn.outbox().close(TurnError::Stopped);
                return Ok(Ending::Halted);
            }
            if limit.is_some_and(|it| it <= Instant::now()) {
                turn.outbox().close(TurnError::Stopped);
                return Ok(match over_at.or(canceled_at) {
                    Some(_) => Ending::Canceled,
                    None => Ending::TookTooLong(policy.max_turn.unwrap_or_default()),
                });
            }
            let forced = turn.outbox().is_forced() || self.exists();
            let begins = forced && !answered && self.is_unstarted();
            if begins || !turn.outbox().is_empty() {
                // The agent goes on while its words are written down.
                looked = false;
                let Some(batch) = self.next_batch(Turning::GoesOn)? else { continue };
                let storing = self.store(batch);
                tokio::pin!(storing);
                tokio::select! {
                    biased;
                    stored = &mut storing => stored?,
                    result = &mut *agent => {
                        storing.await?;
                        return Ok(Ending::Returned(result));
                    }
                }
                // Others want to go on, too.
                tokio::task::yield_now().await;
                continue;
            }
            tokio::select! {
                biased;
                result = poll_fn(|context| match mem::take(&mut looked) {
                    true => Poll::Pending,
                    false => Pin::new(&mut *agent).poll(context),
                }) => return Ok(Ending::Returned(result)),
                () = turn.outbox().filled() => {}
                () = turn.cancelled().cancelled(), if !turn.cancelled().is_cancelled() => {}
                _ = turn.declined(), if canceled_at.is_some() => {}
                () = at(limit) => {}
                () = halt.stopped() => {}
            }
        }
    }

    fn next_batch(&mut self, turning: Turning) -> Result<Option<Batch>, Error> {
        let emitted = self.turn.outbox().take();
        self.batch(emitted, None, turning).map_err(|refused| {
            error!(task = %self.turn.task_id(), %refused, "the agent broke the protocol");
            Error::internal()
        })
    }

    /// Says that the task exists, and stores what the agent said.
    pub(super) async fn flush(&mut self, turning: Turning) -> Result<(), Error> {
        match self.next_batch(turning)? {
            Some(batch) => self.store(batch).await,
            None => Ok(()),
        }
    }

    /// Ends the turn as its ending demands.
    async fn finish(&mut self, ending: Ending) -> Result<(), Error> {
        self.turn.outbox().close(TurnError::Answered);
        if self.answer_directly().await? {
            return Ok(());
        }
        if let Ending::Returned(Err(failure)) = &ending
            && let Some(error) = failure.refusal()
            && self.is_untold()
            && self.turn.outbox().is_empty()
        {
            self.take_ticket();
            self.live.change(|state| state.refused = Some(error.clone()));
            return Ok(());
        }
        let emitted = self.turn.outbox().take();
        let said = emitted.iter().rev().find_map(Emitted::state);
        let (last, turning) = match ending {
            Ending::Halted => (None, Turning::GoesOn),
            _ if said.unwrap_or(self.state()).is_terminal() => (None, Turning::Ends),
            Ending::Canceled => (Some(TaskState::Canceled.into()), Turning::Ends),
            Ending::TookTooLong(limit) => {
                (Some(failed(format!("the agent took longer than {limit:?}"))), Turning::Ends)
            }
            Ending::Returned(result) => (self.conclude(result, said), Turning::Ends),
        };
        let batch = self.batch(emitted, last, turning).map_err(|refused| {
            error!(task = %self.turn.task_id(), %refused, "the agent broke the protocol");
            Error::internal()
        })?;
        match batch {
            Some(batch) => self.store(batch).await,
            None => Ok(()),
        }
    }

    /// The status that follows from how the agent returned; `said` is the last one it gave that is
    /// not stored yet.
    fn conclude(&self, result: Result<(), Failure>, said: Option<TaskState>) -> Option<TaskStatus> {
        if self.turn.is_cancelled() {
            return Some(TaskState::Canceled.into());
        }
        if let Err(failure) = result
            && !failure.is_over()
        {
            failure.log(self.turn.agent());
            return Some(failed(failure.reason()));
        }
        match said.unwrap_or(self.state()) {
            // It waits for its caller.
            state if state.is_interrupted() && (said.is_some() || !self.is_needed()) => None,
            // So it does, but when that was stored the agent was still at it.
            state if state.is_interrupted() => {
                Some(TaskStatus { message: self.status_message(), ..state.into() })
            }
            _ => Some(TaskState::Completed.into()),
        }
    }

    /// Answers without a task, if that is what the agent wants and there is none. True when it did.
    async fn answer_directly(&mut self) -> Result<bool, Error> {
        if self.exists() || self.turn.outbox().is_forced() || self.answered {
            return Ok(self.answered);
        }
        let Some(mut message) = self.turn.outbox().take_answer() else { return Ok(false) };
        self.answered = true;
        message.context_id = Some(self.turn.context_id().clone());
        if let Some((sent, _ticket)) = self.take_ticket() {
            let remembered = self.engine.store().record_direct_reply(sent, &message).await;
            remembered.map_err(unavailable)?;
        }
        self.engine.shares().end(self.live.key());
        self.live.change(|state| state.answer = Some(message));
        self.turn.outbox().stored(1);
        Ok(true)
    }

    /// Nothing more can be stored for now: tells everybody, and sees to it that the task does not
    /// look as if somebody were at work.
    fn abandon(&mut self, error: Error) {
        self.turn.outbox().close(TurnError::NotStored);
        self.live.change(|state| state.failure = Some(error));
        self.take_ticket();
        if !self.lost {
            let reason = "what the agent did could not be stored".to_owned();
            self.engine.repair(Guard::clone(&self.live), reason);
        }
    }
}

async fn at(limit: Option<Instant>) {
    match limit {
        Some(limit) => sleep_until(limit).await,
        None => std::future::pending().await,
    }
}

pub(super) fn failed(reason: impl Into<String>) -> TaskStatus {
    let message = Message::agent(ids::message(), Part::text(reason));
    TaskStatus::from(TaskState::Failed).with_message(message)
}

/// An agent that panics has failed, and nobody else has.
struct Caught<'a>(Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>);

impl Future for Caught<'_> {
    type Output = Result<(), Failure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(Failure::new("the agent failed"))))
    }
}
