//! What a message comes to: recognising one that was sent before, and waiting for the answer.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use latimer_protocol::{Error, Revision, SendMessageResponse, Timestamp};
use latimer_store::{Key, Outcome, Sent};

use super::accept::Letter;
use super::live::State;
use super::repeat::{self, Flight, Seen, Ticket};
use super::rest::Rest;
use super::send::{Begun, How, place};
use super::{Engine, ids, unavailable};
use crate::agent::Agent;

/// Whether a message was sent before.
pub(super) enum Known {
    /// Nobody asks.
    No,
    /// It was not.
    First(Sent, Arc<Ticket>),
    /// It was, and this came of it.
    Before(Begun),
}

impl Begun {
    /// The end, or a question, if it came to that.
    pub(super) fn settled(&self) -> Option<Result<SendMessageResponse, Error>> {
        self.settled_in(&self.live.guard().lock())
    }

    /// Waits for the end, or a question, and goes on with the rest of the work meanwhile.
    async fn settles(&self, rest: Option<Rest>) -> Result<SendMessageResponse, Error> {
        if let Some(mut rest) = rest {
            // Nobody else settles a task while a turn of it goes on.
            let settled = poll_fn(|context| {
                let over = Pin::new(&mut rest).poll(context);
                self.settled().map_or(over.map(|()| None), |it| Poll::Ready(Some(it)))
            });
            if let Some(settled) = settled.await {
                return settled;
            }
        }
        self.live.guard().until(|state| self.settled_in(state)).await
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
        key: &Key,
        continues: bool,
    ) -> Result<Known, Error> {
        let window = letter.agent.policy().repeat_window;
        let exempt = window.is_zero()
            || !letter.dialect.messages_have_ids()
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
        let outcome = self.store().sent(&sent, now).await.map_err(unavailable)?;
        Ok(match outcome {
            Some(outcome) => Known::Before(self.again(letter, outcome).await?),
            None => {
                let window = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
                let expires = now.as_millis().saturating_add(window);
                let expires = Timestamp::from_millis(expires).unwrap_or(now);
                Known::First(Sent { key: sent, expires }, Arc::new(ticket))
            }
        })
    }

    /// What came of a message that was sent before.
    async fn again(&self, letter: &Letter, outcome: Outcome) -> Result<Begun, Error> {
        let made_in = letter.dialect;
        match outcome {
            Outcome::Task { key, revision } => {
                let live = self.0.lives.get(&key);
                let stored = self.store().load(&key).await.map_err(unavailable)?;
                let stored = stored.ok_or_else(|| Error::task_not_found(&key.id))?;
                live.learn(&stored);
                // The message is in the append that ends here, if not before.
                let after = Revision::new(revision.get() - 1);
                let live = place(&live, letter.want);
                Ok(Begun { live, after, opening: None, made_in, how: How::Again, rest: None })
            }
            Outcome::Message(message) => {
                let key = letter.access.new_task(letter.agent.name(), ids::task())?;
                let live = self.0.lives.begin(key);
                live.lock().answer = Some(message);
                let live = place(&live, letter.want);
                let after = Revision::START;
                Ok(Begun { live, after, opening: None, made_in, how: How::Again, rest: None })
            }
        }
    }

    /// Waits for the end, or a question; for so long, and then for the task as it stands.
    pub(super) async fn outcome(
        &self,
        begun: &mut Begun,
        agent: &Agent,
    ) -> Result<SendMessageResponse, Error> {
        let rest = begun.rest.take();
        tokio::select! {
            biased;
            outcome = begun.settles(rest) => return outcome,
            () = tokio::time::sleep(agent.policy().max_wait) => {}
            () = self.halt().stopped() => {}
        }
        self.first_sight(begun).await
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
