//! What a message comes to: recognising one that was sent before, and waiting for the answer.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use latimer_protocol::{Error, Revision, SendMessageResponse, Timestamp};
use latimer_store::{IdempotencyRecord, PriorOutcome, TaskKey};

use super::{Submission, SubmissionKind, attach};
use crate::agent::Agent;
use crate::engine::accept::InboundMessage;
use crate::engine::idempotency::{self, Claim, ClaimGuard, InFlightTurn};
use crate::engine::live::State;
use crate::engine::{Engine, ids, store_error};

/// Whether a message was sent before.
pub(super) enum DuplicateCheck {
    /// Nobody asks.
    Exempt,
    /// It was not.
    First(IdempotencyRecord, Arc<ClaimGuard>),
    /// It was, and this came of it.
    Duplicate(Submission),
}

/// What waiting came to.
enum WaitResult {
    /// The end, or a question.
    Settled(Result<SendMessageResponse, Error>),
    /// All work that the caller goes on with is done.
    TurnFinished,
    /// It is not waited any longer.
    LimitReached,
}

impl Submission {
    /// The end, or a question, if it came to that.
    fn settled_reply(&self) -> Option<Result<SendMessageResponse, Error>> {
        self.settled_reply_in(&self.attachment.live().lock())
    }

    fn settled_reply_in(&self, state: &State) -> Option<Result<SendMessageResponse, Error>> {
        let failure = state.failure.as_ref().or(state.rejection.as_ref());
        match (&state.direct_reply, &state.settled, failure) {
            (Some(message), _, _) => Some(Ok(SendMessageResponse::Message(message.clone()))),
            (None, Some(task), _) if state.revision > self.after => {
                Some(Ok(SendMessageResponse::Task(Arc::clone(task))))
            }
            (None, _, Some(failure)) => Some(Err(failure.clone())),
            (None, _, None) => None,
        }
    }
}

impl Engine {
    /// Finds out whether a message was sent before.
    pub(super) async fn check_duplicate(
        &self,
        inbound: &InboundMessage,
        key: &TaskKey,
        names_task: bool,
    ) -> Result<DuplicateCheck, Error> {
        let window = inbound.agent.policy().idempotency_window;
        let exempt = window.is_zero()
            || !inbound.dialect.has_message_ids()
            || inbound.agent.executor().accepts_duplicate(&inbound.message);
        if exempt {
            return Ok(DuplicateCheck::Exempt);
        }
        let idempotency_key =
            idempotency::idempotency_key(key, names_task, &inbound.message, &inbound.metadata);
        let claim = match self.0.in_flight_messages.claim(idempotency_key).await {
            Claim::First(claim) => claim,
            Claim::InFlight(InFlightTurn { live, after }) => {
                let attachment = attach(&live, inbound.reply_mode);
                let task_dialect = inbound.dialect;
                let kind = SubmissionKind::Duplicate;
                let (prior_task, attached_turn) = (None, None);
                return Ok(DuplicateCheck::Duplicate(Submission {
                    attachment,
                    after,
                    prior_task,
                    task_dialect,
                    kind,
                    attached_turn,
                }));
            }
        };
        let now = ids::now();
        let prior =
            self.store().find_prior_outcome(&idempotency_key, now).await.map_err(store_error)?;
        Ok(match prior {
            Some(prior) => {
                DuplicateCheck::Duplicate(self.replay_prior_outcome(inbound, prior).await?)
            }
            None => {
                let window = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
                let expires = now.as_millis().saturating_add(window);
                let expires = Timestamp::from_millis(expires).unwrap_or(now);
                DuplicateCheck::First(
                    IdempotencyRecord { key: idempotency_key, expires_at: expires },
                    Arc::new(claim),
                )
            }
        })
    }

    /// What came of a message that was sent before.
    async fn replay_prior_outcome(
        &self,
        inbound: &InboundMessage,
        prior: PriorOutcome,
    ) -> Result<Submission, Error> {
        let task_dialect = inbound.dialect;
        match prior {
            PriorOutcome::Task { key, revision } => {
                let live = self.0.live_tasks.get_or_create(&key);
                let stored = self.store().load(&key).await.map_err(store_error)?;
                let stored = stored.ok_or_else(|| Error::task_not_found(&key.id))?;
                live.sync_from_store(&stored);
                // The message is in the append that ends here, if not before.
                let after = Revision::new(revision.get() - 1);
                let attachment = attach(&live, inbound.reply_mode);
                Ok(Submission {
                    attachment,
                    after,
                    prior_task: None,
                    task_dialect,
                    kind: SubmissionKind::Duplicate,
                    attached_turn: None,
                })
            }
            PriorOutcome::DirectReply(message) => {
                let key = inbound.scope.new_task_key(inbound.agent.name(), ids::task())?;
                let live = self.0.live_tasks.create(key);
                live.lock().direct_reply = Some(message);
                let attachment = attach(&live, inbound.reply_mode);
                let after = Revision::START;
                Ok(Submission {
                    attachment,
                    after,
                    prior_task: None,
                    task_dialect,
                    kind: SubmissionKind::Duplicate,
                    attached_turn: None,
                })
            }
        }
    }

    /// Waits for the end, or a question, and goes on with the rest of the work meanwhile; for so long,
    /// and then for the task as it stands.
    pub(super) async fn wait_until_settled(
        &self,
        submission: &mut Submission,
        agent: &Agent,
    ) -> Result<SendMessageResponse, Error> {
        let mut attached_turn = submission.attached_turn.take();
        // Many need no second look, and so no limit.
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
            // Nobody else settles a task while a turn of it goes on.
            WaitResult::TurnFinished => Box::pin(self.wait_for_other_turn(submission, agent)).await,
            WaitResult::LimitReached => Box::pin(self.wait_until_created(submission)).await,
        }
    }

    /// Waits for what somebody else works on.
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

    /// As long as a caller waits.
    async fn wait_timeout(&self, agent: &Agent) {
        tokio::select! {
            () = tokio::time::sleep(agent.policy().max_wait) => {}
            () = self.shutdown().stopped() => {}
        }
    }

    /// Waits until there is a task, whatever its state.
    pub(super) async fn wait_until_created(
        &self,
        submission: &Submission,
    ) -> Result<SendMessageResponse, Error> {
        let live = submission.attachment.live();
        if let Some(turn) = live.lock().turn.clone() {
            turn.outbox().require_task();
        }
        let failure = |state: &State| state.failure.clone().or_else(|| state.rejection.clone());
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
