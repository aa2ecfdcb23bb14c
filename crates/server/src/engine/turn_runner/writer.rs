//! The writer of a task: converts what its agent emits into durable events.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use latimer_protocol::{
    ApplyError, Dialect, Error, Event, Message, MessageId, Part, Revision, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent, Timestamp,
};
use latimer_store::{
    Append, Error as StoreError, IdempotencyRecord, PendingWork, StoredTask, TaskHeader, TaskKey,
    Webhook,
};
use tracing::warn;

use crate::agent::Agent;
use crate::engine::idempotency::ClaimGuard;
use crate::engine::live::{CommittedState, WriterPermit, is_settled};
use crate::engine::{Engine, ids, store_error};
use crate::turn::{OutboxEntry, Turn};

/// Runs one turn and is the only writer of its task.
///
/// Dropping it releases the writer permit and, if no task was stored, its place in the caller's
/// quota.
pub(in crate::engine) struct TurnRunner {
    pub(super) engine: Engine,
    pub(in crate::engine) agent: Arc<Agent>,
    pub(in crate::engine) live: WriterPermit,
    pub(in crate::engine) turn: Turn,
    /// The task with all emitted events, durable or not.
    draft: Arc<Task>,
    /// First event of the turn, until it is in a batch.
    opening_event: Option<Event>,
    /// Whether the log does not show yet that the turn has started.
    start_unreported: bool,
    revision: Revision,
    /// Revision of the task before the turn.
    start_revision: Revision,
    /// Whether the task is stored as a held one.
    held: Option<HeldTaskCount>,
    /// Events of the held task, which readers get once it is visible.
    held_events: Vec<Event>,
    /// State of the task before its follow-up, if it waited for it.
    interrupted_state: Option<TaskState>,
    /// Timestamp of the last status.
    status_changed_at: Timestamp,
    dialect: Dialect,
    /// Idempotency record and claim, until the message has a visible outcome.
    idempotency: Option<(IdempotencyRecord, Arc<ClaimGuard>)>,
    /// Webhook of the message, until the task is visible.
    webhook: Option<Box<Webhook>>,
    /// Revision of the last snapshot in the store.
    snapshot_revision: Revision,
    /// Pending work according to the stored header.
    pending_work: PendingWork,
    /// The agent's private note.
    note: Option<Arc<str>>,
    /// Whether the agent replied directly, so that no task is created.
    pub(super) replied_directly: bool,
    /// Follow-ups in the draft that are not stored yet.
    queued_messages: Vec<MessageId>,
    /// Whether another process changed the task, which then belongs to it.
    pub(super) superseded: bool,
}

/// Events to store, and the state to publish afterwards.
pub(super) struct Batch {
    /// Copies for readers; empty if there are none.
    events: Vec<Event>,
    /// Number of outbox entries in the batch.
    emitted_count: usize,
    append: Append,
    committed: CommittedState,
    progress: TurnProgress,
}

/// Progress of the turn after a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnProgress {
    /// The task is recorded, and its caller cannot see it.
    Held,
    Queued,
    Running,
    Ended,
}

impl TurnRunner {
    /// Creates the runner of a new task's first turn.
    pub(in crate::engine) fn for_new_task(
        engine: Engine,
        agent: Arc<Agent>,
        live: WriterPermit,
        turn: Turn,
        dialect: Dialect,
    ) -> Self {
        let now = ids::now();
        let status = TaskStatus::from(TaskState::Submitted).with_timestamp(now);
        let mut draft = Task::new(turn.task_id().clone(), turn.context_id().clone(), status);
        draft.history.push(Arc::clone(turn.shared_message()));
        let opening_event = Some(Event::Created(draft.clone()));
        live.lock().turn = Some(turn.clone());
        Self {
            engine,
            agent,
            live,
            turn,
            draft: Arc::new(draft),
            opening_event,
            start_unreported: true,
            revision: Revision::START,
            start_revision: Revision::START,
            held: None,
            held_events: Vec::new(),
            interrupted_state: None,
            status_changed_at: now,
            dialect,
            idempotency: None,
            webhook: None,
            snapshot_revision: Revision::START,
            pending_work: PendingWork::None,
            note: None,
            replied_directly: false,
            queued_messages: Vec::new(),
            superseded: false,
        }
    }

    /// Creates the runner of a later turn. `message` is `None` if the log already contains it.
    pub(in crate::engine) fn for_existing_task(
        engine: Engine,
        agent: Arc<Agent>,
        live: WriterPermit,
        turn: Turn,
        stored: StoredTask,
        message: Option<Arc<Message>>,
    ) -> Self {
        let mut state = live.lock();
        state.turn = Some(turn.clone());
        // These belong to an earlier turn.
        state.failure = None;
        state.rejection = None;
        let canceling = state.canceling;
        drop(state);
        if canceling {
            // The canceling call looked for a turn before this one existed.
            turn.cancellation_token().cancel();
            live.update(|_| {});
        }
        let prior_state = stored.header.state;
        Self {
            engine,
            agent,
            live,
            turn,
            draft: stored.task,
            opening_event: message.map(Event::Message),
            start_unreported: true,
            revision: stored.revision,
            start_revision: stored.revision,
            held: None,
            held_events: Vec::new(),
            interrupted_state: Some(prior_state).filter(|it| it.is_interrupted()),
            status_changed_at: stored.header.status_changed_at,
            dialect: stored.header.created_in,
            idempotency: None,
            webhook: None,
            snapshot_revision: stored.revision,
            pending_work: stored.header.pending_work,
            note: stored.header.note,
            replied_directly: false,
            queued_messages: Vec::new(),
            superseded: false,
        }
    }

    /// Stores an idempotency record with the first events and then drops the claim.
    pub(in crate::engine) fn set_idempotency(
        &mut self,
        record: IdempotencyRecord,
        claim: Arc<ClaimGuard>,
    ) {
        self.idempotency = Some((record, claim));
    }

    /// Registers a webhook in the append of the first events.
    pub(in crate::engine) fn set_webhook(&mut self, webhook: Webhook) {
        self.webhook = Some(Box::new(webhook));
    }

    /// Marks the start of the turn as recorded, for turns that a restart interrupted.
    pub(in crate::engine) fn mark_started(&mut self) {
        self.start_unreported = false;
    }

    pub(super) fn state(&self) -> TaskState {
        self.draft.status.state
    }

    /// Returns whether the task is stored, held or visible.
    pub(super) fn is_recorded(&self) -> bool {
        self.revision > Revision::START
    }

    /// Returns whether the task is stored and its caller can see it.
    pub(in crate::engine) fn is_visible(&self) -> bool {
        self.is_recorded() && self.held.is_none()
    }

    /// Returns whether the result of the turn has to be a task.
    pub(super) fn is_task_required(&self) -> bool {
        !self.agent.policy().direct_replies
            || self.is_visible()
            || self.turn.outbox().is_task_required()
    }

    /// Returns whether the log does not show yet that the turn has started.
    pub(super) fn is_start_unreported(&self) -> bool {
        self.start_unreported
    }

    /// Returns whether the stored header has pending work.
    pub(super) fn has_pending_work(&self) -> bool {
        self.pending_work != PendingWork::None
    }

    /// Returns whether no event of the turn is stored.
    pub(super) fn is_unrecorded(&self) -> bool {
        self.opening_event.is_some()
    }

    /// Returns the revision of the task before the turn.
    pub(super) fn start_revision(&self) -> Revision {
        self.start_revision
    }

    /// Returns the state in which the task waited for the message of the turn.
    pub(super) fn interrupted_state(&self) -> Option<TaskState> {
        self.interrupted_state
    }

    /// Returns the message of the current status.
    pub(super) fn status_message(&self) -> Option<Arc<Message>> {
        self.draft.status.message.clone()
    }

    pub(super) fn take_idempotency(&mut self) -> Option<(IdempotencyRecord, Arc<ClaimGuard>)> {
        self.idempotency.take()
    }

    /// Applies emitted events, and then a final status, to the draft. Returns them as a batch, or
    /// `None` if there is nothing to store.
    ///
    /// # Errors
    /// Fails if the task cannot accept an event.
    pub(super) fn apply_emitted(
        &mut self,
        emitted: Vec<OutboxEntry>,
        final_status: Option<TaskStatus>,
        progress: TurnProgress,
    ) -> Result<Option<Batch>, ApplyError> {
        let emitted_count = emitted.len();
        let mut events = Vec::with_capacity(emitted_count + 3);
        let mut now = ids::now().max(self.status_changed_at);
        if let Some(opening_event) = self.opening_event.take() {
            if let Event::Message(message) = &opening_event {
                Arc::make_mut(&mut self.draft).apply(Event::Message(message.clone()))?;
            }
            events.push(opening_event);
        }
        let has_started = !matches!(progress, TurnProgress::Held | TurnProgress::Queued);
        if self.start_unreported && has_started {
            self.start_unreported = false;
            if !implies_start(&emitted, final_status.as_ref()) {
                self.push_status(&mut events, self.status_update(TaskState::Working.into()), now)?;
            }
        }
        let mut note_changed = false;
        for event in emitted {
            now = now.max(self.status_changed_at);
            match event {
                OutboxEntry::Status(update) if self.is_redundant(&update) => {}
                OutboxEntry::Status(update) => self.push_status(&mut events, update, now)?,
                OutboxEntry::Artifact(update) => self.push_artifact(&mut events, update)?,
                OutboxEntry::Note(note) => {
                    self.note = Some(note);
                    note_changed = true;
                }
                OutboxEntry::FollowUp(message) => {
                    self.queued_messages.push(message.message_id.clone());
                    Arc::make_mut(&mut self.draft).apply(Event::Message(message.clone()))?;
                    events.push(Event::Message(message));
                }
                // A task is required, so the message becomes its final status.
                OutboxEntry::DirectReply(message) => {
                    if !self.agent.policy().direct_replies {
                        self.agent.warn_of_direct_reply();
                    }
                    let status = TaskStatus::from(TaskState::Completed).with_message(message);
                    self.push_status(&mut events, self.status_update(status), now)?;
                }
            }
        }
        if let Some(status) = final_status {
            self.push_status(&mut events, self.status_update(status), now)?;
        }
        if note_changed && events.is_empty() && self.state() == TaskState::Working {
            // A note is stored with an event, so one is added.
            self.push_status(&mut events, self.status_update(TaskState::Working.into()), now)?;
        }
        if self.held.is_some() && events.is_empty() && progress != TurnProgress::Held {
            // Only an append makes a task visible.
            self.push_status(&mut events, self.status_update(self.state().into()), now)?;
        }
        if events.is_empty() {
            self.turn.outbox().mark_stored(emitted_count);
            return Ok(None);
        }
        Ok(Some(self.build_batch(events, emitted_count, progress)))
    }

    /// Returns whether a status repeats `working` without a message or metadata.
    fn is_redundant(&self, update: &TaskStatusUpdateEvent) -> bool {
        let is_bare = update.status.message.is_none() && update.metadata.is_empty();
        is_bare && update.status.state == TaskState::Working && self.state() == TaskState::Working
    }

    fn status_update(&self, status: TaskStatus) -> TaskStatusUpdateEvent {
        TaskStatusUpdateEvent::new(self.draft.id.clone(), status)
    }

    fn push_status(
        &mut self,
        events: &mut Vec<Event>,
        mut update: TaskStatusUpdateEvent,
        now: Timestamp,
    ) -> Result<(), ApplyError> {
        update.context_id = self.draft.context_id.clone();
        update.status.timestamp = Some(now);
        if let Some(message) = &mut update.status.message {
            self.assign_ids(Arc::make_mut(message));
        }
        Arc::make_mut(&mut self.draft).apply(Event::Status(update.clone()))?;
        self.status_changed_at = now;
        events.push(Event::Status(update));
        Ok(())
    }

    fn push_artifact(
        &mut self,
        events: &mut Vec<Event>,
        mut update: TaskArtifactUpdateEvent,
    ) -> Result<(), ApplyError> {
        update.context_id = self.draft.context_id.clone();
        if update.artifact.parts.is_empty() {
            // §4.1.7: an artifact has at least one part.
            Arc::make_mut(&mut update.artifact).parts.push(Part::text(""));
        }
        Arc::make_mut(&mut self.draft).apply(Event::Artifact(update.clone()))?;
        events.push(Event::Artifact(update));
        Ok(())
    }

    /// Sets the task and context ids of a message.
    fn assign_ids(&self, message: &mut Message) {
        message.task_id = Some(self.draft.id.clone());
        message.context_id = self.draft.context_id.clone();
    }

    /// Builds the append of events that the draft already contains.
    fn build_batch(
        &mut self,
        mut events: Vec<Event>,
        emitted_count: usize,
        progress: TurnProgress,
    ) -> Batch {
        let state = self.state();
        let revision = Revision::new(self.revision.get() + events.len() as u64);
        self.pending_work = match (state, progress) {
            (state, _) if state.is_terminal() => PendingWork::None,
            (TaskState::InputRequired, _) | (_, TurnProgress::Ended)
                if self.has_queued_messages() =>
            {
                PendingWork::Queued
            }
            (TaskState::InputRequired, _) | (_, TurnProgress::Ended) => PendingWork::None,
            (_, TurnProgress::Running) => PendingWork::Running,
            (_, TurnProgress::Queued) => PendingWork::Queued,
            (_, TurnProgress::Held) => PendingWork::Held,
        };
        let settled = is_settled(state);
        let snapshot = (settled || self.is_snapshot_due(revision)).then(|| {
            self.snapshot_revision = revision;
            Arc::clone(&self.draft)
        });
        let committed = CommittedState {
            revision,
            task_state: state,
            settled: snapshot.clone().filter(|_| settled),
            turn_ends: progress == TurnProgress::Ended || state.is_terminal(),
        };
        let append = Append {
            key: self.key().clone(),
            expected: self.revision,
            events: if self.live.has_readers() {
                events.clone()
            } else {
                std::mem::take(&mut events)
            },
            header: TaskHeader {
                context: self.turn.context_id().clone(),
                state,
                status_changed_at: self.status_changed_at,
                created_in: self.dialect,
                pending_work: self.pending_work,
                note: self.note.clone(),
            },
            snapshot,
            // Those of a held task are stored already.
            idempotency: self
                .idempotency
                .as_ref()
                .filter(|_| self.held.is_none())
                .map(|(record, _)| *record),
            webhook: self.webhook.clone().filter(|_| self.held.is_none()),
        };
        Batch { events, emitted_count, append, committed, progress }
    }

    /// Returns whether follow-ups wait for their turns.
    fn has_queued_messages(&self) -> bool {
        !self.queued_messages.is_empty() || !self.live.lock().queued_messages.is_empty()
    }

    /// Returns whether the append should contain a snapshot. The distance between snapshots grows
    /// with the log, so that writing chunks costs linear and not quadratic space. A load replays at
    /// most 64 events or a fifth of the log.
    fn is_snapshot_due(&self, revision: Revision) -> bool {
        let distance = revision.get() - self.snapshot_revision.get();
        distance >= 64.max(self.snapshot_revision.get() / 4)
    }

    fn key(&self) -> &TaskKey {
        self.live.key()
    }

    /// Appends a batch to the store and then publishes it.
    ///
    /// # Errors
    /// Fails if the store fails or another process changed the task.
    pub(super) async fn store(&mut self, batch: Batch) -> Result<(), Error> {
        let Batch { events, emitted_count, append, committed, progress } = batch;
        if !committed.task_state.is_terminal() {
            self.live.register();
        }
        let appended = self.engine.store().append(append).await;
        if let Err(error) = appended {
            return Err(self.on_append_failed(error));
        }
        self.turn.outbox().mark_stored(emitted_count);
        match progress {
            TurnProgress::Held => {
                self.revision = committed.revision;
                self.held = Some(HeldTaskCount::new(&self.engine));
                self.held_events = events;
            }
            TurnProgress::Queued | TurnProgress::Running | TurnProgress::Ended => {
                self.publish(events, committed);
            }
        }
        Ok(())
    }

    /// Removes the held task, because the agent replied directly or rejected the message.
    ///
    /// # Errors
    /// Fails if the store fails or another process changed the task.
    pub(super) async fn retract(
        &mut self,
        reply: Option<(IdempotencyRecord, &Message)>,
    ) -> Result<(), Error> {
        let retracted = self.engine.store().retract(self.key(), self.revision, reply).await;
        retracted.map_err(|error| self.on_append_failed(error))?;
        self.revision = Revision::START;
        self.held = None;
        self.webhook = None;
        Ok(())
    }

    fn on_append_failed(&mut self, error: StoreError) -> Error {
        let is_superseded =
            matches!(error, StoreError::Conflict { .. } | StoreError::Finished { .. });
        self.superseded |= is_superseded;
        warn!(task = %self.key().id, %error, "events could not be stored");
        store_error(error)
    }

    /// Publishes durable events to readers and webhooks. The task is visible from now on.
    fn publish(&mut self, events: Vec<Event>, committed: CommittedState) {
        self.revision = committed.revision;
        self.held = None;
        let mut published = std::mem::take(&mut self.held_events);
        if events.is_empty() {
            published = events;
        } else {
            published.extend(events);
        }
        // The record is stored: duplicates find it there.
        self.idempotency = None;
        self.live.lock().queued_messages.append(&mut self.queued_messages);
        if committed.task_state.is_terminal() {
            self.engine.quota().release_task(self.key());
        }
        let state = committed.task_state;
        let state_before = self.live.publish(published, committed);
        self.engine.count_waiting(state_before, state);
        match (self.webhook.take(), self.engine.0.dispatcher.get()) {
            (Some(webhook), Some(dispatcher)) => dispatcher.activate(self.key(), &webhook.id),
            _ => self.engine.notify_webhooks(self.key()),
        }
    }
}

impl Drop for TurnRunner {
    fn drop(&mut self) {
        if !self.is_recorded() {
            // No task was stored.
            self.engine.quota().release_task(self.key());
        }
    }
}

/// Counts a held task until it is dropped.
struct HeldTaskCount(Engine);

impl HeldTaskCount {
    fn new(engine: &Engine) -> Self {
        engine.0.held_tasks.fetch_add(1, Ordering::Relaxed);
        Self(engine.clone())
    }
}

impl Drop for HeldTaskCount {
    fn drop(&mut self) {
        self.0.0.held_tasks.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns whether the first event shows that the turn has started, or that it never will.
fn implies_start(emitted: &[OutboxEntry], final_status: Option<&TaskStatus>) -> bool {
    let state = match emitted.iter().find(|it| !matches!(it, OutboxEntry::Note(_))) {
        Some(OutboxEntry::Status(update)) => Some(update.status.state),
        Some(
            OutboxEntry::DirectReply(_)
            | OutboxEntry::Artifact(_)
            | OutboxEntry::Note(_)
            | OutboxEntry::FollowUp(_),
        ) => None,
        None => final_status.map(|it| it.state),
    };
    matches!(state, Some(TaskState::Working | TaskState::Rejected | TaskState::Canceled))
}
