//! One turn: what was said, and what the agent does about it.

mod artifact;
mod failure;
mod outbox;

use std::sync::Arc;
use std::time::Instant;

use latimer_protocol::{
    Artifact, Caller, ContextId, Error, Message, Metadata, Part, Task, TaskArtifactUpdateEvent,
    TaskId, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use latimer_store::{TaskKey, TaskQuery, TaskStore};
use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;

pub use artifact::ArtifactWriter;
pub use failure::{AgentFailure, TurnError};
pub(crate) use outbox::{Emitted, Outbox, estimated_part_size};

use crate::engine::ids;

/// One message to an agent, and the means to answer it. Cheap to clone; clones are the same turn.
///
/// What is said is buffered, and becomes durable and visible when the agent next waits for
/// something, or ends; what is said back to back travels together. [`Turn::flush`] waits until it is
/// durable.
///
/// ```
/// # use latimer_server::{AgentFailure, Turn};
/// # async fn agent(turn: Turn) -> Result<(), AgentFailure> {
/// turn.progress("looking it up").await?;
/// let mut answer = turn.artifact("answer");
/// answer.push("one").await?;
/// answer.push_last("two").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Turn(Arc<Inner>);

/// Everything a turn is begun with.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) message: Arc<Message>,
    pub(crate) task_id: TaskId,
    pub(crate) context_id: ContextId,
    pub(crate) agent: Arc<str>,
    pub(crate) caller: Caller,
    /// The task as it was when the turn began; none when the turn begins it.
    pub(crate) task: Option<Arc<Task>>,
    pub(crate) note: Option<Arc<str>>,
    pub(crate) starts_context: bool,
    pub(crate) result_only: bool,
    pub(crate) referenced_tasks: Vec<Arc<Task>>,
    pub(crate) metadata: Metadata,
    pub(crate) accepted_output_modes: Vec<String>,
    pub(crate) extensions: Vec<String>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancellation_token: CancellationToken,
    /// Why it is not canceled.
    pub(crate) decline_reason: SetOnce<Error>,
    pub(crate) outbox: Outbox,
    pub(crate) store: Arc<dyn TaskStore>,
}

impl Turn {
    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }

    pub(crate) fn shared_message(&self) -> &Arc<Message> {
        &self.0.message
    }

    /// What was said.
    #[must_use]
    pub fn message(&self) -> &Message {
        &self.0.message
    }

    /// The text of what was said: its text parts, one per line.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.message.text()
    }

    /// The task of the turn. Nobody knows it yet when the turn begins it, and nobody ever will if
    /// the answer is a direct message.
    #[must_use]
    pub fn task_id(&self) -> &TaskId {
        &self.0.task_id
    }

    /// The conversation.
    #[must_use]
    pub fn context_id(&self) -> &ContextId {
        &self.0.context_id
    }

    /// Whether the conversation begins with this message: the caller named none.
    #[must_use]
    pub fn starts_context(&self) -> bool {
        self.0.starts_context
    }

    /// Whether the caller waits for the answer as a whole, and reads no events on the way, nor has them
    /// told to a webhook. Others may come to read them.
    #[must_use]
    pub fn is_result_only(&self) -> bool {
        self.0.result_only
    }

    /// The task as it was when the turn began, with its artifacts; none when the turn begins it.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        self.0.task.as_deref()
    }

    /// What was said in this task before, the oldest first.
    #[must_use]
    pub fn history(&self) -> &[Arc<Message>] {
        self.task().map(|it| it.history.as_slice()).unwrap_or_default()
    }

    /// The tasks that the message refers to, as far as they exist and are the caller's.
    #[must_use]
    pub fn referenced_tasks(&self) -> &[Arc<Task>] {
        &self.0.referenced_tasks
    }

    /// The other tasks of this conversation, the latest first, at most so many: what was said and
    /// made before, for an agent that remembers.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn context_tasks(&self, limit: usize) -> Result<Vec<Arc<Task>>, AgentFailure> {
        let query = TaskQuery {
            owner: self.caller().id().clone(),
            agent: Some(self.agent().clone()),
            excluded_agents: Vec::new(),
            context: Some(self.context_id().clone()),
            state: None,
            status_changed_since: None,
            after: None,
            // This task may be among them.
            limit: limit.saturating_add(1),
        };
        let mut tasks = self.0.store.list(&query).await?.tasks;
        tasks.retain(|it| it.id != *self.task_id());
        tasks.truncate(limit);
        Ok(tasks)
    }

    /// Who asks.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.0.caller
    }

    /// The agent's name.
    #[must_use]
    pub fn agent(&self) -> &Arc<str> {
        &self.0.agent
    }

    /// What the request carries beside the message.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.0.metadata
    }

    /// The media types that the caller can read; any when empty.
    #[must_use]
    pub fn accepted_output_modes(&self) -> &[String] {
        &self.0.accepted_output_modes
    }

    /// The extensions that are active.
    #[must_use]
    pub fn extensions(&self) -> &[String] {
        &self.0.extensions
    }

    /// When the turn must be over, if there is a limit.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.0.deadline
    }

    /// Tells when the caller cancels the task: wait for it, or look at it now and then.
    #[must_use]
    pub fn cancellation_token(&self) -> &CancellationToken {
        &self.0.cancellation_token
    }

    /// Goes on though the task is canceled, and tells whoever cancels it why, until the turn is over.
    /// For agents whose work is done elsewhere, by somebody who does not stop.
    pub fn decline_cancellation(&self, reason: Error) {
        // Who has declined already has said why.
        let _ = self.0.decline_reason.set(reason);
    }

    /// Why the task is not canceled, as soon as the agent says so.
    pub(crate) async fn declined(&self) -> Error {
        self.0.decline_reason.wait().await.clone()
    }

    /// Whether the agent is to stop: the task is canceled, and the agent has not declined.
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        self.0.cancellation_token.is_cancelled() && !self.0.decline_reason.initialized()
    }

    /// Says that the agent is at work. Said by itself before the first artifact.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn set_working(&self) -> Result<(), TurnError> {
        self.set_status(TaskStatus::from(TaskState::Working)).await
    }

    /// Says what the agent is doing.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn progress(&self, text: impl Into<String>) -> Result<(), TurnError> {
        self.set_status(Self::status_with_text(TaskState::Working, text)).await
    }

    /// Answers with a text: an artifact with it, and the task is completed.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn reply(&self, text: impl Into<String>) -> Result<(), TurnError> {
        self.reply_with(Part::text(text)).await
    }

    /// Answers with any part: an artifact with it, and the task is completed.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn reply_with(&self, part: impl Into<Part>) -> Result<(), TurnError> {
        self.add_artifact(Artifact::new(ids::artifact(), part)).await?;
        self.complete().await
    }

    /// Adds a whole artifact.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn add_artifact(&self, artifact: Artifact) -> Result<(), TurnError> {
        let update = TaskArtifactUpdateEvent::new(self.task_id().clone(), artifact);
        self.update_artifact(TaskArtifactUpdateEvent { last_chunk: true, ..update }).await
    }

    /// Begins an artifact that is made piece by piece.
    #[must_use]
    pub fn artifact(&self, name: impl Into<String>) -> ArtifactWriter {
        ArtifactWriter::new(self.clone(), ids::artifact(), name.into())
    }

    /// Adds to an artifact whatever the update says.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn update_artifact(&self, update: TaskArtifactUpdateEvent) -> Result<(), TurnError> {
        self.0.outbox.emit(Emitted::Artifact(update)).await
    }

    /// Answers directly, without a task. When there is a task already, it is completed with this.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn direct_reply(&self, text: impl Into<String>) -> Result<(), TurnError> {
        self.direct_reply_with(Message::agent(ids::message(), Part::text(text))).await
    }

    /// The same with a whole message.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn direct_reply_with(&self, message: Message) -> Result<(), TurnError> {
        self.0.outbox.emit(Emitted::DirectReply(message)).await
    }

    /// Asks the caller for something; its next message to the task is the answer, and a new turn.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn request_input(&self, question: impl Into<String>) -> Result<(), TurnError> {
        self.set_status(Self::status_with_text(TaskState::InputRequired, question)).await
    }

    /// Asks the caller for an authorization. It may come with a message, which is a new turn, or in
    /// another way while this turn goes on.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn request_authorization(&self, prompt: impl Into<String>) -> Result<(), TurnError> {
        self.set_status(Self::status_with_text(TaskState::AuthRequired, prompt)).await
    }

    /// Completes the task. Said by itself when the agent returns.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn complete(&self) -> Result<(), TurnError> {
        self.set_status(TaskStatus::from(TaskState::Completed)).await
    }

    /// Completes the task with a closing word.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn complete_with(&self, text: impl Into<String>) -> Result<(), TurnError> {
        self.set_status(Self::status_with_text(TaskState::Completed, text)).await
    }

    /// Fails the task. The caller reads the reason.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn fail(&self, reason: impl Into<String>) -> Result<(), TurnError> {
        self.set_status(Self::status_with_text(TaskState::Failed, reason)).await
    }

    /// Declines to do the task. The caller reads the reason.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn reject(&self, reason: impl Into<String>) -> Result<(), TurnError> {
        self.set_status(Self::status_with_text(TaskState::Rejected, reason)).await
    }

    /// Sets any status.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn set_status(&self, status: TaskStatus) -> Result<(), TurnError> {
        self.update_status(TaskStatusUpdateEvent::new(self.task_id().clone(), status)).await
    }

    /// The same with metadata.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn update_status(&self, update: TaskStatusUpdateEvent) -> Result<(), TurnError> {
        self.0.outbox.emit(Emitted::Status(update)).await
    }

    /// Keeps a note with the task, in place of the last one: it is durable with the next event, or
    /// soon, and nobody sees it but the agent. What is answered directly leaves no task to keep it
    /// with.
    ///
    /// # Errors
    /// When the turn is over.
    pub async fn set_note(&self, note: impl Into<Arc<str>>) -> Result<(), TurnError> {
        self.0.outbox.emit(Emitted::Note(note.into())).await
    }

    /// The note that an earlier turn of the task kept, or this one before it was interrupted.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.0.note.as_deref()
    }

    /// The note that this agent kept with another task of the caller.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn note_of(&self, task: &TaskId) -> Result<Option<Arc<str>>, AgentFailure> {
        let (caller, agent) = (self.caller().id().clone(), self.agent().clone());
        let stored = self.0.store.load(&TaskKey { owner: caller, agent, id: task.clone() }).await?;
        Ok(stored.and_then(|it| it.header.note))
    }

    /// Waits until everything said so far is durable, and visible to all.
    ///
    /// # Errors
    /// When the turn is over before that.
    pub async fn flush(&self) -> Result<(), TurnError> {
        self.0.outbox.flush().await
    }

    fn status_with_text(state: TaskState, text: impl Into<String>) -> TaskStatus {
        let message = Message::agent(ids::message(), Part::text(text));
        TaskStatus::from(state).with_message(message)
    }
}
