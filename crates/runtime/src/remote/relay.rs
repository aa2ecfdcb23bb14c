//! What the agent behind says, said again by ours.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending};
use latimer_client::{Client, Error as ClientError, TaskFollower};
use latimer_protocol::{
    Artifact, Error, ErrorKind, Message, Metadata, Phase, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use latimer_server::{AgentFailure, Turn, TurnError};
use tokio::runtime::Handle;
use tokio::time::sleep;
use tracing::{debug, warn};

use super::contexts;
use super::note::Note;
use super::outgoing::passed_on;
use super::told::{News, Told, of_agent};
use super::upstream::{Pass, Upstream};

/// How long a note waits for an event to go with.
const NOTED: Duration = Duration::from_millis(200);

/// One turn: what is known of the task there, and what was told of it here.
pub(super) struct Relay<'a> {
    turn: &'a Turn,
    upstream: &'a Arc<Upstream>,
    client: Client,
    note: Note,
    /// Whether the note says more than what is kept.
    noted: bool,
    told: Told,
    /// The question that the message answers, told once more before the answer.
    before: Option<Task>,
    /// Whether nothing has come yet.
    first: bool,
    /// Whether the message answers a question.
    answers: bool,
    /// Whether the agent answered without a task.
    answered: bool,
    canceling: Canceling,
}

/// How far canceling has come.
enum Canceling {
    /// Nobody wants to.
    No,
    /// Somebody wants to, and it is not known yet what to cancel.
    Wanted,
    /// The agent is asked to.
    Asked(BoxFuture<'static, Result<Arc<Task>, ClientError>>),
    /// It was asked.
    Over,
}

impl<'a> Relay<'a> {
    pub(super) fn new(
        turn: &'a Turn,
        upstream: &'a Arc<Upstream>,
        client: Client,
        note: Note,
    ) -> Self {
        let told = turn.task().map(Told::of).unwrap_or_default();
        let kept = turn.note().and_then(Note::read).and_then(|it| it.task);
        let answers = turn.task().is_some_and(|it| it.status.state.is_interrupted());
        Self {
            turn,
            upstream,
            client,
            noted: note.task.is_some() && note.task != kept,
            note,
            told,
            before: None,
            first: true,
            answers,
            answered: false,
            canceling: Canceling::No,
        }
    }

    /// Says whatever comes, until the task is over or asks for something.
    pub(super) async fn run(
        &mut self,
        mut following: TaskFollower,
        pass: &mut Pass<'_>,
    ) -> Result<(), AgentFailure> {
        loop {
            let happened = self.next(&mut following).await;
            if let Happened::Told(told) = &happened {
                pass.note(told.as_ref().err());
            }
            match happened {
                Happened::Told(Ok(Some(event))) => self.tell(event).await?,
                Happened::Told(Ok(None)) => break,
                Happened::Told(Err(error)) => return self.fail(error),
                Happened::Canceled(Ok(task)) => {
                    self.canceling = Canceling::Over;
                    self.tell(StreamResponse::Task(Arc::unwrap_or_clone(task))).await?;
                }
                // It does not know of the task yet.
                Happened::Canceled(Err(error)) if self.first && is_unknown(&error) => {
                    sleep(NOTED).await;
                    self.canceling = Canceling::Wanted;
                }
                Happened::Canceled(Err(error)) if error.is_transient() => {
                    sleep(NOTED).await;
                    self.canceling = Canceling::Wanted;
                }
                Happened::Canceled(Err(error)) => {
                    self.canceling = Canceling::Over;
                    debug!(agent = self.upstream.name, %error, "the agent behind does not stop");
                    // What is gone needs no stopping.
                    if !is_unknown(&error) {
                        let why = self.upstream.words.error(error);
                        let why = format!("the agent behind does not stop: {}", why.message());
                        self.turn
                            .decline_cancellation(Error::new(ErrorKind::TaskNotCancelable, why));
                    }
                }
                Happened::Quiet => self.keep().await?,
                Happened::CancelWanted => {
                    self.canceling = Canceling::Wanted;
                    following.resolve_task_id();
                }
            }
            self.ask_to_cancel();
            if self.told.state.is_terminal() {
                return Ok(());
            }
        }
        match self.before.take() {
            // It was no question from before: it is the same one again.
            Some(task) => Ok(self.status(task.status, Metadata::new()).await?),
            None if self.answered || self.told.state.is_interrupted() => Ok(()),
            None => Err(AgentFailure::new("the agent behind this one stopped before the end")),
        }
    }

    async fn next(&mut self, following: &mut TaskFollower) -> Happened {
        let Self { turn, canceling, noted, .. } = self;
        let stop = async {
            match canceling {
                Canceling::No => {
                    turn.cancellation_token().cancelled().await;
                    Happened::CancelWanted
                }
                Canceling::Asked(asked) => Happened::Canceled(asked.await),
                Canceling::Wanted | Canceling::Over => pending().await,
            }
        };
        tokio::select! {
            biased;
            told = following.next() => Happened::Told(told),
            happened = stop => happened,
            () = sleep(NOTED), if *noted => Happened::Quiet,
        }
    }

    /// Asks the agent to stop, as soon as it is known what.
    fn ask_to_cancel(&mut self) {
        if let (Canceling::Wanted, Some(id)) = (&self.canceling, self.note.task.clone()) {
            let client = self.client.clone();
            self.canceling = Canceling::Asked(async move { client.cancel_task(id).await }.boxed());
        }
    }

    /// Ends a turn that the agent behind did not end.
    fn fail(&self, error: ClientError) -> Result<(), AgentFailure> {
        if self.turn.is_canceled() {
            return Ok(());
        }
        warn!(agent = self.upstream.name, task = %self.turn.task_id(), %error, "the agent behind failed");
        let unknown = is_unknown(&error);
        let error = self.upstream.words.error(error);
        Err(match () {
            () if unknown => {
                AgentFailure::new("the agent behind this one does not know the task any more")
            }
            () if self.first => AgentFailure::reject_message(error),
            () => AgentFailure::new(error.message()),
        })
    }

    /// Says what an event says.
    async fn tell(&mut self, event: StreamResponse) -> Result<(), TurnError> {
        let first = std::mem::replace(&mut self.first, false);
        self.learn(&event);
        match event {
            StreamResponse::Message(message) => {
                self.answered = true;
                self.turn.direct_reply_with(cleaned(message)).await
            }
            StreamResponse::StatusUpdate(update) => {
                self.before = None;
                self.status(update.status, update.metadata).await
            }
            StreamResponse::ArtifactUpdate(update) => {
                self.before = None;
                self.artifact(update).await
            }
            StreamResponse::Task(task) => {
                let asks = task.status.state.phase() == Phase::Interrupted;
                if first && self.answers && asks {
                    self.before = Some(task);
                    return Ok(());
                }
                self.before = None;
                self.whole(task).await
            }
        }
    }

    /// Learns which task and conversation it is there.
    fn learn(&mut self, event: &StreamResponse) {
        let context = match event {
            StreamResponse::Task(it) => &it.context_id,
            StreamResponse::Message(it) => &it.context_id,
            StreamResponse::StatusUpdate(it) => &it.context_id,
            StreamResponse::ArtifactUpdate(it) => &it.context_id,
        };
        let context = context.clone().or_else(|| self.note.context.clone());
        if self.note.context != context
            && let (Some(theirs), Some(ours)) = (&context, contexts::context(self.turn))
        {
            self.upstream.contexts.learn(ours, theirs.clone());
        }
        let task = match event {
            StreamResponse::Message(_) => self.note.task.clone(),
            _ => event.task_id().cloned(),
        };
        let known = Note { task, context };
        self.noted |= known.task.is_some() && known != self.note;
        self.note = known;
    }

    /// Keeps which task it is there, with whatever is said next.
    async fn keep(&mut self) -> Result<(), TurnError> {
        match std::mem::take(&mut self.noted) {
            true => self.turn.set_note(self.note.write()).await,
            false => Ok(()),
        }
    }

    async fn status(&mut self, status: TaskStatus, metadata: Metadata) -> Result<(), TurnError> {
        let TaskStatus { state, message, .. } = status;
        let metadata = passed_on(&metadata);
        let again = message.as_ref().is_none_or(|it| !self.told.say(it));
        let bare = again && metadata.is_empty();
        let begins = matches!(state, TaskState::Submitted | TaskState::Unspecified);
        if bare && (begins || state == self.told.state) {
            return Ok(());
        }
        self.keep().await?;
        self.told.state = state;
        let message = message.map(|it| Arc::new(cleaned(Arc::unwrap_or_clone(it))));
        let status = TaskStatus { message, ..state.into() };
        let update = TaskStatusUpdateEvent::new(self.turn.task_id().clone(), status);
        self.turn.update_status(TaskStatusUpdateEvent { metadata, ..update }).await
    }

    async fn artifact(&mut self, update: TaskArtifactUpdateEvent) -> Result<(), TurnError> {
        self.keep().await?;
        // More of what was never begun is a beginning.
        let append = update.append && self.told.has(&update.artifact.artifact_id);
        self.told.add(&update.artifact, append);
        let metadata = passed_on(&update.metadata);
        let task_id = self.turn.task_id().clone();
        let update = TaskArtifactUpdateEvent { task_id, append, metadata, ..update };
        self.turn.update_artifact(update).await
    }

    /// Says what a whole task has more than ours.
    async fn whole(&mut self, task: Task) -> Result<(), TurnError> {
        let Task { status, artifacts, history, metadata, .. } = task;
        let last = status.message.as_ref().map(|it| &it.message_id);
        let said: Vec<_> = of_agent(&history)
            .filter(|it| last != Some(&it.message_id) && !self.told.has_said(it))
            // The oldest agents say what they made, too.
            .filter(|it| artifacts.iter().all(|made| made.parts != it.parts))
            .cloned()
            .collect();
        for message in said {
            let working = TaskStatus { message: Some(message), ..TaskState::Working.into() };
            self.status(working, Metadata::new()).await?;
        }
        for artifact in artifacts {
            match self.told.news(&artifact) {
                News::None => {}
                News::All => self.piece(Arc::unwrap_or_clone(artifact), false).await?,
                News::More(parts) => {
                    let id = artifact.artifact_id.clone();
                    let more = Artifact { parts, ..Artifact::new(id, "") };
                    self.piece(more, true).await?;
                }
            }
        }
        let metadata = self.told.news_of_metadata(passed_on(&metadata));
        self.status(status, metadata).await
    }

    async fn piece(&mut self, artifact: Artifact, append: bool) -> Result<(), TurnError> {
        let update = TaskArtifactUpdateEvent::new(self.turn.task_id().clone(), artifact);
        self.artifact(TaskArtifactUpdateEvent { append, ..update }).await
    }
}

impl Drop for Relay<'_> {
    /// Whoever is canceled while the agent behind cannot be told, is told later on.
    fn drop(&mut self) {
        if let Canceling::Wanted | Canceling::Asked(_) = self.canceling
            && !self.told.state.is_terminal()
            && let Some(id) = self.note.task.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(Arc::clone(self.upstream).stop(id));
        }
    }
}

/// What a turn waits for.
enum Happened {
    /// The agent said something, or nothing more will come.
    Told(Result<Option<StreamResponse>, ClientError>),
    /// The agent was asked to stop.
    Canceled(Result<Arc<Task>, ClientError>),
    /// The caller wants it to stop.
    CancelWanted,
    /// Nothing was said for a moment.
    Quiet,
}

/// Whether an agent does not know of a task.
fn is_unknown(error: &ClientError) -> bool {
    matches!(error, ClientError::Agent(it) if it.kind() == ErrorKind::TaskNotFound)
}

/// A message without what only means something there.
fn cleaned(message: Message) -> Message {
    let metadata = passed_on(&message.metadata);
    Message { task_id: None, context_id: None, reference_task_ids: Vec::new(), metadata, ..message }
}
