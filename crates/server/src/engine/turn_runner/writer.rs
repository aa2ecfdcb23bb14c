//! The writer of a task: turns what an agent says into durable events.

use std::sync::Arc;

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
use crate::turn::{Emitted, Turn};

/// One turn in progress, and the only writer of its task.
pub(in crate::engine) struct TurnRunner {
    pub(super) engine: Engine,
    pub(in crate::engine) agent: Arc<Agent>,
    pub(in crate::engine) live: WriterPermit,
    pub(in crate::engine) turn: Turn,
    /// The task with everything that was said, durable or not.
    draft: Arc<Task>,
    /// What begins the turn, until it is appended.
    opening_event: Option<Event>,
    /// Whether the turn has not been said to have begun.
    start_unreported: bool,
    revision: Revision,
    /// When the status last changed.
    status_changed_at: Timestamp,
    dialect: Dialect,
    idempotency: Option<(IdempotencyRecord, Arc<ClaimGuard>)>,
    /// A webhook that came with the message, until it is registered with the first events.
    webhook: Option<Box<Webhook>>,
    /// The revision of the last whole task in the store.
    snapshot_revision: Revision,
    /// What the store believes has to be done.
    pending_work: PendingWork,
    /// What the agent keeps with the task.
    note: Option<Arc<str>>,
    /// Whether the answer was direct, and no task is made.
    pub(super) replied_directly: bool,
    /// Messages that came meanwhile, each for a turn of its own, and are not stored yet.
    queued_messages: Vec<MessageId>,
    /// Whether somebody else changed the task, whose it is now.
    pub(super) superseded: bool,
}

/// Events on their way to the store, and what becomes known when they are there.
pub(super) struct Batch {
    /// For readers; none when there are no readers.
    events: Vec<Event>,
    /// How many of them the agent said.
    emitted_count: usize,
    append: Append,
    committed: CommittedState,
}

/// Whether a turn goes on behind a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnProgress {
    Queued,
    Running,
    Ended,
}

impl TurnRunner {
    /// The first turn of a new task.
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

    /// A further turn of a task, with its message unless that was appended before.
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
        // What a former turn failed with is not this one's.
        state.failure = None;
        state.rejection = None;
        let canceling = state.canceling;
        drop(state);
        if canceling {
            // Whoever cancels looked for the turn before it was here.
            turn.cancellation_token().cancel();
            live.update(|_| {});
        }
        Self {
            engine,
            agent,
            live,
            turn,
            draft: stored.task,
            opening_event: message.map(Event::Message),
            start_unreported: true,
            revision: stored.revision,
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

    /// Remembers the message that began the turn, with its first events.
    pub(in crate::engine) fn set_idempotency(
        &mut self,
        record: IdempotencyRecord,
        claim: Arc<ClaimGuard>,
    ) {
        self.idempotency = Some((record, claim));
    }

    /// Registers a webhook with the first events.
    pub(in crate::engine) fn set_webhook(&mut self, webhook: Webhook) {
        self.webhook = Some(Box::new(webhook));
    }

    /// Goes on where a former process was in the middle of a turn.
    pub(in crate::engine) fn mark_started(&mut self) {
        self.start_unreported = false;
    }

    pub(super) fn state(&self) -> TaskState {
        self.draft.status.state
    }

    /// Whether there is a task, for others to see.
    pub(in crate::engine) fn task_exists(&self) -> bool {
        self.revision > Revision::START
    }

    /// Whether the turn has still to be said to have begun.
    pub(super) fn is_start_unreported(&self) -> bool {
        self.start_unreported
    }

    /// Whether the store believes that somebody is at work.
    pub(super) fn has_pending_work(&self) -> bool {
        self.pending_work != PendingWork::None
    }

    /// Whether nothing of the turn is on record.
    pub(super) fn is_unrecorded(&self) -> bool {
        self.opening_event.is_some() && !self.turn.outbox().is_task_required()
    }

    /// What was said with the present status.
    pub(super) fn status_message(&self) -> Option<Arc<Message>> {
        self.draft.status.message.clone()
    }

    pub(super) fn take_idempotency(&mut self) -> Option<(IdempotencyRecord, Arc<ClaimGuard>)> {
        self.idempotency.take()
    }

    /// What the agent said, and then perhaps a last status, as a batch. None when it is nothing.
    pub(super) fn apply_emitted(
        &mut self,
        emitted: Vec<Emitted>,
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
        if self.start_unreported && progress != TurnProgress::Queued {
            self.start_unreported = false;
            if !implies_start(&emitted, final_status.as_ref()) {
                self.push_status(&mut events, self.status_update(TaskState::Working.into()), now)?;
            }
        }
        let mut note_changed = false;
        for event in emitted {
            now = now.max(self.status_changed_at);
            match event {
                Emitted::Status(update) if self.is_redundant(&update) => {}
                Emitted::Status(update) => self.push_status(&mut events, update, now)?,
                Emitted::Artifact(update) => self.push_artifact(&mut events, update)?,
                Emitted::Note(note) => {
                    self.note = Some(note);
                    note_changed = true;
                }
                Emitted::FollowUp(message) => {
                    self.queued_messages.push(message.message_id.clone());
                    Arc::make_mut(&mut self.draft).apply(Event::Message(message.clone()))?;
                    events.push(Event::Message(message));
                }
                // There is a task: what should have been the answer is its last word.
                Emitted::DirectReply(message) => {
                    let status = TaskStatus::from(TaskState::Completed).with_message(message);
                    self.push_status(&mut events, self.status_update(status), now)?;
                }
            }
        }
        if let Some(status) = final_status {
            self.push_status(&mut events, self.status_update(status), now)?;
        }
        if note_changed && events.is_empty() && self.state() == TaskState::Working {
            // A note goes with an event.
            self.push_status(&mut events, self.status_update(TaskState::Working.into()), now)?;
        }
        if events.is_empty() {
            self.turn.outbox().mark_stored(emitted_count);
            return Ok(None);
        }
        Ok(Some(self.build_batch(events, emitted_count, progress)))
    }

    /// Whether a status only says that the work goes on, which is known.
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
            // §4.1.7: an artifact has a part.
            Arc::make_mut(&mut update.artifact).parts.push(Part::text(""));
        }
        Arc::make_mut(&mut self.draft).apply(Event::Artifact(update.clone()))?;
        events.push(Event::Artifact(update));
        Ok(())
    }

    /// Makes a message one of this task and conversation.
    fn assign_ids(&self, message: &mut Message) {
        message.task_id = Some(self.draft.id.clone());
        message.context_id = self.draft.context_id.clone();
    }

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
            idempotency: self.idempotency.as_ref().map(|(record, _)| *record),
            webhook: self.webhook.clone(),
        };
        Batch { events, emitted_count, append, committed }
    }

    /// Whether messages wait for a turn of their own.
    fn has_queued_messages(&self) -> bool {
        !self.queued_messages.is_empty() || !self.live.lock().queued_messages.is_empty()
    }

    /// Whole tasks are written at growing distances, so that a thousand pieces cost a thousand
    /// pieces and not their square, and no load reads more than a part of the log.
    fn is_snapshot_due(&self, revision: Revision) -> bool {
        let distance = revision.get() - self.snapshot_revision.get();
        distance >= 64.max(self.snapshot_revision.get() / 4)
    }

    fn key(&self) -> &TaskKey {
        self.live.key()
    }

    /// Makes a batch durable, and then visible.
    pub(super) async fn store(&mut self, batch: Batch) -> Result<(), Error> {
        let Batch { events, emitted_count, append, committed } = batch;
        if !committed.task_state.is_terminal() {
            self.live.register();
        }
        let appended = self.engine.store().append(append).await;
        self.on_appended(appended.map(|_| (events, emitted_count, committed)))
    }

    /// Makes a batch that has become durable visible.
    fn on_appended(
        &mut self,
        batch: Result<(Vec<Event>, usize, CommittedState), StoreError>,
    ) -> Result<(), Error> {
        let (events, emitted_count, committed) = batch.map_err(|error| {
            let is_superseded =
                matches!(error, StoreError::Conflict { .. } | StoreError::Finished { .. });
            self.superseded |= is_superseded;
            warn!(task = %self.key().id, %error, "events could not be stored");
            store_error(error)
        })?;
        self.revision = committed.revision;
        // It is on record: whoever sends the same again finds it there.
        self.idempotency = None;
        self.live.lock().queued_messages.append(&mut self.queued_messages);
        if committed.task_state.is_terminal() {
            self.engine.quota().release_task(self.key());
        }
        self.live.publish(events, committed);
        match (self.webhook.take(), self.engine.0.dispatcher.get()) {
            (Some(webhook), Some(courier)) => courier.activate(self.key(), &webhook.id),
            _ => self.engine.notify_webhooks(self.key()),
        }
        self.turn.outbox().mark_stored(emitted_count);
        Ok(())
    }
}

impl Drop for TurnRunner {
    fn drop(&mut self) {
        if !self.task_exists() {
            // No task came of it.
            self.engine.quota().release_task(self.key());
        }
    }
}

/// Whether what is said first says by itself that the work has begun, or never will.
fn implies_start(emitted: &[Emitted], final_status: Option<&TaskStatus>) -> bool {
    let state = match emitted.iter().find(|it| !matches!(it, Emitted::Note(_))) {
        Some(Emitted::Status(update)) => Some(update.status.state),
        Some(
            Emitted::DirectReply(_)
            | Emitted::Artifact(_)
            | Emitted::Note(_)
            | Emitted::FollowUp(_),
        ) => None,
        None => final_status.map(|it| it.state),
    };
    matches!(state, Some(TaskState::Working | TaskState::Rejected | TaskState::Canceled))
}
