//! Reading of streams, and continuation after streams that end early.

use std::mem;
use std::time::Duration;

use latimer_protocol::{
    Error as AgentError, ErrorKind, EventStream, Phase, StreamEvent, StreamResponse, TaskId,
};
use tokio::time::Instant;

use super::TaskFollower;
use super::calls::{FirstEvent, FollowState, poll, subscribe};
use crate::error::Error;

/// Number of consecutive streams that may end early before the task is polled.
const MAX_SHORT_STREAMS: u32 = 8;

/// Number of consecutive streams that may end early before the task is polled, if the last of them
/// only repeated the known status.
const MAX_EMPTY_STREAMS: u32 = 2;

/// Minimum duration of a stream. A shorter one has ended early.
const SHORT_STREAM_DURATION: Duration = Duration::from_secs(1);

/// Number of polls without a change that confirm the error of a stream.
const MAX_UNCHANGED_POLLS: u32 = 2;

/// The stream that a follower reads, or read last.
#[derive(Debug)]
pub(super) struct CurrentStream {
    started_at: Instant,
    /// Whether an event of the stream has changed more than the known status.
    has_progress: bool,
}

impl CurrentStream {
    pub(super) fn new() -> Self {
        Self { started_at: Instant::now(), has_progress: false }
    }
}

/// Error that ended a stream while the task may still be running.
#[derive(Debug)]
pub(super) struct UnconfirmedError {
    pub(super) error: AgentError,
    /// Number of polls without a change that are left to confirm the error.
    pub(super) polls_left: u32,
}

impl TaskFollower {
    /// Starts to read a stream.
    pub(super) fn start_reading(&mut self, events: EventStream<Error>, first_event: FirstEvent) {
        self.state = FollowState::Streaming { events, first_event: Some(first_event) };
        self.current_stream = CurrentStream::new();
    }

    /// Continues after an item of a stream, or its end.
    pub(super) fn on_stream_item(
        &mut self,
        item: Option<Result<StreamEvent, Error>>,
        first_event: Option<FirstEvent>,
    ) -> Result<Option<StreamResponse>, Error> {
        let StreamEvent { revision, event, .. } = match item {
            Some(Ok(streamed)) => streamed,
            // The stream has ended after a settled task or a direct reply.
            None => {
                self.state = FollowState::Done;
                return Ok(None);
            }
            Some(Err(error)) => {
                self.state = FollowState::Done;
                let known_id = self.task.as_ref().map(|it| &it.id).or(self.requested_id.as_ref());
                let Some(id) = known_id.cloned() else { return Err(error) };
                let is_short = self.current_stream.started_at.elapsed() < SHORT_STREAM_DURATION;
                self.short_streams = if is_short { self.short_streams + 1 } else { 0 };
                self.unconfirmed_error = match &error {
                    Error::Agent(agent_error) => Some(UnconfirmedError {
                        error: agent_error.clone(),
                        polls_left: MAX_UNCHANGED_POLLS,
                    }),
                    _ => None,
                };
                return self.on_stream_lost(id, error);
            }
        };
        let revision = revision.filter(|_| self.client.0.has_numbered_events);
        // A server may repeat events.
        if revision.is_some() && revision <= self.cursor {
            return Ok(None);
        }
        let event = event.event().clone();
        let is_snapshot = matches!(event, StreamResponse::Task(_));
        self.current_stream.has_progress |= self.is_progress(&event);
        let is_prior_question = first_event == Some(FirstEvent::PriorQuestion)
            && is_snapshot
            && event.status().is_some_and(|it| it.state.is_interrupted());
        // A stream that continues neither from the task nor after the cursor has left out events.
        self.may_have_missed_events |=
            first_event == Some(FirstEvent::Resumed) && !is_snapshot && revision.is_none();
        if settles_task(&event) && !is_prior_question {
            mem::replace(&mut self.state, FollowState::Done).close(&self.client);
            // The final event is emitted last, as the complete task with the missing events.
            if let Some(id) = event.task_id().filter(|_| self.may_have_missed_events) {
                self.state = poll(&self.client, id.clone(), Duration::ZERO);
                self.final_event = Some(event);
                return Ok(None);
            }
        }
        self.apply(event, revision)
    }

    /// Returns whether an event changes more than the known status.
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

    /// Continues after a lost stream of a task.
    pub(super) fn on_stream_lost(
        &mut self,
        id: TaskId,
        error: Error,
    ) -> Result<Option<StreamResponse>, Error> {
        match error {
            // The task may be finished, or the server may be unable to resume: a poll decides.
            Error::Agent(agent_error)
                if !is_transient(&agent_error) && !is_access_denied(&agent_error) =>
            {
                self.state = poll(&self.client, id, Duration::ZERO);
                Ok(None)
            }
            error => {
                let max_short_streams = match self.current_stream.has_progress {
                    true => MAX_SHORT_STREAMS,
                    false => MAX_EMPTY_STREAMS,
                };
                if self.short_streams >= max_short_streams {
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

/// Returns whether an event settles its task.
fn settles_task(event: &StreamResponse) -> bool {
    matches!(event, StreamResponse::Message(_))
        || event.status().is_some_and(|it| it.state.phase() != Phase::Active)
}

/// Returns whether an agent denies access.
fn is_access_denied(error: &AgentError) -> bool {
    matches!(error.kind(), ErrorKind::Unauthenticated | ErrorKind::PermissionDenied)
}

/// Returns whether an agent is temporarily unavailable.
fn is_transient(error: &AgentError) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::RateLimited)
}
