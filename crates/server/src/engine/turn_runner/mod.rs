//! Execution of one turn: polls the executor, stores its events, and stops it.
//!
//! | module | content |
//! | --- | --- |
//! | `detach` | turns that continue when their caller stops polling them |
//! | `writer` | conversion of emitted events into durable ones |

mod detach;
mod writer;

use std::future::poll_fn;
use std::mem;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use latimer_protocol::{Error, ErrorKind, Message, Part, TaskState, TaskStatus};
use tokio::time::{Instant, sleep_until};
use tracing::error;

pub(super) use self::detach::DetachOnDrop;
pub(super) use self::writer::TurnRunner;
use self::writer::{Batch, TurnProgress};
use super::context_queue::ContextPermit;
use super::live::{LiveTaskRef, Rejection};
use super::send::poll_once;
use super::turn_queue::TurnPlace;
use super::{ids, store_error};
use crate::agent::Record;
use crate::turn::{AgentFailure, OutboxEntry, TurnError};

/// Method of the executor to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExecutorCall {
    /// [`Executor::execute`](crate::Executor::execute): a new turn.
    Execute,
    /// [`Executor::recover`](crate::Executor::recover): a turn that a restart interrupted.
    Recover,
}

/// Permits of a turn, which are released at its end.
#[derive(Debug, Default)]
pub(super) struct TurnPermits {
    pub(super) context: Option<ContextPermit>,
    pub(super) place: Option<TurnPlace>,
}

/// End of the run of an executor.
enum TurnEnd {
    Returned(Result<(), AgentFailure>),
    Canceled,
    TimedOut(Duration),
    /// The server stops. The next process recovers the turn.
    ShutDown,
}

impl TurnRunner {
    /// Runs the turn to its end. Events become durable whenever the executor waits.
    ///
    /// With `create_task_first` the task is stored and visible before the executor is called. The
    /// permits are released at the end.
    pub(super) async fn run(
        mut self,
        executor_call: ExecutorCall,
        create_task_first: bool,
        permits: TurnPermits,
    ) {
        let turn = self.turn.clone();
        let result = self.run_executor(executor_call, create_task_first).await;
        turn.outbox().close(TurnError::Stopped);
        if let Err(error) = result {
            self.give_up_storing(error);
        }
        drop(self);
        drop(permits);
    }

    /// Stores the task and waits for `waited` before the turn starts. `None` if the task ended or
    /// the engine stopped first.
    pub(super) async fn wait_before_start<T>(
        &mut self,
        waited: impl Future<Output = T>,
    ) -> Option<T> {
        if let Err(error) = self.record_waiting().await {
            self.give_up_storing(error);
            return None;
        }
        let (turn, shutdown) = (self.turn.clone(), self.engine.shutdown().clone());
        tokio::pin!(waited);
        let stored = loop {
            tokio::select! {
                waited = &mut waited => return Some(waited),
                () = turn.cancellation_token().cancelled() => break self.finish(TurnEnd::Canceled).await,
                // The next process starts the turn.
                () = shutdown.stopped() => {
                    turn.outbox().require_task();
                    match self.record_waiting().await {
                        Ok(()) => return None,
                        error => break error,
                    }
                }
                // The caller sent a follow-up, or needs the task.
                () = turn.outbox().not_empty() => {
                    if let Err(error) = self.record_waiting().await {
                        break Err(error);
                    }
                }
            }
        };
        if let Err(error) = stored {
            self.give_up_storing(error);
        }
        None
    }

    /// Records a turn that waits for its start, and the follow-ups that arrive meanwhile.
    async fn record_waiting(&mut self) -> Result<(), Error> {
        match self.is_task_required() {
            true if self.is_visible() && self.turn.outbox().is_empty() => Ok(()),
            true => self.flush(TurnProgress::Queued).await,
            false => self.flush(TurnProgress::Held).await,
        }
    }

    async fn run_executor(
        &mut self,
        executor_call: ExecutorCall,
        create_task_first: bool,
    ) -> Result<(), Error> {
        let (turn, executor) = (self.turn.clone(), self.agent.executor().clone());
        let record_first = executor_call == ExecutorCall::Execute
            && self.agent.policy().record == Record::BeforeStart;
        if record_first {
            let checked = executor.check(&turn).await;
            if checked.is_err() || turn.outbox().is_closed() {
                return self.finish(TurnEnd::Returned(checked)).await;
            }
        }
        if create_task_first || record_first {
            let is_held = !create_task_first && !self.is_task_required();
            let progress = if is_held { TurnProgress::Held } else { TurnProgress::Running };
            self.flush(progress).await?;
        }
        let mut execution = CatchPanic(match executor_call {
            ExecutorCall::Execute => executor.execute(turn),
            ExecutorCall::Recover => executor.recover(turn),
        });
        // Many executors return at the first poll.
        let turn_end = match poll_once(Pin::new(&mut execution)).await {
            Poll::Ready(result) => TurnEnd::Returned(result),
            // Boxed, so that turns that finish at the first poll do not carry its state.
            Poll::Pending => Box::pin(self.supervise(&mut execution)).await?,
        };
        // Before the end of the turn is stored, so that nothing of the agent runs after it.
        drop(execution);
        self.finish(turn_end).await
    }

    /// Stores events while the executor runs, until it returns or is stopped.
    async fn supervise(&mut self, execution: &mut CatchPanic<'_>) -> Result<TurnEnd, Error> {
        let (turn, shutdown) = (self.turn.clone(), self.engine.shutdown().clone());
        let policy = self.agent.policy().clone();
        let mut canceled_at: Option<Instant> = None;
        let mut finished_at: Option<Instant> = None;
        // The executor was just polled, and nothing was awaited since.
        let mut just_polled = true;
        loop {
            let replied = self.send_direct_reply().await?;
            just_polled &= !replied;
            canceled_at = turn.is_canceled().then(|| canceled_at.unwrap_or_else(Instant::now));
            if finished_at.is_none() && (replied || self.state().is_terminal()) {
                finished_at = Some(Instant::now());
            }
            let deadline = finished_at.or(canceled_at).map(|at| at + policy.cancel_grace);
            let deadline = deadline.or_else(|| turn.deadline().map(Instant::from_std));
            // Checked first, so that an agent that emits without pause is stopped, too.
            if shutdown.is_stopped() {
                turn.outbox().close(TurnError::Stopped);
                return Ok(TurnEnd::ShutDown);
            }
            if deadline.is_some_and(|it| it <= Instant::now()) {
                turn.outbox().close(TurnError::Stopped);
                return Ok(match finished_at.or(canceled_at) {
                    Some(_) => TurnEnd::Canceled,
                    None => TurnEnd::TimedOut(policy.turn_timeout.unwrap_or_default()),
                });
            }
            if let Some(progress) = self.progress_to_record(replied) {
                // The executor continues while its events are stored.
                just_polled = false;
                let Some(batch) = self.next_batch(progress)? else { continue };
                let storing = self.store(batch);
                tokio::pin!(storing);
                tokio::select! {
                    biased;
                    stored = &mut storing => stored?,
                    result = &mut *execution => {
                        storing.await?;
                        return Ok(TurnEnd::Returned(result));
                    }
                }
                // Lets other tasks of the runtime run.
                tokio::task::yield_now().await;
                continue;
            }
            tokio::select! {
                biased;
                result = poll_fn(|context| match mem::take(&mut just_polled) {
                    true => Poll::Pending,
                    false => Pin::new(&mut *execution).poll(context),
                }) => return Ok(TurnEnd::Returned(result)),
                () = turn.outbox().not_empty() => {}
                () = turn.cancellation_token().cancelled(), if !turn.cancellation_token().is_cancelled() => {}
                _ = turn.declined(), if canceled_at.is_some() => {}
                () = sleep_until_deadline(deadline) => {}
                () = shutdown.stopped() => {}
            }
        }
    }

    /// Returns the progress to record now, or `None` if there is nothing new.
    fn progress_to_record(&self, replied: bool) -> Option<TurnProgress> {
        let is_task_required = self.is_task_required();
        if !self.turn.outbox().is_empty() {
            return Some(TurnProgress::Running);
        }
        if replied {
            return None;
        }
        match is_task_required {
            true => self.is_start_unreported().then_some(TurnProgress::Running),
            false => (!self.is_recorded()).then_some(TurnProgress::Held),
        }
    }

    fn next_batch(&mut self, progress: TurnProgress) -> Result<Option<Batch>, Error> {
        let emitted = self.turn.outbox().take();
        self.apply_emitted(emitted, None, progress).map_err(|error| {
            error!(task = %self.turn.task_id(), %error, "agent emitted an invalid event");
            Error::internal()
        })
    }

    /// Stores the opening event and everything emitted so far.
    async fn flush(&mut self, progress: TurnProgress) -> Result<(), Error> {
        match self.next_batch(progress)? {
            Some(batch) => self.store(batch).await,
            None => Ok(()),
        }
    }

    /// Stores the remaining events, and the final status that follows from the end of the executor.
    async fn finish(&mut self, turn_end: TurnEnd) -> Result<(), Error> {
        self.turn.outbox().close(TurnError::Finished);
        if self.send_direct_reply().await? {
            return Ok(());
        }
        if let TurnEnd::Returned(Err(failure)) = &turn_end
            && let Some(error) = failure.rejection()
            && self.turn.outbox().is_empty()
            && self.reject_message(error).await?
        {
            return Ok(());
        }
        let emitted = self.turn.outbox().take();
        let last_emitted_state = emitted.iter().rev().find_map(OutboxEntry::state);
        let (final_status, progress) = match turn_end {
            TurnEnd::ShutDown => (None, TurnProgress::Running),
            _ if last_emitted_state.unwrap_or(self.state()).is_terminal() => {
                (None, TurnProgress::Ended)
            }
            TurnEnd::Canceled => (Some(TaskState::Canceled.into()), TurnProgress::Ended),
            TurnEnd::TimedOut(limit) => (
                Some(failed_status(format!("the agent exceeded its time limit of {limit:?}"))),
                TurnProgress::Ended,
            ),
            TurnEnd::Returned(result) => {
                (self.final_status(result, last_emitted_state), TurnProgress::Ended)
            }
        };
        let batch = self.apply_emitted(emitted, final_status, progress).map_err(|error| {
            error!(task = %self.turn.task_id(), %error, "agent emitted an invalid event");
            Error::internal()
        })?;
        match batch {
            Some(batch) => self.store(batch).await,
            None => Ok(()),
        }
    }

    /// Returns the final status to append after the executor returned. `last_emitted_state` is the
    /// last state that it emitted and that is not stored yet.
    fn final_status(
        &self,
        result: Result<(), AgentFailure>,
        last_emitted_state: Option<TaskState>,
    ) -> Option<TaskStatus> {
        let is_canceled = self.turn.is_canceled();
        if let Err(failure) = &result
            && let Some(error) = failure.rejection()
            && !is_canceled
        {
            return Some(self.rejected_status(error));
        }
        if let Err(failure) = result
            && (failure.is_panic() || !(is_canceled || failure.is_turn_ended()))
        {
            failure.log(self.turn.agent());
            return Some(failed_status(failure.reason()));
        }
        if is_canceled {
            return Some(TaskState::Canceled.into());
        }
        match last_emitted_state.unwrap_or(self.state()) {
            // The task is interrupted and stays so.
            state
                if state.is_interrupted()
                    && (last_emitted_state.is_some() || !self.has_pending_work()) =>
            {
                None
            }
            // The task is interrupted, but the stored header says that the turn is running: repeat
            // the status.
            state if state.is_interrupted() => {
                Some(TaskStatus { message: self.status_message(), ..state.into() })
            }
            _ => Some(TaskState::Completed.into()),
        }
    }

    /// Sends a direct reply if the agent emitted one and no task is required. Returns whether it
    /// did, now or before.
    async fn send_direct_reply(&mut self) -> Result<bool, Error> {
        if self.replied_directly || self.is_task_required() {
            return Ok(self.replied_directly);
        }
        let Some(mut message) = self.turn.outbox().take_direct_reply() else { return Ok(false) };
        self.replied_directly = true;
        message.context_id = Some(self.turn.context_id().clone());
        let idempotency = self.take_idempotency();
        let record = idempotency.as_ref().map(|(record, _claim)| *record);
        if self.is_recorded() {
            self.retract(record.map(|it| (it, &message))).await?;
        } else if let Some(record) = record {
            let recorded = self.engine.store().record_direct_reply(record, &message).await;
            recorded.map_err(store_error)?;
        }
        drop(idempotency);
        self.engine.quota().release_task(self.live.key());
        self.live.update(|state| state.direct_reply = Some(message));
        self.turn.outbox().mark_stored(1);
        Ok(true)
    }

    /// Gives the caller the error of a rejected message, if the agent may reply directly. Returns
    /// whether nothing else is to be stored.
    async fn reject_message(&mut self, error: &Error) -> Result<bool, Error> {
        if !self.agent.policy().direct_replies || self.turn.outbox().is_task_required() {
            return Ok(false);
        }
        if self.is_recorded() && !self.is_visible() {
            self.retract(None).await?;
        }
        let leaves_no_trace = !self.is_recorded() || self.is_unrecorded();
        if leaves_no_trace {
            self.take_idempotency();
        } else if self.interrupted_state().is_none() {
            return Ok(false);
        }
        let rejection = Rejection { after: self.start_revision(), error: error.clone() };
        self.live.update(|state| state.rejection = Some(rejection));
        Ok(leaves_no_trace)
    }

    /// Returns the status of a task whose message was rejected: a task that waited for the message
    /// waits again, another one is rejected, or failed if the same message may succeed later.
    fn rejected_status(&self, error: &Error) -> TaskStatus {
        let is_transient = matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::RateLimited);
        let state = match self.interrupted_state() {
            Some(state) => state,
            None if is_transient => TaskState::Failed,
            None => TaskState::Rejected,
        };
        TaskStatus::from(state)
            .with_message(Message::agent(ids::message(), Part::text(error.message())))
    }

    /// Ends the turn after a failure of the store. Readers get the error, and the task is failed in
    /// the background as soon as the store works again.
    fn give_up_storing(&mut self, error: Error) {
        self.turn.outbox().close(TurnError::StoreFailed);
        self.live.update(|state| state.failure = Some(error));
        self.take_idempotency();
        if !self.superseded {
            let reason = "the events of the agent could not be stored".to_owned();
            self.engine.fail_orphaned_task(LiveTaskRef::clone(&self.live), reason);
        }
    }
}

async fn sleep_until_deadline(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

pub(super) fn failed_status(reason: impl Into<String>) -> TaskStatus {
    let message = Message::agent(ids::message(), Part::text(reason));
    TaskStatus::from(TaskState::Failed).with_message(message)
}

/// Converts a panic of the executor into a failure of its turn.
struct CatchPanic<'a>(Pin<Box<dyn Future<Output = Result<(), AgentFailure>> + Send + 'a>>);

impl Future for CatchPanic<'_> {
    type Output = Result<(), AgentFailure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context)));
        polled.unwrap_or_else(|payload| Poll::Ready(Err(AgentFailure::from_panic(&*payload))))
    }
}
