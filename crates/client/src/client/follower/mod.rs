//! Following of a task until it is settled.

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

use super::Client;
use super::text_deltas::TextDeltas;
use crate::error::Error;
use calls::{FollowState, Outage, open_stream, subscribe};
use stream::{CurrentStream, UnconfirmedError};

/// Time that a running task may be unreachable before following fails.
const UNREACHABLE_TIMEOUT: Duration = Duration::from_secs(120);

/// Follows a task until it is settled.
///
/// Reads the events of a stream. After a broken stream it resumes after the last revision if the
/// server numbers its events; otherwise it continues from the current task, or from the next event,
/// in which case it fetches the task at the end. It polls where the agent cannot stream. The end of
/// a stream never counts as the end of the task: following ends with a settled task, a direct reply
/// or an error.
///
/// Dropping it does not cancel the task.
///
/// ```
/// # use latimer_client::{Client, user_message};
/// # use latimer_protocol::{StreamResponse, TaskState};
/// # use latimer_runtime::DemoAgent;
/// # use latimer_server::Server;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = Server::new(DemoAgent::new_agent("demo")).bind("127.0.0.1:0").listen().await?;
/// # let url = format!("http://{}", server.address());
/// # let client = Client::connect(&url).await?;
/// let mut follower = client.follow(user_message("chunks 2"));
/// while let Some(event) = follower.next().await? {
///     if let StreamResponse::StatusUpdate(update) = event {
///         println!("{}", update.status.state);
///     }
/// }
/// let task = follower.task().ok_or("the agent replied without a task")?;
/// assert_eq!(task.status.state, TaskState::Completed);
/// assert!(task.text().contains("chunk 2 of 2"));
/// # Ok(())
/// # }
/// ```
pub struct TaskFollower {
    client: Client,
    state: FollowState,
    task: Option<Task>,
    direct_reply: Option<Message>,
    cursor: Option<Revision>,
    /// Whether events may be missing between two streams.
    may_have_missed_events: bool,
    /// The final event, which is emitted after the missing events.
    final_event: Option<StreamResponse>,
    /// The stream that is read now, or was read last.
    current_stream: CurrentStream,
    /// Number of consecutive streams that ended early.
    short_streams: u32,
    /// Set while the task is unreachable.
    outage: Option<Outage>,
    /// Error that ended a stream and that no poll has confirmed yet.
    unconfirmed_error: Option<UnconfirmedError>,
    /// Id of the task that the caller named.
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
            current_stream: CurrentStream::new(),
            short_streams: 0,
            outage: None,
            unconfirmed_error: None,
            requested_id: None,
        }
    }

    /// Returns the task with all events received by now; `None` before the first one.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// Returns the last revision received, after which another client can resume; `None` if the card
    /// does not declare that event ids are revisions.
    #[must_use]
    pub fn cursor(&self) -> Option<Revision> {
        self.cursor
    }

    /// Returns the next event, or `None` after the last one. After a lost connection, an event may be
    /// the complete task.
    ///
    /// Dropping the future loses no event.
    ///
    /// # Errors
    /// A permanent error, or a transient one once the task has been unreachable for two minutes.
    /// After a [transient](Error::is_transient) error the next call continues, if the task is
    /// known.
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

    /// Returns all events as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<StreamResponse, Error>> + Send {
        unfold(Some(self), |follower| async {
            let mut follower = follower?;
            match follower.next().await {
                Ok(event) => Some((Ok(event?), Some(follower))),
                Err(error) => Some((Err(error), None)),
            }
        })
    }

    /// Follows until the task is settled, and returns it or the direct reply.
    ///
    /// # Errors
    /// Those of [`next`](Self::next).
    pub async fn result(mut self) -> Result<SendMessageResponse, Error> {
        while self.next().await?.is_some() {}
        self.into_result()
    }

    /// Follows until the task is settled. Calls `on_text` with each chunk of text and `on_status`
    /// with each new status. Each chunk is emitted once, also after a lost connection.
    ///
    /// # Errors
    /// Those of [`next`](Self::next).
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
            (None, None) => Err(protocol_violation("the stream contains no task")),
        }
    }

    /// Applies an event to the task, and returns it unless it comes after the final one.
    fn apply(
        &mut self,
        event: StreamResponse,
        revision: Option<Revision>,
    ) -> Result<Option<StreamResponse>, Error> {
        self.outage = None;
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
            // The task has finished: the event is obsolete.
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
            FollowState::Done => "done",
        };
        let task = self.task.as_ref().map(|it| &it.id);
        out.debug_struct("TaskFollower").field("state", &state).field("task", &task).finish()
    }
}

/// Creates the task from the first event. Some servers do not start with the task itself.
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
        StreamResponse::Message(_) => Err(protocol_violation("a message does not name a task")),
    }
}

fn protocol_violation(problem: &str) -> Error {
    AgentError::new(ErrorKind::InvalidAgentResponse, problem.to_owned()).into()
}
