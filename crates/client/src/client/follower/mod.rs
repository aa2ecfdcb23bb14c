//! Following a task to its end, whatever happens to the connection.

mod calls;
mod deferred;
mod meaning;
mod stream;
mod telling;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use latimer_protocol::{
    ApplyError, Error as AgentError, Event, Message, Phase, Request, Revision, SendMessageRequest,
    SendMessageResponse, StreamResponse, Task, TaskId,
};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Client;
use super::task_lookup::LookupProbe;
use crate::error::Error;
use calls::{CallResult, FirstEvent, FollowState, open_stream, poll, send_nonblocking, subscribe};
use deferred::send_blocking;
use meaning::{is_streaming_unsupported, protocol_violation, task_from_event};

/// How long a task that is under way may be out of reach before it is given up.
const UNREACHABLE_TIMEOUT: Duration = Duration::from_secs(120);

/// A task that is followed until it is over or asks for something.
///
/// Its events come over a stream. When that breaks, another one goes on behind the last event that was
/// seen, where the server can do that; elsewhere it begins with the task as it stands, or with whatever
/// happens next, and then the task is looked at in the end. Where a server cannot stream, the task is
/// looked at again and again. That a stream has ended never means that the task has: a follower ends
/// with a task that is over or asks, with a direct answer, or with an error.
///
/// Dropping it stops nothing but the following: an agent that is asked for an answer is no longer
/// listened to.
pub struct TaskFollower {
    client: Client,
    state: FollowState,
    task: Option<Task>,
    direct_reply: Option<Message>,
    cursor: Option<Revision>,
    /// Whether something may have happened that nobody told.
    may_have_missed_events: bool,
    /// The end that was told behind a gap.
    final_event: Option<StreamResponse>,
    /// When the last stream began, and whether it has told nothing but how the task stands.
    stream_started: (Instant, bool),
    /// How many streams in a row ended soon.
    short_streams: u32,
    /// Since when the task is out of reach, and how often it was tried to reach it since.
    unreachable_since: Option<(Instant, u32)>,
    /// The error that a stream ended with, and how many more looks at the task it is doubted for.
    stream_error: Option<(AgentError, u32)>,
    /// Where the task may not be known for a while: tells that somebody has to know.
    resolve_now: Option<Arc<Notify>>,
    /// The task, as it was found by its conversation.
    looked_up_id: Option<TaskId>,
    /// Trying out whether the task is found by its conversation, in the end.
    lookup_probe: Option<LookupProbe>,
}

impl TaskFollower {
    pub(super) fn for_message(client: Client, request: SendMessageRequest) -> Self {
        let state = open_stream(&client, request);
        Self::new(client, state)
    }

    pub(super) fn for_deferred_reply(client: Client, request: SendMessageRequest) -> Self {
        let Message { task_id: None, context_id: Some(context), .. } = &request.message else {
            return Self::for_message(client, request);
        };
        if !client.uses_streaming() || !client.can_look_up_tasks() {
            let lookup_probe =
                LookupProbe::new(&client, context).filter(|_| client.uses_streaming());
            return Self { lookup_probe, ..Self::for_message(client, request) };
        }
        let context = context.clone();
        let resolve_now = Arc::new(Notify::new());
        let state = send_blocking(&client, request, context, Arc::clone(&resolve_now));
        Self { resolve_now: Some(resolve_now), ..Self::new(client, state) }
    }

    pub(super) fn for_task(client: Client, id: TaskId) -> Self {
        let state = subscribe(&client, id, None, Duration::ZERO);
        Self::new(client, state)
    }

    fn new(client: Client, state: FollowState) -> Self {
        Self {
            client,
            state,
            task: None,
            direct_reply: None,
            cursor: None,
            may_have_missed_events: false,
            final_event: None,
            stream_started: (Instant::now(), true),
            short_streams: 0,
            unreachable_since: None,
            stream_error: None,
            resolve_now: None,
            looked_up_id: None,
            lookup_probe: None,
        }
    }

    /// Finds out soon which task it is, for somebody who wants to do something with it.
    pub fn resolve_task_id(&self) {
        if let Some(resolve_now) = &self.resolve_now {
            resolve_now.notify_one();
        }
    }

    /// The task as it is known so far.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// The last event that was seen, by which somebody else could go on. None where no card says that
    /// events are numbered: numbers of others may mean anything.
    #[must_use]
    pub fn cursor(&self) -> Option<Revision> {
        self.cursor
    }

    /// The next event; none when there will be no more. A task as a whole may come at any time, after
    /// a connection was lost.
    ///
    /// Whoever drops the future loses nothing: the next one goes on where it was.
    ///
    /// # Errors
    /// Whatever does not pass, or has not passed for two minutes. Asking again after an error that
    /// [may pass](Error::is_passing) goes on, if there is a task to go on with.
    pub async fn next(&mut self) -> Result<Option<StreamResponse>, Error> {
        loop {
            let event = match &mut self.state {
                FollowState::Done => return Ok(None),
                FollowState::Calling(call) => {
                    let result = call.await;
                    self.state = FollowState::Done;
                    self.on_call_result(result)?
                }
                FollowState::Streaming { events, first_event } => {
                    let item = events.next().await;
                    let first_event = first_event.take();
                    self.on_stream_item(item, first_event)?
                }
            };
            if event.is_some() {
                return Ok(event);
            }
        }
    }

    /// Goes on from what a call came to.
    fn on_call_result(&mut self, result: CallResult) -> Result<Option<StreamResponse>, Error> {
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
            CallResult::TaskFound(id) => {
                self.looked_up_id = Some(id.clone());
                self.state = subscribe(&self.client, id, None, Duration::ZERO);
                Ok(None)
            }
            CallResult::Subscribed { events: Ok(events), .. } => {
                self.start_reading(events, FirstEvent::Resumed);
                Ok(None)
            }
            CallResult::Subscribed { events: Err(error), id } => self.on_stream_lost(id, error),
            CallResult::Polled { task: Ok(task), .. } => {
                (self.unreachable_since, self.may_have_missed_events, self.final_event) =
                    (None, false, None);
                self.schedule_poll(&task);
                let is_changed = self.task.as_ref() != Some(&*task);
                if !is_changed && let Some(error) = self.confirmed_stream_error(&task) {
                    self.state = FollowState::Done;
                    return Err(error);
                }
                self.task = Some(task.as_ref().clone());
                Ok(is_changed.then(|| StreamResponse::Task(task.as_ref().clone())))
            }
            CallResult::Polled { task: Err(error), id } => {
                let backoff = self.next_backoff(&error);
                // Whatever else there is to know, this is.
                if let Some(final_event) = self.final_event.take_if(|_| backoff.is_none()) {
                    return self.apply(final_event, None);
                }
                self.state = poll(&self.client, id, backoff.unwrap_or_default());
                backoff.map_or(Err(error), |_| Ok(None))
            }
        }
    }

    /// The error that a stream ended with, once it is clear that the task goes on no more: some agents
    /// say what went wrong, and leave the task as it is.
    fn confirmed_stream_error(&mut self, task: &Task) -> Option<Error> {
        let (error, polls_left) = self.stream_error.as_mut()?;
        if task.status.state.phase() != Phase::Active {
            return None;
        }
        *polls_left = polls_left.saturating_sub(1);
        (*polls_left == 0).then(|| error.clone().into())
    }

    /// Looks at a task again later on, if there is something to wait for.
    fn schedule_poll(&mut self, task: &Task) {
        if task.status.state.phase() == Phase::Active {
            self.state = poll(&self.client, task.id.clone(), self.client.0.polling.interval);
        }
    }

    /// How long to wait before another try; none when it is time to give up.
    fn next_backoff(&mut self, error: &Error) -> Option<Duration> {
        let (since, attempts) = self.unreachable_since.get_or_insert_with(|| (Instant::now(), 0));
        if !error.is_transient() || since.elapsed() > UNREACHABLE_TIMEOUT {
            self.unreachable_since = None;
            return None;
        }
        *attempts += 1;
        // The first try is at once: most connections that break are as good as new.
        Some(match *attempts - 1 {
            0 => Duration::ZERO,
            retries => self.client.0.retry.backoff(retries, error),
        })
    }

    /// Takes an event in.
    fn apply(
        &mut self,
        event: StreamResponse,
        revision: Option<Revision>,
    ) -> Result<Option<StreamResponse>, Error> {
        self.unreachable_since = None;
        self.cursor = revision.or(self.cursor);
        if let StreamResponse::Message(message) = &event {
            self.direct_reply = Some(message.clone());
            return Ok(Some(event));
        }
        let Some(task) = &mut self.task else {
            self.task = Some(task_from_event(&event)?);
            return Ok(Some(event));
        };
        let Some(change) = Event::from_stream_response(event.clone()) else {
            return Ok(Some(event));
        };
        match task.apply(change) {
            Ok(()) => Ok(Some(event)),
            // Whatever comes late comes too late.
            Err(ApplyError::Finished { .. }) => Ok(None),
            Err(error) => Err(protocol_violation(&error.to_string())),
        }
    }
}

impl fmt::Debug for TaskFollower {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            FollowState::Calling(_) => "calling",
            FollowState::Streaming { .. } => "streaming",
            FollowState::Done => "over",
        };
        let task = self.task.as_ref().map(|it| &it.id);
        out.debug_struct("Following").field("stage", &state).field("task", &task).finish()
    }
}
