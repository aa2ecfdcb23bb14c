//! Following a task to its end, whatever happens to the connection.

use std::fmt;
use std::time::Duration;

use futures_core::Stream;
use futures_util::{StreamExt, stream};
use latimer_protocol::{
    Capability, Error as AgentError, ErrorKind, Event, Message, Phase, Refused, Request, Revision,
    SendMessageRequest, SendMessageResponse, StreamResponse, Streamed, Task, TaskId, TaskStatus,
};
use tokio::time::{Instant, sleep};

use super::Client;
use super::text::Texts;
use crate::error::Error;
use crate::transport::Events;

/// How long a task that is under way may be out of reach before it is given up.
const PATIENCE: Duration = Duration::from_secs(120);

/// A task that is followed until it is over or asks for something.
///
/// Its events come over a stream. When that breaks, another one goes on behind the last event that was
/// seen, where the server can do that; elsewhere it begins with the task as it stands. Where a server
/// cannot stream, the task is looked at again and again. That a stream has ended never means that the
/// task has: a follower ends with a task that is over or asks, with a direct answer, or with an error.
///
/// Dropping it stops nothing but the following.
pub struct Following {
    client: Client,
    stage: Stage,
    task: Option<Task>,
    answer: Option<Message>,
    cursor: Option<Revision>,
    /// Since when the task is out of reach, and how often it was tried to reach it since.
    lost: Option<(Instant, u32)>,
}

enum Stage {
    /// The message is to be sent.
    Begin(Box<SendMessageRequest>),
    /// Events come in. What a first event tells may be from before the message.
    Streaming { events: Events, answers: bool },
    /// The stream is gone, and the task is known.
    Resume(TaskId),
    /// Nobody tells what happens: the task is to be looked at.
    Look { id: TaskId, at_once: bool },
    /// There is nothing more to come.
    Over,
}

impl Following {
    pub(super) fn message(client: Client, request: SendMessageRequest) -> Self {
        Self::new(client, Stage::Begin(Box::new(request)))
    }

    pub(super) fn task(client: Client, id: TaskId) -> Self {
        Self::new(client, Stage::Resume(id))
    }

    fn new(client: Client, stage: Stage) -> Self {
        Self { client, stage, task: None, answer: None, cursor: None, lost: None }
    }

    /// The task as it is known so far.
    #[must_use]
    pub fn known(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// The last event that was seen, by which somebody else could go on.
    #[must_use]
    pub fn cursor(&self) -> Option<Revision> {
        self.cursor
    }

    /// The next event; none when there will be no more. A task as a whole may come at any time, after
    /// a connection was lost.
    ///
    /// # Errors
    /// Whatever does not pass, or has not passed for two minutes. Asking again after an error that
    /// [may pass](Error::is_passing) goes on where the following stopped.
    pub async fn next(&mut self) -> Result<Option<StreamResponse>, Error> {
        loop {
            let event = match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Begin(request) => self.begin(request).await?,
                Stage::Streaming { events, answers } => self.read(events, answers).await?,
                Stage::Resume(id) => self.resume(id).await?,
                Stage::Look { id, at_once } => self.look(id, at_once).await?,
                Stage::Over => return Ok(None),
            };
            if let Some(event) = event {
                return Ok(Some(event));
            }
        }
    }

    /// All events, as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<StreamResponse, Error>> + Send {
        stream::unfold(Some(self), |following| async {
            let mut following = following?;
            match following.next().await {
                Ok(event) => Some((Ok(event?), Some(following))),
                Err(error) => Some((Err(error), None)),
            }
        })
    }

    /// Follows to the end.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn outcome(mut self) -> Result<SendMessageResponse, Error> {
        while self.next().await?.is_some() {}
        self.done()
    }

    /// Follows to the end, and tells of each piece of text and each new status on the way.
    ///
    /// A text is told once, also when a connection was lost in the middle of it.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn tell(
        mut self,
        mut on_text: impl FnMut(&str) + Send,
        mut on_status: impl FnMut(&TaskStatus) + Send,
    ) -> Result<SendMessageResponse, Error> {
        let mut texts = Texts::default();
        let mut state = None;
        while let Some(event) = self.next().await? {
            texts.tell(&event, &mut on_text);
            if let Some(status) = event.status()
                && (state != Some(status.state) || status.message.is_some())
            {
                state = Some(status.state);
                on_status(status);
            }
        }
        self.done()
    }

    fn done(self) -> Result<SendMessageResponse, Error> {
        match (self.answer, self.task) {
            (Some(answer), _) => Ok(SendMessageResponse::Message(answer)),
            (None, Some(task)) => Ok(SendMessageResponse::Task(task.into())),
            (None, None) => Err(violation("it tells of no task")),
        }
    }

    async fn begin(
        &mut self,
        mut request: Box<SendMessageRequest>,
    ) -> Result<Option<StreamResponse>, Error> {
        let answers = request.message.task_id.is_some();
        if self.client.may_offer(Capability::Streaming) {
            let call = self.client.call(Request::SendStreamingMessage((*request).clone()));
            match self.client.open(call).await {
                Ok(events) => {
                    self.stage = Stage::Streaming { events, answers };
                    return Ok(None);
                }
                Err(Error::Agent(error)) if cannot_stream(&error) => {}
                Err(error) => return Err(error),
            }
        }
        request.configuration.get_or_insert_default().return_immediately = true;
        match self.client.send(*request).await? {
            SendMessageResponse::Message(message) => {
                self.note(StreamResponse::Message(message), None)
            }
            SendMessageResponse::Task(task) => {
                let event = self.note(StreamResponse::Task(task.as_ref().clone()), None)?;
                if task.status.state.phase() == Phase::Active {
                    self.stage = Stage::Look { id: task.id.clone(), at_once: false };
                }
                Ok(event)
            }
        }
    }

    async fn read(
        &mut self,
        mut events: Events,
        answers: bool,
    ) -> Result<Option<StreamResponse>, Error> {
        match events.next().await {
            // In good order: there was an end or a question.
            None => Ok(None),
            Some(Ok(Streamed { revision, event, .. })) => {
                // A server that begins again, or says something twice.
                let seen = revision.is_some() && revision <= self.cursor;
                let event = event.event().clone();
                // The first thing that is told may be the question that the message answers.
                let before = answers && matches!(event, StreamResponse::Task(_));
                let settled = settles(&event)
                    && !(before && event.status().is_some_and(|it| it.state.is_interrupted()));
                let told = if seen { None } else { self.note(event, revision)? };
                if !settled {
                    self.stage = Stage::Streaming { events, answers: false };
                }
                Ok(told)
            }
            Some(Err(error)) => match &self.task {
                Some(task) if error.is_passing() => {
                    let id = task.id.clone();
                    self.pause(Stage::Resume(id), error).await?;
                    Ok(None)
                }
                Some(_) | None => Err(error),
            },
        }
    }

    async fn resume(&mut self, id: TaskId) -> Result<Option<StreamResponse>, Error> {
        if !self.client.may_offer(Capability::Streaming) {
            self.stage = Stage::Look { id, at_once: true };
            return Ok(None);
        }
        match self.client.subscribe(id.clone(), self.cursor).await {
            Ok(events) => self.stage = Stage::Streaming { events, answers: false },
            // The task may be over, or the server may not know how: a look tells.
            Err(Error::Agent(error))
                if !is_refusal(&error) && !Error::from(error.clone()).is_passing() =>
            {
                self.stage = Stage::Look { id, at_once: true };
            }
            Err(error) => self.pause(Stage::Resume(id), error).await?,
        }
        Ok(None)
    }

    async fn look(&mut self, id: TaskId, at_once: bool) -> Result<Option<StreamResponse>, Error> {
        if !at_once {
            sleep(self.client.0.polling.interval).await;
        }
        let task = match self.client.get_task(id.clone()).await {
            Ok(task) => task,
            Err(error) => {
                self.pause(Stage::Look { id, at_once: true }, error).await?;
                return Ok(None);
            }
        };
        self.lost = None;
        if task.status.state.phase() == Phase::Active {
            self.stage = Stage::Look { id, at_once: false };
        }
        if self.task.as_ref() == Some(&*task) {
            return Ok(None);
        }
        self.task = Some(task.as_ref().clone());
        Ok(Some(StreamResponse::Task(task.as_ref().clone())))
    }

    /// Waits before the next try at `stage`, unless the error does not pass or has gone on for long.
    async fn pause(&mut self, stage: Stage, error: Error) -> Result<(), Error> {
        if !error.is_passing() {
            return Err(error);
        }
        self.stage = stage;
        let (since, tries) = self.lost.get_or_insert_with(|| (Instant::now(), 0));
        *tries += 1;
        let (since, tries) = (*since, *tries);
        if since.elapsed() > PATIENCE {
            self.lost = None;
            return Err(error);
        }
        // The first try is at once: most connections that break are as good as new.
        if tries > 1 {
            sleep(self.client.0.retry.pause(tries - 1, &error)).await;
        }
        Ok(())
    }

    /// Takes an event in.
    fn note(
        &mut self,
        event: StreamResponse,
        revision: Option<Revision>,
    ) -> Result<Option<StreamResponse>, Error> {
        self.lost = None;
        self.cursor = revision.or(self.cursor);
        if let StreamResponse::Message(message) = &event {
            self.answer = Some(message.clone());
            return Ok(Some(event));
        }
        let Some(change) = Event::from_stream(event.clone()) else { return Ok(Some(event)) };
        match &mut self.task {
            Some(task) => match task.apply(change) {
                Ok(()) => {}
                // Whatever comes late comes too late.
                Err(Refused::Finished { .. }) => return Ok(None),
                Err(refused) => return Err(violation(&refused.to_string())),
            },
            None => self.task = Some(begun(&event)?),
        }
        Ok(Some(event))
    }
}

/// The task that a first event tells of. Not every server begins with the task itself.
fn begun(event: &StreamResponse) -> Result<Task, Error> {
    let bare = |id: &TaskId, context, status| {
        let unnamed =
            latimer_protocol::ContextId::new("none").map_err(|_| AgentError::internal())?;
        let mut task = Task::new(id.clone(), unnamed, status);
        task.context_id = context;
        Ok::<Task, Error>(task)
    };
    match event {
        StreamResponse::Task(task) => Ok(task.clone()),
        StreamResponse::StatusUpdate(it) => {
            bare(&it.task_id, it.context_id.clone(), it.status.clone())
        }
        StreamResponse::ArtifactUpdate(it) => {
            let state = latimer_protocol::TaskState::Working.into();
            let mut task = bare(&it.task_id, it.context_id.clone(), state)?;
            task.artifacts.push(it.artifact.clone());
            Ok(task)
        }
        StreamResponse::Message(_) => Err(violation("a message is no task")),
    }
}

/// Whether a follower has nothing to wait for behind an event.
fn settles(event: &StreamResponse) -> bool {
    matches!(event, StreamResponse::Message(_))
        || event.status().is_some_and(|it| it.state.phase() != Phase::Active)
}

/// Whether an agent says that it does not stream. Nothing was carried out then.
fn cannot_stream(error: &AgentError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StreamingNotSupported
            | ErrorKind::UnsupportedOperation
            | ErrorKind::MethodNotFound
    )
}

/// Whether an agent does not want to talk to us at all.
fn is_refusal(error: &AgentError) -> bool {
    matches!(error.kind(), ErrorKind::Unauthenticated | ErrorKind::PermissionDenied)
}

fn violation(problem: &str) -> Error {
    AgentError::new(ErrorKind::InvalidAgentResponse, problem.to_owned()).into()
}

impl fmt::Debug for Following {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match &self.stage {
            Stage::Begin(_) => "begin",
            Stage::Streaming { .. } => "streaming",
            Stage::Resume(_) => "resume",
            Stage::Look { .. } => "look",
            Stage::Over => "over",
        };
        let task = self.task.as_ref().map(|it| &it.id);
        out.debug_struct("Following").field("stage", &stage).field("task", &task).finish()
    }
}
