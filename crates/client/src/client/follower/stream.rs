//! Reading the streams of a task, and going on where they end too soon.

use std::mem;
use std::time::Duration;

use latimer_protocol::{
    Error as AgentError, ErrorKind, EventStream, Phase, StreamEvent, StreamResponse, TaskId,
};
use tokio::time::Instant;

use super::TaskFollower;
use super::calls::{FirstEvent, FollowState, poll, subscribe};
use crate::error::Error;

/// How many streams in a row may end soon. Behind that the task is looked at instead.
const MAX_SHORT_STREAMS: u32 = 8;

/// How many, if the last one told nothing but how the task stands.
const MAX_EMPTY_STREAMS: u32 = 2;

/// How soon is that.
const SHORT_STREAM_DURATION: Duration = Duration::from_secs(1);

/// How often a task is looked at in vain before the error that its stream ended with is believed.
const MAX_UNCHANGED_POLLS: u32 = 2;

impl TaskFollower {
    /// Reads a stream from its beginning.
    pub(super) fn start_reading(&mut self, events: EventStream<Error>, first_event: FirstEvent) {
        self.state = FollowState::Streaming { events, first_event: Some(first_event) };
        self.stream_started = (Instant::now(), true);
    }

    /// Goes on from what a stream tells.
    pub(super) fn on_stream_item(
        &mut self,
        item: Option<Result<StreamEvent, Error>>,
        first_event: Option<FirstEvent>,
    ) -> Result<Option<StreamResponse>, Error> {
        let StreamEvent { revision, event, .. } = match item {
            Some(Ok(streamed)) => streamed,
            // In good order: there was an end or a question.
            None => {
                self.state = FollowState::Done;
                return Ok(None);
            }
            Some(Err(error)) => {
                self.state = FollowState::Done;
                let known_id = self.task.as_ref().map(|it| &it.id).or(self.requested_id.as_ref());
                let Some(id) = known_id.cloned() else { return Err(error) };
                let is_short = self.stream_started.0.elapsed() < SHORT_STREAM_DURATION;
                self.short_streams = if is_short { self.short_streams + 1 } else { 0 };
                self.stream_error = match &error {
                    Error::Agent(agent_error) => Some((agent_error.clone(), MAX_UNCHANGED_POLLS)),
                    _ => None,
                };
                return self.on_stream_lost(id, error);
            }
        };
        let revision = revision.filter(|_| self.client.0.has_numbered_events);
        // A server may begin again, or say something twice.
        if revision.is_some() && revision <= self.cursor {
            return Ok(None);
        }
        let event = event.event().clone();
        let is_snapshot = matches!(event, StreamResponse::Task(_));
        self.stream_started.1 &= !self.is_progress(&event);
        let is_prior_question = first_event == Some(FirstEvent::PriorQuestion)
            && is_snapshot
            && event.status().is_some_and(|it| it.state.is_interrupted());
        // Whoever begins neither with the task nor behind what was seen has left something out.
        self.may_have_missed_events |=
            first_event == Some(FirstEvent::Resumed) && !is_snapshot && revision.is_none();
        if settles_task(&event) && !is_prior_question {
            mem::replace(&mut self.state, FollowState::Done).close();
            // The end is told last, by the task with all that nobody told.
            if let Some(id) = event.task_id().filter(|_| self.may_have_missed_events) {
                self.state = poll(&self.client, id.clone(), Duration::ZERO);
                self.final_event = Some(event);
                return Ok(None);
            }
        }
        self.apply(event, revision)
    }

    /// Whether an event tells more than how the task stands, as far as that is known.
    fn is_progress(&self, event: &StreamResponse) -> bool {
        match event {
            StreamResponse::Task(_) => false,
            StreamResponse::StatusUpdate(it) => {
                let state = self.task.as_ref().map(|it| it.status.state);
                it.status.message.is_some() || state != Some(it.status.state)
            }
            StreamResponse::ArtifactUpdate(_) | StreamResponse::Message(_) => true,
        }
    }

    /// Goes on with a task whose stream is gone.
    pub(super) fn on_stream_lost(
        &mut self,
        id: TaskId,
        error: Error,
    ) -> Result<Option<StreamResponse>, Error> {
        match error {
            // The task may be over, or the server may not know how to go on: a look tells.
            Error::Agent(agent_error)
                if !is_transient(&agent_error) && !is_access_denied(&agent_error) =>
            {
                self.state = poll(&self.client, id, Duration::ZERO);
                Ok(None)
            }
            error => {
                let (_, is_empty) = self.stream_started;
                if self.short_streams
                    >= if is_empty { MAX_EMPTY_STREAMS } else { MAX_SHORT_STREAMS }
                {
                    self.state = poll(&self.client, id, self.client.0.polling.interval);
                    return Ok(None);
                }
                let backoff = self.next_backoff(&error);
                if error.is_transient() {
                    let delay = backoff.unwrap_or_default();
                    self.state = subscribe(&self.client, id, self.cursor, delay);
                }
                backoff.map_or(Err(error), |_| Ok(None))
            }
        }
    }
}

/// Whether a follower has nothing to wait for behind an event.
fn settles_task(event: &StreamResponse) -> bool {
    matches!(event, StreamResponse::Message(_))
        || event.status().is_some_and(|it| it.state.phase() != Phase::Active)
}

/// Whether an agent does not want to talk to us at all.
fn is_access_denied(error: &AgentError) -> bool {
    matches!(error.kind(), ErrorKind::Unauthenticated | ErrorKind::PermissionDenied)
}

/// Whether an agent asks to come back later.
fn is_transient(error: &AgentError) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::RateLimited)
}
