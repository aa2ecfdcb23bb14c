//! A turn: one message and the agent's means to respond.
//!
//! | module | content |
//! | --- | --- |
//! | `artifact` | artifacts written in chunks |
//! | `failure` | errors of agents and of ended turns |
//! | `outbox` | buffer of events between executor and engine |

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
pub(crate) use outbox::{Outbox, OutboxEntry, estimated_part_size};

use crate::engine::ids;

/// One message to an agent and the means to respond. Cheap to clone; clones are the same turn.
///
/// The emitting methods add events to a bounded outbox and wait only while it is full. The engine
/// stores and publishes the buffered events together whenever the executor waits for something, and
/// when it returns. [`Turn::flush`] waits until they are durable. After a terminal state or a
/// direct reply, and after the engine stopped the turn, emitting fails with a [`TurnError`].
/// Dropping the last clone has no effect: the turn ends when the executor returns.
///
/// ```
/// use latimer_protocol::{
///     Call, Message, MessageId, Reply, ReplyKind, Request, SendMessageResponse, TaskState,
/// };
/// use latimer_server::{Server, Turn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::agent("searcher", |turn: Turn| async move {
///     turn.progress(format!("searching for {}", turn.text())).await?;
///     let mut results = turn.artifact("results");
///     results.push("first result, ").await?;
///     results.push_last("second result").await
/// });
///
/// let message = Message::user(MessageId::new("m1")?, "ships");
/// let call = Call::new(Request::SendMessage(message.into()));
/// let response = server.assemble().await?.service().call(call).await?;
///
/// let ReplyKind::Single(Reply::SendMessage(SendMessageResponse::Task(task))) = response.kind else {
///     panic!("expected a task");
/// };
/// assert_eq!(task.status.state, TaskState::Completed);
/// assert_eq!(task.artifacts[0].name.as_deref(), Some("results"));
/// assert_eq!(task.artifacts[0].parts.len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Turn(Arc<Inner>);

/// Data of a turn, fixed when it starts, and its outbox.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) message: Arc<Message>,
    pub(crate) task_id: TaskId,
    pub(crate) context_id: ContextId,
    pub(crate) agent: Arc<str>,
    pub(crate) caller: Caller,
    /// The task before the turn; `None` in the first turn of a task.
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
    /// Error for callers that cancel the task, once the agent has declined.
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

    /// Returns the message.
    #[must_use]
    pub fn message(&self) -> &Message {
        &self.0.message
    }

    /// Returns the text parts of the message, one per line.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.message.text()
    }

    /// Returns the id of the task. A new task is stored with the first event; a direct reply
    /// creates no task, and the id stays unused.
    #[must_use]
    pub fn task_id(&self) -> &TaskId {
        &self.0.task_id
    }

    /// Returns the context of the task.
    #[must_use]
    pub fn context_id(&self) -> &ContextId {
        &self.0.context_id
    }

    /// Returns whether the message started a new context: the caller sent no context id.
    #[must_use]
    pub fn starts_context(&self) -> bool {
        self.0.starts_context
    }

    /// Returns whether the caller waits only for the final result: no stream and no webhook
    /// observes the turn. Other readers may still subscribe later.
    #[must_use]
    pub fn is_result_only(&self) -> bool {
        self.0.result_only
    }

    /// Returns the task before the turn, with its artifacts; `None` in the first turn of a task.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        self.0.task.as_deref()
    }

    /// Returns the messages of the task before this turn, oldest first.
    #[must_use]
    pub fn history(&self) -> &[Arc<Message>] {
        self.task().map(|it| it.history.as_slice()).unwrap_or_default()
    }

    /// Returns the tasks that the message refers to. Contains only existing tasks of this caller,
    /// at most 16.
    #[must_use]
    pub fn referenced_tasks(&self) -> &[Arc<Task>] {
        &self.0.referenced_tasks
    }

    /// Loads the other tasks of this caller and agent in the context, most recently changed first,
    /// at most `limit`. Costs one query of the store.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
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

    /// Returns the authenticated identity of the caller, which may be anonymous.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.0.caller
    }

    /// Returns the name of the agent.
    #[must_use]
    pub fn agent(&self) -> &Arc<str> {
        &self.0.agent
    }

    /// Returns the metadata of the request. The message has its own.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.0.metadata
    }

    /// Returns the media types that the caller accepts; an empty list means all.
    #[must_use]
    pub fn accepted_output_modes(&self) -> &[String] {
        &self.0.accepted_output_modes
    }

    /// Returns the URIs of the active extensions: requested by the caller and supported by the
    /// agent or the server.
    #[must_use]
    pub fn extensions(&self) -> &[String] {
        &self.0.extensions
    }

    /// Returns when the engine stops the turn, if the policy limits it.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.0.deadline
    }

    /// Returns the token that the engine cancels when a caller cancels the task.
    #[must_use]
    pub fn cancellation_token(&self) -> &CancellationToken {
        &self.0.cancellation_token
    }

    /// Declines to cancel the task: the turn continues, and cancel calls fail with `reason` until it
    /// ends. Only the first call has an effect. Meant for agents whose work cannot be stopped, such as
    /// work of an upstream agent.
    pub fn decline_cancellation(&self, reason: Error) {
        // The first reason stays.
        let _ = self.0.decline_reason.set(reason);
    }

    /// Waits until the agent declines to cancel the task, and returns its reason.
    pub(crate) async fn declined(&self) -> Error {
        self.0.decline_reason.wait().await.clone()
    }

    /// Returns whether the agent should stop: a caller canceled the task and the agent has not
    /// declined.
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        self.0.cancellation_token.is_cancelled() && !self.0.decline_reason.initialized()
    }

    /// Sets the state `working`. The engine does this itself before the first artifact.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn set_working(&self) -> Result<(), TurnError> {
        self.set_status(TaskStatus::from(TaskState::Working)).await
    }

    /// Sets the state `working` with a text for the caller.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn progress(&self, text: impl Into<String>) -> Result<(), TurnError> {
        self.set_status(Self::status_with_text(TaskState::Working, text)).await
    }

    /// Adds an artifact with a text and completes the task.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn reply(&self, text: impl Into<String>) -> Result<(), TurnError> {
        self.reply_with(Part::text(text)).await
    }

    /// Adds an artifact with one part and completes the task.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn reply_with(&self, part: impl Into<Part>) -> Result<(), TurnError> {
        self.add_artifact(Artifact::new(ids::artifact(), part)).await?;
        self.complete().await
    }

    /// Adds a complete artifact.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn add_artifact(&self, artifact: Artifact) -> Result<(), TurnError> {
        let update = TaskArtifactUpdateEvent::new(self.task_id().clone(), artifact);
        self.update_artifact(TaskArtifactUpdateEvent { last_chunk: true, ..update }).await
    }

    /// Returns a writer that emits a new artifact in chunks. Emits nothing itself.
    #[must_use]
    pub fn artifact(&self, name: impl Into<String>) -> ArtifactWriter {
        ArtifactWriter::new(self.clone(), ids::artifact(), name.into())
    }

    /// Emits an artifact update: a complete artifact or a chunk.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn update_artifact(&self, update: TaskArtifactUpdateEvent) -> Result<(), TurnError> {
        self.0.outbox.emit(OutboxEntry::Artifact(update)).await
    }

    /// Replies with a text message instead of a task. If the caller already knows the task, the
    /// message completes it.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn direct_reply(&self, text: impl Into<String>) -> Result<(), TurnError> {
        self.direct_reply_with(Message::agent(ids::message(), Part::text(text))).await
    }

    /// Replies with a message instead of a task. If the caller already knows the task, the message
    /// completes it.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn direct_reply_with(&self, message: Message) -> Result<(), TurnError> {
        self.0.outbox.emit(OutboxEntry::DirectReply(message)).await
    }

    /// Sets the state `input-required` with a question. The caller's next message to the task
    /// starts a new turn.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn request_input(&self, question: impl Into<String>) -> Result<(), TurnError> {
        self.set_status(Self::status_with_text(TaskState::InputRequired, question)).await
    }

    /// Sets the state `auth-required` with a prompt. The authorization arrives either with a
    /// message, which starts a new turn, or out of band while this turn continues.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn request_authorization(&self, prompt: impl Into<String>) -> Result<(), TurnError> {
        self.set_status(Self::status_with_text(TaskState::AuthRequired, prompt)).await
    }

    /// Completes the task. The engine does this itself when the executor returns `Ok`.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn complete(&self) -> Result<(), TurnError> {
        self.set_status(TaskStatus::from(TaskState::Completed)).await
    }

    /// Completes the task with a text for the caller.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn complete_with(&self, text: impl Into<String>) -> Result<(), TurnError> {
        self.set_status(Self::status_with_text(TaskState::Completed, text)).await
    }

    /// Fails the task with a reason for the caller.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn fail(&self, reason: impl Into<String>) -> Result<(), TurnError> {
        self.set_status(Self::status_with_text(TaskState::Failed, reason)).await
    }

    /// Rejects the task with a reason for the caller.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn reject(&self, reason: impl Into<String>) -> Result<(), TurnError> {
        self.set_status(Self::status_with_text(TaskState::Rejected, reason)).await
    }

    /// Sets a status. The engine sets its timestamp.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn set_status(&self, status: TaskStatus) -> Result<(), TurnError> {
        self.update_status(TaskStatusUpdateEvent::new(self.task_id().clone(), status)).await
    }

    /// Emits a status update with metadata. The engine sets its timestamp and context id.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn update_status(&self, update: TaskStatusUpdateEvent) -> Result<(), TurnError> {
        self.0.outbox.emit(OutboxEntry::Status(update)).await
    }

    /// Replaces the agent's private note on this task. The note is stored with the next event, or
    /// shortly after if none follows. A direct reply creates no task and discards it.
    ///
    /// # Errors
    /// Fails if the turn has ended.
    pub async fn set_note(&self, note: impl Into<Arc<str>>) -> Result<(), TurnError> {
        self.0.outbox.emit(OutboxEntry::Note(note.into())).await
    }

    /// Returns the note of an earlier turn of the task, or of this turn before a restart
    /// interrupted it. Does not reflect [`Turn::set_note`] of this turn.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.0.note.as_deref()
    }

    /// Loads this agent's note on another task of the caller. Costs one read of the store.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub async fn note_of(&self, task: &TaskId) -> Result<Option<Arc<str>>, AgentFailure> {
        let (caller, agent) = (self.caller().id().clone(), self.agent().clone());
        let stored = self.0.store.load(&TaskKey { owner: caller, agent, id: task.clone() }).await?;
        Ok(stored.and_then(|it| it.header.note))
    }

    /// Waits until all events emitted so far are durable and visible to readers.
    ///
    /// # Errors
    /// Fails if the engine stopped the turn or could not store its events.
    pub async fn flush(&self) -> Result<(), TurnError> {
        self.0.outbox.flush().await
    }

    fn status_with_text(state: TaskState, text: impl Into<String>) -> TaskStatus {
        let message = Message::agent(ids::message(), Part::text(text));
        TaskStatus::from(state).with_message(message)
    }
}
