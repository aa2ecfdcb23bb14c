//! What a message comes to: recognising one that was sent before, and waiting for the answer.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use latimer_protocol::{Error, Revision, SendMessageResponse, Timestamp};
use latimer_store::{IdempotencyRecord, PriorOutcome, TaskKey};

use super::accept::Letter;
use super::live::State;
use super::repeat::{self, Flight, Seen, Ticket};
use super::send::{Begun, How, place};
use super::{Engine, ids, unavailable};
use crate::agent::Agent;

/// Whether a message was sent before.
pub(super) enum Known {
    /// Nobody asks.
    No,
    /// It was not.
    First(IdempotencyRecord, Arc<Ticket>),
    /// It was, and this came of it.
    Before(Begun),
}

/// What waiting came to.
enum Waited {
    /// The end, or a question.
    Settled(Result<SendMessageResponse, Error>),
    /// All work that the caller goes on with is done.
    Over,
    /// It is not waited any longer.
    Enough,
}

impl Begun {
    /// The end, or a question, if it came to that.
    pub(super) fn settled(&self) -> Option<Result<SendMessageResponse, Error>> {
        self.settled_in(&self.live.guard().lock())
    }

    fn settled_in(&self, state: &State) -> Option<Result<SendMessageResponse, Error>> {
        let failure = state.failure.as_ref().or(state.refused.as_ref());
        match (&state.answer, &state.settled, failure) {
            (Some(answer), _, _) => Some(Ok(SendMessageResponse::Message(answer.clone()))),
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
    pub(super) async fn recognise(
        &self,
        letter: &Letter,
        key: &TaskKey,
        continues: bool,
    ) -> Result<Known, Error> {
        let window = letter.agent.policy().repeat_window;
        let exempt = window.is_zero()
            || !letter.dialect.has_message_ids()
            || letter.agent.executor().may_repeat(&letter.message);
        if exempt {
            return Ok(Known::No);
        }
        let sent = repeat::key(key, continues, &letter.message, &letter.metadata);
        let ticket = match self.0.repeats.enter(sent).await {
            Seen::First(ticket) => ticket,
            Seen::Again(Flight { live, after }) => {
                let live = place(&live, letter.want);
                let made_in = letter.dialect;
                let how = How::Again;
                let (opening, rest) = (None, None);
                return Ok(Known::Before(Begun { live, after, opening, made_in, how, rest }));
            }
        };
        let now = ids::now();
        let outcome = self.store().find_prior_outcome(&sent, now).await.map_err(unavailable)?;
        Ok(match outcome {
            Some(outcome) => Known::Before(self.again(letter, outcome).await?),
            None => {
                let window = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
                let expires = now.as_millis().saturating_add(window);
                let expires = Timestamp::from_millis(expires).unwrap_or(now);
                Known::First(IdempotencyRecord { key: sent, expires_at: expires }, Arc::new(ticket))
            }
        })
    }

    /// What came of a message that was sent before.
    async fn again(&self, letter: &Letter, outcome: PriorOutcome) -> Result<Begun, Error> {
        let made_in = letter.dialect;
        match outcome {
            PriorOutcome::Task { key, revision } => {
                let live = self.0.lives.get(&key);
                let stored = self.store().load(&key).await.map_err(unavailable)?;
                let stored = stored.ok_or_else(|| Error::task_not_found(&key.id))?;
                live.learn(&stored);
                // The message is in the append that ends here, if not before.
                let after = Revision::new(revision.get() - 1);
                let live = place(&live, letter.want);
                Ok(Begun { live, after, opening: None, made_in, how: How::Again, rest: None })
            }
            PriorOutcome::DirectReply(message) => {
                let key = letter.access.new_task(letter.agent.name(), ids::task())?;
                let live = self.0.lives.begin(key);
                live.lock().answer = Some(message);
                let live = place(&live, letter.want);
                let after = Revision::START;
                Ok(Begun { live, after, opening: None, made_in, how: How::Again, rest: None })
            }
        }
    }

    /// Waits for the end, or a question, and goes on with the rest of the work meanwhile; for so long,
    /// and then for the task as it stands.
    pub(super) async fn outcome(
        &self,
        begun: &mut Begun,
        agent: &Agent,
    ) -> Result<SendMessageResponse, Error> {
        let mut rest = begun.rest.take();
        // Many need no second look, and so no limit.
        let mut limit = None;
        let waited = poll_fn(|context| {
            let over = rest.as_mut().is_none_or(|it| Pin::new(it).poll(context).is_ready());
            if let Some(settled) = begun.settled() {
                return Poll::Ready(Waited::Settled(settled));
            }
            if over {
                return Poll::Ready(Waited::Over);
            }
            let limit = limit.get_or_insert_with(|| Box::pin(self.limit(agent)));
            limit.as_mut().poll(context).map(|()| Waited::Enough)
        });
        let waited = waited.await;
        drop(rest);
        match waited {
            Waited::Settled(outcome) => outcome,
            // Nobody else settles a task while a turn of it goes on.
            Waited::Over => Box::pin(self.settled_elsewhere(begun, agent)).await,
            Waited::Enough => Box::pin(self.first_sight(begun)).await,
        }
    }

    /// Waits for what somebody else works on.
    async fn settled_elsewhere(
        &self,
        begun: &Begun,
        agent: &Agent,
    ) -> Result<SendMessageResponse, Error> {
        tokio::select! {
            biased;
            outcome = begun.live.guard().until(|state| begun.settled_in(state)) => outcome,
            () = self.limit(agent) => self.first_sight(begun).await,
        }
    }

    /// As long as a caller waits.
    async fn limit(&self, agent: &Agent) {
        tokio::select! {
            () = tokio::time::sleep(agent.policy().max_wait) => {}
            () = self.halt().stopped() => {}
        }
    }

    /// Waits until there is a task, whatever its state.
    pub(super) async fn first_sight(&self, begun: &Begun) -> Result<SendMessageResponse, Error> {
        let live = begun.live.guard();
        if let Some(turn) = live.lock().turn.clone() {
            turn.outbox().force();
        }
        let failure = |state: &State| state.failure.clone().or_else(|| state.refused.clone());
        let seen = |state: &State| match (&state.answer, failure(state)) {
            (Some(answer), _) => Some(Ok(Some(answer.clone()))),
            (None, _) if state.revision > begun.after => Some(Ok(None)),
            (None, Some(failure)) => Some(Err(failure)),
            (None, None) => None,
        };
        if let Some(answer) = live.until(seen).await? {
            return Ok(SendMessageResponse::Message(answer));
        }
        let settled = live.lock().settled.clone();
        if let Some(task) = settled {
            return Ok(SendMessageResponse::Task(task));
        }
        let stored = self.store().load(live.key()).await.map_err(unavailable)?;
        let stored = stored.ok_or_else(|| Error::task_not_found(&live.key().id))?;
        Ok(SendMessageResponse::Task(stored.task))
    }
}
