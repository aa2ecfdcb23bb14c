//! Following a task to its end, whatever happens to the connection.

mod calls;
mod stream;

use std::fmt;
use std::time::Duration;

use futures_core::Stream;
use futures_util::StreamExt;
use futures_util::stream::unfold;
use latimer_protocol::{
    ApplyError, ContextId, Error as AgentError, ErrorKind, Event, Message, Metadata, Revision,
    SendMessageRequest, SendMessageResponse, StreamResponse, Task, TaskId, TaskState, TaskStatus,
};
use tokio::time::Instant;

use super::Client;
use super::text_deltas::TextDeltas;
use crate::error::Error;
use calls::{FollowState, open_stream, subscribe};

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
    /// The task that the caller named.
    requested_id: Option<TaskId>,
}

impl TaskFollower {
    pub(super) fn for_message(client: Client, request: SendMessageRequest) -> Self {
        let state = open_stream(&client, request);
        Self::new(client, state)
    }

    pub(super) fn for_task(client: Client, id: TaskId) -> Self {
        let state = subscribe(&client, id.clone(), None, Duration::ZERO);
        Self { requested_id: Some(id), ..Self::new(client, state) }
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
            requested_id: None,
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
    /// [may pass](Error::is_transient) goes on, if there is a task to go on with.
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

    /// All events, as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<StreamResponse, Error>> + Send {
        unfold(Some(self), |follower| async {
            let mut follower = follower?;
            match follower.next().await {
                Ok(event) => Some((Ok(event?), Some(follower))),
                Err(error) => Some((Err(error), None)),
            }
        })
    }

    /// Follows to the end.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn result(mut self) -> Result<SendMessageResponse, Error> {
        while self.next().await?.is_some() {}
        self.into_result()
    }

    /// Follows to the end, and tells of each piece of text and each new status on the way.
    ///
    /// A text is told once, also when a connection was lost in the middle of it.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn for_each_update(
        mut self,
        mut on_text: impl FnMut(&str) + Send,
        mut on_status: impl FnMut(&TaskStatus) + Send,
    ) -> Result<SendMessageResponse, Error> {
        let mut deltas = TextDeltas::default();
        let mut state = None;
        while let Some(event) = self.next().await? {
            deltas.emit(&event, &mut on_text);
            if let Some(status) = event.status()
                && (state != Some(status.state) || status.message.is_some())
            {
                state = Some(status.state);
                on_status(status);
            }
        }
        self.into_result()
    }

    fn into_result(self) -> Result<SendMessageResponse, Error> {
        match (self.direct_reply, self.task) {
            (Some(reply), _) => Ok(SendMessageResponse::Message(reply)),
            (None, Some(task)) => Ok(SendMessageResponse::Task(task.into())),
            (None, None) => Err(protocol_violation("it tells of no task")),
        }
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

/// The task that a first event tells of. Not every server begins with the task itself.
fn task_from_event(event: &StreamResponse) -> Result<Task, Error> {
    let bare_task = |id: &TaskId, context_id: &Option<ContextId>, status: TaskStatus| Task {
        id: id.clone(),
        context_id: context_id.clone(),
        status,
        artifacts: Vec::new(),
        history: Vec::new(),
        metadata: Metadata::new(),
    };
    match event {
        StreamResponse::Task(task) => Ok(task.clone()),
        StreamResponse::StatusUpdate(it) => {
            Ok(bare_task(&it.task_id, &it.context_id, it.status.clone()))
        }
        StreamResponse::ArtifactUpdate(it) => {
            let mut task = bare_task(&it.task_id, &it.context_id, TaskState::Working.into());
            task.artifacts.push(it.artifact.clone());
            Ok(task)
        }
        StreamResponse::Message(_) => Err(protocol_violation("a message is no task")),
    }
}

fn protocol_violation(problem: &str) -> Error {
    AgentError::new(ErrorKind::InvalidAgentResponse, problem.to_owned()).into()
}
