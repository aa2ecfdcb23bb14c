//! Reading the streams of a task, and going on where they end too soon.

use std::mem;
use std::time::Duration;

use latimer_protocol::{StreamEvent, StreamResponse, TaskId};
use tokio::time::Instant;

use super::Following;
use super::meaning::{is_passing, is_refusal, settles};
use super::stage::{First, Stage, look, subscribe};
use crate::error::Error;
use crate::transport::Events;

/// How many streams in a row may end soon. Behind that the task is looked at instead.
const SHORT_STREAMS: u32 = 8;

/// How many, if the last one told nothing but how the task stands.
const SHORT_AND_QUIET: u32 = 2;

/// How soon is that.
const SHORT: Duration = Duration::from_secs(1);

/// How often a task is looked at in vain before the error that its stream ended with is believed.
const LOOKS: u32 = 2;

impl Following {
    /// Reads a stream from its beginning.
    pub(super) fn read(&mut self, events: Events, first: First) {
        self.stage = Stage::Streaming { events, first: Some(first) };
        self.begun = (Instant::now(), true);
    }

    /// Goes on from what a stream tells.
    pub(super) fn told(
        &mut self,
        next: Option<Result<StreamEvent, Error>>,
        first: Option<First>,
    ) -> Result<Option<StreamResponse>, Error> {
        let StreamEvent { revision, event, .. } = match next {
            Some(Ok(streamed)) => streamed,
            // In good order: there was an end or a question.
            None => {
                self.stage = Stage::Over;
                return Ok(None);
            }
            Some(Err(error)) => {
                self.stage = Stage::Over;
                let known = self.task.as_ref().map(|it| &it.id).or(self.found.as_ref());
                let Some(id) = known.cloned() else { return Err(error) };
                let short = self.begun.0.elapsed() < SHORT;
                self.short = if short { self.short + 1 } else { 0 };
                self.refused = match &error {
                    Error::Agent(refused) => Some((refused.clone(), LOOKS)),
                    _ => None,
                };
                return self.cut(id, error);
            }
        };
        let revision = revision.filter(|_| self.client.0.numbers_events);
        // A server may begin again, or say something twice.
        if revision.is_some() && revision <= self.cursor {
            return Ok(None);
        }
        let event = event.event().clone();
        let snapshot = matches!(event, StreamResponse::Task(_));
        self.begun.1 &= !self.is_news(&event);
        let before = first == Some(First::Old)
            && snapshot
            && event.status().is_some_and(|it| it.state.is_interrupted());
        // Whoever begins neither with the task nor behind what was seen has left something out.
        self.gap |= first == Some(First::Again) && !snapshot && revision.is_none();
        if settles(&event) && !before {
            mem::replace(&mut self.stage, Stage::Over).leave();
            self.try_finding(&event);
            // The end is told last, by the task with all that nobody told.
            if let Some(id) = event.task_id().filter(|_| self.gap) {
                self.stage = look(&self.client, id.clone(), Duration::ZERO);
                self.end = Some(event);
                return Ok(None);
            }
        }
        self.note(event, revision)
    }

    /// Whether an event tells more than how the task stands, as far as that is known.
    fn is_news(&self, event: &StreamResponse) -> bool {
        match event {
            StreamResponse::Task(_) => false,
            StreamResponse::StatusUpdate(it) => {
                let state = self.task.as_ref().map(|it| it.status.state);
                it.status.message.is_some() || state != Some(it.status.state)
            }
            StreamResponse::ArtifactUpdate(_) | StreamResponse::Message(_) => true,
        }
    }

    /// Tries out on the side whether the task is found by its conversation.
    fn try_finding(&mut self, event: &StreamResponse) {
        if let (Some(trial), Some(id)) = (self.trial.take(), event.task_id()) {
            tokio::spawn(trial.of(id.clone()));
        }
    }

    /// Goes on with a task whose stream is gone.
    pub(super) fn cut(
        &mut self,
        id: TaskId,
        error: Error,
    ) -> Result<Option<StreamResponse>, Error> {
        match error {
            // The task may be over, or the server may not know how to go on: a look tells.
            Error::Agent(refused) if !is_passing(&refused) && !is_refusal(&refused) => {
                self.stage = look(&self.client, id, Duration::ZERO);
                Ok(None)
            }
            error => {
                let (_, told_nothing) = self.begun;
                if self.short >= if told_nothing { SHORT_AND_QUIET } else { SHORT_STREAMS } {
                    self.stage = look(&self.client, id, self.client.0.polling.interval);
                    return Ok(None);
                }
                let pause = self.pause(&error);
                if error.is_passing() {
                    let pause = pause.unwrap_or_default();
                    self.stage = subscribe(&self.client, id, self.cursor, pause);
                }
                pause.map_or(Err(error), |_| Ok(None))
            }
        }
    }
}
