//! The calls of a follower, and the state after their results.

use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use latimer_protocol::{
    Error as AgentError, ErrorKind, EventStream, Phase, Request, Revision, SendMessageRequest,
    SendMessageResponse, StreamResponse, Task, TaskId,
};
use tokio::time::{Instant, sleep, timeout};

use super::{TaskFollower, UNREACHABLE_TIMEOUT};
use crate::client::Client;
use crate::error::Error;
use crate::transport::STREAM_CLOSE_GRACE;

/// State of a follower: the call or stream that it waits for.
pub(super) enum FollowState {
    /// The result of a call. The future is stored here, so that dropping the one of `next` does not
    /// cancel the call.
    Calling(BoxFuture<'static, CallResult>),
    /// The next event of a stream.
    Streaming { events: EventStream<Error>, first_event: Option<FirstEvent> },
    /// Nothing: the task is settled, or following failed.
    Done,
}

/// Meaning of the first event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstEvent {
    /// The result of a message.
    Result,
    /// The question that the message answers, if the agent repeats it.
    PriorQuestion,
    /// The current task, the events since the cursor, or only new events.
    Resumed,
}

impl FollowState {
    /// Closes a stream after its last event. Reads the remainder in the background, for at most
    /// [`STREAM_CLOSE_GRACE`], so that the connection can be reused.
    pub(super) fn close(self, client: &Client) {
        let Self::Streaming { mut events, .. } = self else { return };
        let remainder = async move { while events.next().await.is_some() {} };
        let mut remainder = Box::pin(timeout(STREAM_CLOSE_GRACE, remainder));
        if remainder.as_mut().now_or_never().is_none() {
            client.spawn_background(remainder.map(drop));
        }
    }
}

/// Period in which a task is unreachable.
#[derive(Debug)]
pub(super) struct Outage {
    started_at: Instant,
    /// Number of attempts to reach the task since then.
    attempts: u32,
}

/// Result of a call.
pub(super) enum CallResult {
    StreamOpened { events: Result<EventStream<Error>, Error>, request: Request },
    MessageSent(Result<SendMessageResponse, Error>),
    Subscribed { events: Result<EventStream<Error>, Error>, id: TaskId },
    Polled { task: Result<Arc<Task>, Error>, id: TaskId },
}

impl TaskFollower {
    /// Continues after the result of a call.
    pub(super) fn on_call_result(
        &mut self,
        result: CallResult,
    ) -> Result<Option<StreamResponse>, Error> {
        match result {
            CallResult::StreamOpened { events: Ok(events), request } => {
                let is_answer = matches!(
                    &request,
                    Request::SendStreamingMessage(it) if it.message.task_id.is_some()
                );
                let first_event =
                    if is_answer { FirstEvent::PriorQuestion } else { FirstEvent::Result };
                self.start_reading(events, first_event);
                Ok(None)
            }
            CallResult::StreamOpened {
                events: Err(Error::Agent(error)),
                request: Request::SendStreamingMessage(request),
            } if is_streaming_unsupported(&error) => {
                self.state = send_nonblocking(&self.client, request);
                Ok(None)
            }
            CallResult::StreamOpened { events: Err(error), .. } => Err(error),
            CallResult::MessageSent(Ok(SendMessageResponse::Message(message))) => {
                self.apply(StreamResponse::Message(message), None)
            }
            CallResult::MessageSent(Ok(SendMessageResponse::Task(task))) => {
                match self.client.uses_streaming() && task.status.state.phase() == Phase::Active {
                    true => {
                        self.state = subscribe(&self.client, task.id.clone(), None, Duration::ZERO);
                    }
                    false => self.schedule_poll(&task),
                }
                self.apply(StreamResponse::Task(Arc::unwrap_or_clone(task)), None)
            }
            CallResult::MessageSent(Err(error)) => Err(error),
            CallResult::Subscribed { events: Ok(events), .. } => {
                self.start_reading(events, FirstEvent::Resumed);
                Ok(None)
            }
            CallResult::Subscribed { events: Err(error), id } => self.on_stream_lost(id, error),
            CallResult::Polled { task: Ok(task), .. } => {
                self.outage = None;
                self.may_have_missed_events = false;
                self.final_event = None;
                self.schedule_poll(&task);
                let is_changed = self.task.as_ref() != Some(&*task);
                if !is_changed && let Some(error) = self.confirm_stream_error(&task) {
                    self.state = FollowState::Done;
                    return Err(error);
                }
                self.task = Some(task.as_ref().clone());
                Ok(is_changed.then(|| StreamResponse::Task(task.as_ref().clone())))
            }
            CallResult::Polled { task: Err(error), id } => {
                let backoff = self.next_backoff(&error);
                // The final event of the stream is valid although the task cannot be fetched.
                if let Some(final_event) = self.final_event.take_if(|_| backoff.is_none()) {
                    return self.apply(final_event, None);
                }
                self.state = poll(&self.client, id, backoff.unwrap_or_default());
                backoff.map_or(Err(error), |_| Ok(None))
            }
        }
    }

    /// Returns the error that a stream ended with, once polls confirm that the task does not
    /// change: some agents report an error and leave the task running.
    fn confirm_stream_error(&mut self, task: &Task) -> Option<Error> {
        let unconfirmed = self.unconfirmed_error.as_mut()?;
        if task.status.state.phase() != Phase::Active {
            return None;
        }
        unconfirmed.polls_left = unconfirmed.polls_left.saturating_sub(1);
        (unconfirmed.polls_left == 0).then(|| unconfirmed.error.clone().into())
    }

    /// Schedules the next poll unless the task is settled.
    fn schedule_poll(&mut self, task: &Task) {
        if task.status.state.phase() == Phase::Active {
            self.state = poll(&self.client, task.id.clone(), self.client.0.polling.interval);
        }
    }

    /// Returns the time to wait before the next attempt; `None` if the task has been unreachable for
    /// too long or the error is permanent.
    pub(super) fn next_backoff(&mut self, error: &Error) -> Option<Duration> {
        let outage =
            self.outage.get_or_insert_with(|| Outage { started_at: Instant::now(), attempts: 0 });
        if !error.is_transient() || outage.started_at.elapsed() > UNREACHABLE_TIMEOUT {
            self.outage = None;
            return None;
        }
        outage.attempts += 1;
        // The first attempt is immediate: most connections can be reestablished at once.
        Some(match outage.attempts - 1 {
            0 => Duration::ZERO,
            retries => self.client.retry_policy().backoff(retries, error),
        })
    }
}

/// Sends the message as a stream, or without one if the agent cannot stream.
pub(super) fn open_stream(client: &Client, request: SendMessageRequest) -> FollowState {
    if !client.uses_streaming() {
        return send_nonblocking(client, request);
    }
    let client = client.clone();
    let call = client.build_call(Request::SendStreamingMessage(request));
    FollowState::Calling(Box::pin(async move {
        CallResult::StreamOpened { events: client.open_stream(&call).await, request: call.request }
    }))
}

/// Sends the message without waiting for its result.
pub(super) fn send_nonblocking(client: &Client, mut request: SendMessageRequest) -> FollowState {
    let client = client.clone();
    request.configuration.get_or_insert_default().return_immediately = true;
    FollowState::Calling(Box::pin(
        async move { CallResult::MessageSent(client.send(request).await) },
    ))
}

/// Subscribes to a task, or polls it if the agent cannot stream.
pub(super) fn subscribe(
    client: &Client,
    id: TaskId,
    resume_after: Option<Revision>,
    delay: Duration,
) -> FollowState {
    if !client.uses_streaming() {
        return poll(client, id, delay);
    }
    let client = client.clone();
    FollowState::Calling(Box::pin(async move {
        sleep(delay).await;
        CallResult::Subscribed { events: client.subscribe(id.clone(), resume_after).await, id }
    }))
}

/// Fetches a task after a delay.
pub(super) fn poll(client: &Client, id: TaskId, delay: Duration) -> FollowState {
    let client = client.clone();
    FollowState::Calling(Box::pin(async move {
        sleep(delay).await;
        CallResult::Polled { task: client.get_task(id.clone()).await, id }
    }))
}

/// Returns whether an agent rejects a stream because it cannot stream. The message was not
/// processed.
fn is_streaming_unsupported(error: &AgentError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StreamingNotSupported
            | ErrorKind::UnsupportedOperation
            | ErrorKind::MethodNotFound
    )
}
