//! Relaying of upstream events to the local task.

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

use super::mirror::{ArtifactDelta, MirrorState, agent_messages};
use super::outgoing::forwardable_metadata;
use super::upstream::{CallPermit, Upstream};
use crate::peer::redaction::new_reference;
use crate::peer::upstream_ids::{self, UpstreamIds};

/// Time that an unsaved note waits for the next event, which would save it too.
const NOTE_DELAY: Duration = Duration::from_millis(200);

/// Delay before a failed cancel request is repeated.
const CANCEL_RETRY_DELAY: Duration = Duration::from_millis(200);

/// Stream of upstream events that a [`Relay`] reads.
pub(super) trait UpstreamEvents: Send {
    /// Returns the next event; `None` after the last one. Dropping the future loses no event.
    fn next(&mut self) -> impl Future<Output = Result<Option<StreamResponse>, ClientError>> + Send;

    /// Requests an event with the task id as soon as possible, because only a known task can be
    /// canceled.
    fn request_task_id(&self);
}

impl UpstreamEvents for TaskFollower {
    async fn next(&mut self) -> Result<Option<StreamResponse>, ClientError> {
        self.next().await
    }

    fn request_task_id(&self) {
        // The first event of a stream contains the task id.
    }
}

/// State of one turn: ids of the upstream task, and the content of the local task.
pub(super) struct Relay<'a> {
    turn: &'a Turn,
    upstream: &'a Arc<Upstream>,
    client: Client,
    ids: UpstreamIds,
    /// Whether `ids` differs from the stored note.
    note_unsaved: bool,
    mirror: MirrorState,
    /// Snapshot of the question that the message answers, which some agents send again before they
    /// process the answer.
    prior_question: Option<Task>,
    /// Whether no event has arrived yet.
    awaiting_first_event: bool,
    /// Whether the message answers a question of the agent.
    answers_question: bool,
    /// Whether the agent sent a direct reply.
    replied_directly: bool,
    cancel_state: CancelState,
}

/// Progress of a cancellation.
enum CancelState {
    /// Cancellation was not requested.
    None,
    /// Cancellation was requested, and no request has been sent upstream.
    Requested,
    /// A cancel request has been sent upstream.
    InFlight(BoxFuture<'static, Result<Arc<Task>, ClientError>>),
    /// The upstream agent has responded.
    Done,
}

impl<'a> Relay<'a> {
    pub(super) fn new(
        turn: &'a Turn,
        upstream: &'a Arc<Upstream>,
        client: Client,
        ids: UpstreamIds,
    ) -> Self {
        let mirror = turn.task().map(MirrorState::from_task).unwrap_or_default();
        let saved_task_id = turn.note().and_then(UpstreamIds::parse).and_then(|it| it.task);
        let answers_question = turn.task().is_some_and(|it| it.status.state.is_interrupted());
        Self {
            turn,
            upstream,
            client,
            note_unsaved: ids.task.is_some() && ids.task != saved_task_id,
            ids,
            mirror,
            prior_question: None,
            awaiting_first_event: true,
            answers_question,
            replied_directly: false,
            cancel_state: CancelState::None,
        }
    }

    /// Relays events until the task is settled, and forwards a cancellation.
    pub(super) async fn run(
        &mut self,
        mut upstream_events: impl UpstreamEvents,
        permit: &mut CallPermit<'_>,
    ) -> Result<(), AgentFailure> {
        loop {
            let input = self.next_input(&mut upstream_events).await;
            if let RelayInput::Upstream(result) = &input {
                permit.record(result.as_ref().err());
            }
            match input {
                RelayInput::Upstream(Ok(Some(event))) => self.relay_event(event).await?,
                RelayInput::Upstream(Ok(None)) => break,
                RelayInput::Upstream(Err(error)) => return self.fail(error),
                RelayInput::CancelResult(Ok(task)) => {
                    self.cancel_state = CancelState::Done;
                    self.relay_event(StreamResponse::Task(Arc::unwrap_or_clone(task))).await?;
                }
                // The agent has not created the task yet.
                RelayInput::CancelResult(Err(error))
                    if self.awaiting_first_event && is_task_not_found(&error) =>
                {
                    sleep(CANCEL_RETRY_DELAY).await;
                    self.cancel_state = CancelState::Requested;
                }
                RelayInput::CancelResult(Err(error)) if error.is_transient() => {
                    sleep(CANCEL_RETRY_DELAY).await;
                    self.cancel_state = CancelState::Requested;
                }
                RelayInput::CancelResult(Err(error)) => {
                    self.cancel_state = CancelState::Done;
                    let reference = new_reference();
                    debug!(
                        agent = self.upstream.name,
                        reference,
                        %error,
                        "upstream agent rejected the cancellation"
                    );
                    // A task that does not exist needs no cancellation.
                    if !is_task_not_found(&error) {
                        let caller_error =
                            self.upstream.redactor.to_caller_error(error, &reference);
                        let message = format!(
                            "the upstream agent rejected the cancellation: {}",
                            caller_error.message()
                        );
                        self.turn.decline_cancellation(Error::new(
                            ErrorKind::TaskNotCancelable,
                            message,
                        ));
                    }
                }
                RelayInput::Idle => self.save_note().await?,
                RelayInput::CancelRequested => {
                    self.cancel_state = CancelState::Requested;
                    upstream_events.request_task_id();
                }
            }
            self.send_cancel_request();
            if self.mirror.state.is_terminal() {
                return Ok(());
            }
        }
        match self.prior_question.take() {
            // Not a repetition: the agent asked the same question again.
            Some(task) => Ok(self.relay_status(task.status, Metadata::new()).await?),
            None if self.replied_directly || self.mirror.state.is_interrupted() => Ok(()),
            None => Err(AgentFailure::new(
                "the upstream agent ended the stream before the task finished",
            )),
        }
    }

    async fn next_input(&mut self, upstream_events: &mut impl UpstreamEvents) -> RelayInput {
        let Self { turn, cancel_state, note_unsaved, .. } = self;
        let cancellation = async {
            match cancel_state {
                CancelState::None => {
                    turn.cancellation_token().cancelled().await;
                    RelayInput::CancelRequested
                }
                CancelState::InFlight(response) => RelayInput::CancelResult(response.await),
                CancelState::Requested | CancelState::Done => pending().await,
            }
        };
        tokio::select! {
            biased;
            result = upstream_events.next() => RelayInput::Upstream(result),
            input = cancellation => input,
            () = sleep(NOTE_DELAY), if *note_unsaved => RelayInput::Idle,
        }
    }

    /// Sends a requested cancellation upstream, once the task id is known.
    fn send_cancel_request(&mut self) {
        if let (CancelState::Requested, Some(task_id)) = (&self.cancel_state, self.ids.task.clone())
        {
            let client = self.client.clone();
            self.cancel_state =
                CancelState::InFlight(async move { client.cancel_task(task_id).await }.boxed());
        }
    }

    /// Ends the turn after an upstream error. Succeeds if the turn was canceled.
    fn fail(&self, error: ClientError) -> Result<(), AgentFailure> {
        if self.turn.is_canceled() {
            return Ok(());
        }
        let (agent, task, reference) = (&self.upstream.name, self.turn.task_id(), new_reference());
        warn!(agent, %task, reference, %error, "upstream agent failed");
        let task_not_found = is_task_not_found(&error);
        let error = self.upstream.redactor.to_caller_error(error, &reference);
        Err(match () {
            () if task_not_found => AgentFailure::new("the upstream agent no longer has this task"),
            () if self.awaiting_first_event => AgentFailure::reject_message(error),
            () => AgentFailure::new(error.message()),
        })
    }

    /// Relays one event.
    async fn relay_event(&mut self, event: StreamResponse) -> Result<(), TurnError> {
        let is_first = std::mem::replace(&mut self.awaiting_first_event, false);
        self.record_ids(&event);
        match event {
            StreamResponse::Message(message) => {
                self.replied_directly = true;
                self.turn.direct_reply_with(to_local_message(message)).await
            }
            StreamResponse::StatusUpdate(update) => {
                self.prior_question = None;
                self.relay_status(update.status, update.metadata).await
            }
            StreamResponse::ArtifactUpdate(update) => {
                self.prior_question = None;
                self.relay_artifact_update(update).await
            }
            StreamResponse::Task(task) => {
                let is_question = task.status.state.phase() == Phase::Interrupted;
                if is_first && self.answers_question && is_question {
                    self.prior_question = Some(task);
                    return Ok(());
                }
                self.prior_question = None;
                self.relay_snapshot(task).await
            }
        }
    }

    /// Records the upstream task and context ids of an event.
    fn record_ids(&mut self, event: &StreamResponse) {
        let context = match event {
            StreamResponse::Task(it) => &it.context_id,
            StreamResponse::Message(it) => &it.context_id,
            StreamResponse::StatusUpdate(it) => &it.context_id,
            StreamResponse::ArtifactUpdate(it) => &it.context_id,
        };
        let context = context.clone().or_else(|| self.ids.context.clone());
        if self.ids.context != context
            && let (Some(upstream_id), Some(derived_id)) =
                (&context, upstream_ids::context_id(self.turn))
        {
            self.upstream.context_cache.insert(derived_id, upstream_id.clone());
        }
        let task = match event {
            StreamResponse::Message(_) => self.ids.task.clone(),
            _ => event.task_id().cloned(),
        };
        let ids = UpstreamIds { task, context };
        self.note_unsaved |= ids.task.is_some() && ids != self.ids;
        self.ids = ids;
    }

    /// Sets the note of the local task if `ids` has changed. The store writes it with the next
    /// event.
    async fn save_note(&mut self) -> Result<(), TurnError> {
        match std::mem::take(&mut self.note_unsaved) {
            true => self.turn.set_note(self.ids.to_json()).await,
            false => Ok(()),
        }
    }

    async fn relay_status(
        &mut self,
        status: TaskStatus,
        metadata: Metadata,
    ) -> Result<(), TurnError> {
        let TaskStatus { state, message, .. } = status;
        let metadata = forwardable_metadata(&metadata);
        let is_repeated = message.as_ref().is_none_or(|it| !self.mirror.record_message(it));
        let is_empty = is_repeated && metadata.is_empty();
        let is_initial = matches!(state, TaskState::Submitted | TaskState::Unspecified);
        if is_empty && (is_initial || state == self.mirror.state) {
            return Ok(());
        }
        self.save_note().await?;
        self.mirror.state = state;
        let message = message.map(|it| Arc::new(to_local_message(Arc::unwrap_or_clone(it))));
        let status = TaskStatus { message, ..state.into() };
        let update = TaskStatusUpdateEvent::new(self.turn.task_id().clone(), status);
        self.turn.update_status(TaskStatusUpdateEvent { metadata, ..update }).await
    }

    async fn relay_artifact_update(
        &mut self,
        update: TaskArtifactUpdateEvent,
    ) -> Result<(), TurnError> {
        self.save_note().await?;
        // An append to an unknown artifact creates it.
        let append = update.append && self.mirror.has_artifact(&update.artifact.artifact_id);
        self.mirror.record_artifact(&update.artifact, append);
        let metadata = forwardable_metadata(&update.metadata);
        let task_id = self.turn.task_id().clone();
        let update = TaskArtifactUpdateEvent { task_id, append, metadata, ..update };
        self.turn.update_artifact(update).await
    }

    /// Relays everything that an upstream snapshot adds to the local task.
    async fn relay_snapshot(&mut self, task: Task) -> Result<(), TurnError> {
        let Task { status, artifacts, history, metadata, .. } = task;
        let status_message_id = status.message.as_ref().map(|it| &it.message_id);
        let missing_messages: Vec<_> = agent_messages(&history)
            .filter(|it| status_message_id != Some(&it.message_id) && !self.mirror.has_message(it))
            // Agents of version 0.1 repeat their artifacts as messages.
            .filter(|it| artifacts.iter().all(|artifact| artifact.parts != it.parts))
            .cloned()
            .collect();
        for message in missing_messages {
            let working = TaskStatus { message: Some(message), ..TaskState::Working.into() };
            self.relay_status(working, Metadata::new()).await?;
        }
        for artifact in artifacts {
            match self.mirror.artifact_delta(&artifact) {
                ArtifactDelta::Unchanged => {}
                ArtifactDelta::Replace => {
                    self.relay_artifact(Arc::unwrap_or_clone(artifact), false).await?
                }
                ArtifactDelta::Append(parts) => {
                    let id = artifact.artifact_id.clone();
                    let chunk = Artifact { parts, ..Artifact::new(id, "") };
                    self.relay_artifact(chunk, true).await?;
                }
            }
        }
        let metadata = self.mirror.metadata_delta(forwardable_metadata(&metadata));
        self.relay_status(status, metadata).await
    }

    async fn relay_artifact(&mut self, artifact: Artifact, append: bool) -> Result<(), TurnError> {
        let update = TaskArtifactUpdateEvent::new(self.turn.task_id().clone(), artifact);
        self.relay_artifact_update(TaskArtifactUpdateEvent { append, ..update }).await
    }
}

impl Drop for Relay<'_> {
    /// Continues an unfinished cancellation in the background.
    fn drop(&mut self) {
        if let CancelState::Requested | CancelState::InFlight(_) = self.cancel_state
            && !self.mirror.state.is_terminal()
            && let Some(task_id) = self.ids.task.take()
            && let Ok(runtime) = Handle::try_current()
        {
            self.upstream.start_cancel_task(task_id, &runtime);
        }
    }
}

/// Input of a relay.
enum RelayInput {
    /// An upstream event, the end of the stream, or an error.
    Upstream(Result<Option<StreamResponse>, ClientError>),
    /// The response to the cancel request.
    CancelResult(Result<Arc<Task>, ClientError>),
    /// The local task is being canceled.
    CancelRequested,
    /// No event arrived within [`NOTE_DELAY`].
    Idle,
}

/// Returns whether the upstream agent has no task with this id.
fn is_task_not_found(error: &ClientError) -> bool {
    matches!(error, ClientError::Agent(it) if it.kind() == ErrorKind::TaskNotFound)
}

/// Returns a message without upstream ids and local metadata.
fn to_local_message(message: Message) -> Message {
    let metadata = forwardable_metadata(&message.metadata);
    Message { task_id: None, context_id: None, reference_task_ids: Vec::new(), metadata, ..message }
}
