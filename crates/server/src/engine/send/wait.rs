//! Waiting for the result of a message.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use latimer_protocol::{Error, SendMessageResponse};

use super::Submission;
use crate::agent::Agent;
use crate::engine::live::State;
use crate::engine::{Engine, store_error};

/// Reason why waiting for a result ended.
enum WaitResult {
    /// The task is settled, the agent replied directly, or the turn failed.
    Settled(Result<SendMessageResponse, Error>),
    /// There is no attached turn, or it ended without settling the submission.
    TurnFinished,
    /// The time limit was reached or the engine stopped.
    LimitReached,
}

impl Submission {
    /// Returns the result of the message, if there is one yet.
    fn settled_reply(&self) -> Option<Result<SendMessageResponse, Error>> {
        self.settled_reply_in(&self.attachment.live().lock())
    }

    fn settled_reply_in(&self, state: &State) -> Option<Result<SendMessageResponse, Error>> {
        if let Some(message) = &state.direct_reply {
            return Some(Ok(SendMessageResponse::Message(message.clone())));
        }
        if let Some(rejection) = state.rejection_after(self.after) {
            return Some(Err(rejection.clone()));
        }
        match (&state.settled, &state.failure) {
            (Some(task), _) if state.revision > self.after => {
                Some(Ok(SendMessageResponse::Task(Arc::clone(task))))
            }
            (_, failure) => failure.clone().map(Err),
        }
    }
}

impl Engine {
    /// Waits until the task is settled, and polls the attached turn meanwhile. Returns the current
    /// task after the agent's `max_wait`.
    pub(super) async fn wait_until_settled(
        &self,
        submission: &mut Submission,
        agent: &Agent,
    ) -> Result<SendMessageResponse, Error> {
        let mut attached_turn = submission.attached_turn.take();
        // Created only if the first poll does not settle the submission: most turns need no timer.
        let mut limit = None;
        let wait = poll_fn(|context| {
            let finished =
                attached_turn.as_mut().is_none_or(|it| Pin::new(it).poll(context).is_ready());
            if let Some(settled) = submission.settled_reply() {
                return Poll::Ready(WaitResult::Settled(settled));
            }
            if finished {
                return Poll::Ready(WaitResult::TurnFinished);
            }
            let limit = limit.get_or_insert_with(|| Box::pin(self.wait_timeout(agent)));
            limit.as_mut().poll(context).map(|()| WaitResult::LimitReached)
        });
        let result = wait.await;
        drop(attached_turn);
        match result {
            WaitResult::Settled(reply) => reply,
            // Another turn may settle a duplicate or a follow-up.
            WaitResult::TurnFinished => Box::pin(self.wait_for_other_turn(submission, agent)).await,
            WaitResult::LimitReached => Box::pin(self.wait_until_created(submission)).await,
        }
    }

    /// Waits for a turn that this call does not poll.
    async fn wait_for_other_turn(
        &self,
        submission: &Submission,
        agent: &Agent,
    ) -> Result<SendMessageResponse, Error> {
        tokio::select! {
            biased;
            reply = submission.attachment.live().wait_for(|state| submission.settled_reply_in(state)) => reply,
            () = self.wait_timeout(agent) => self.wait_until_created(submission).await,
        }
    }

    /// Completes after the agent's `max_wait` or when the engine stops.
    async fn wait_timeout(&self, agent: &Agent) {
        tokio::select! {
            () = tokio::time::sleep(agent.policy().max_wait) => {}
            () = self.shutdown().stopped() => {}
        }
    }

    /// Waits until the message is stored, and returns the task in its current state.
    pub(super) async fn wait_until_created(
        &self,
        submission: &Submission,
    ) -> Result<SendMessageResponse, Error> {
        let live = submission.attachment.live();
        if let Some(turn) = live.lock().turn.clone() {
            turn.outbox().require_task();
        }
        let failure = |state: &State| {
            let rejection = || state.rejection_after(submission.after).cloned();
            state.failure.clone().or_else(rejection)
        };
        let created = |state: &State| match (&state.direct_reply, failure(state)) {
            (Some(message), _) => Some(Ok(Some(message.clone()))),
            (None, _) if state.revision > submission.after => Some(Ok(None)),
            (None, Some(failure)) => Some(Err(failure)),
            (None, None) => None,
        };
        if let Some(message) = live.wait_for(created).await? {
            return Ok(SendMessageResponse::Message(message));
        }
        let settled = live.lock().settled.clone();
        if let Some(task) = settled {
            return Ok(SendMessageResponse::Task(task));
        }
        let stored = self.store().load(live.key()).await.map_err(store_error)?;
        let stored = stored.ok_or_else(|| Error::task_not_found(&live.key().id))?;
        Ok(SendMessageResponse::Task(stored.task))
    }
}
