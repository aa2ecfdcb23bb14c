//! The writer of a task: turns what an agent says into durable events.

use std::sync::Arc;

use latimer_protocol::{
    ApplyError, Dialect, Error, Event, Message, MessageId, Part, Revision, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent, Timestamp,
};
use latimer_store::{
    Append, Error as StoreError, IdempotencyRecord, PendingWork as Needed, StoredTask, TaskHeader,
    TaskKey, Webhook,
};
use tracing::warn;

use super::floor::Floor;
use super::live::{Published, is_settled};
use super::repeat::Ticket;
use super::{Engine, ids, unavailable};
use crate::agent::Agent;
use crate::turn::{Emitted, Turn};

/// One turn in progress, and the only writer of its task.
pub(super) struct Work {
    pub(super) engine: Engine,
    pub(super) agent: Arc<Agent>,
    pub(super) live: Floor,
    pub(super) turn: Turn,
    /// The task with everything that was said, durable or not.
    draft: Arc<Task>,
    /// What begins the turn, until it is appended.
    opening: Option<Event>,
    /// Whether the turn has not been said to have begun.
    unstarted: bool,
    revision: Revision,
    /// When the status last changed.
    updated: Timestamp,
    dialect: Dialect,
    sent: Option<(IdempotencyRecord, Arc<Ticket>)>,
    /// A webhook that came with the message, until it is registered with the first events.
    webhook: Option<Box<Webhook>>,
    /// The revision of the last whole task in the store.
    snapshot: Revision,
    /// What the store believes has to be done.
    needed: Needed,
    /// What the agent keeps with the task.
    note: Option<Arc<str>>,
    /// Whether the answer was direct, and no task is made.
    pub(super) answered: bool,
    /// Messages that came meanwhile, each for a turn of its own, and are not stored yet.
    heard: Vec<MessageId>,
    /// Whether somebody else changed the task, whose it is now.
    pub(super) lost: bool,
}

/// Events on their way to the store, and what becomes known when they are there.
pub(super) struct Batch {
    /// For readers; none when there are no readers.
    events: Vec<Event>,
    /// How many of them the agent said.
    said: usize,
    append: Append,
    published: Published,
}

/// Whether a turn goes on behind a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turning {
    Waits,
    GoesOn,
    Ends,
}

impl Work {
    /// The first turn of a new task.
    pub(super) fn begin(
        engine: Engine,
        agent: Arc<Agent>,
        live: Floor,
        turn: Turn,
        dialect: Dialect,
    ) -> Self {
        let now = ids::now();
        let status = TaskStatus::from(TaskState::Submitted).with_timestamp(now);
        let mut draft = Task::new(turn.task_id().clone(), turn.context_id().clone(), status);
        draft.history.push(Arc::clone(turn.shared_message()));
        let opening = Some(Event::Created(draft.clone()));
        live.lock().turn = Some(turn.clone());
        Self {
            engine,
            agent,
            live,
            turn,
            draft: Arc::new(draft),
            opening,
            unstarted: true,
            revision: Revision::START,
            updated: now,
            dialect,
            sent: None,
            webhook: None,
            snapshot: Revision::START,
            needed: Needed::None,
            note: None,
            answered: false,
            heard: Vec::new(),
            lost: false,
        }
    }

    /// A further turn of a task, with its message unless that was appended before.
    pub(super) fn resume(
        engine: Engine,
        agent: Arc<Agent>,
        live: Floor,
        turn: Turn,
        stored: StoredTask,
        message: Option<Arc<Message>>,
    ) -> Self {
        let mut state = live.lock();
        state.turn = Some(turn.clone());
        // What a former turn failed with is not this one's.
        state.failure = None;
        state.refused = None;
        let canceling = state.canceling;
        drop(state);
        if canceling {
            // Whoever cancels looked for the turn before it was here.
            turn.cancelled().cancel();
            live.change(|_| {});
        }
        Self {
            engine,
            agent,
            live,
            turn,
            draft: stored.task,
            opening: message.map(Event::Message),
            unstarted: true,
            revision: stored.revision,
            updated: stored.header.status_changed_at,
            dialect: stored.header.created_in,
            sent: None,
            webhook: None,
            snapshot: stored.revision,
            needed: stored.header.pending_work,
            note: stored.header.note,
            answered: false,
            heard: Vec::new(),
            lost: false,
        }
    }

    /// Remembers the message that began the turn, with its first events.
    pub(super) fn remember(&mut self, sent: IdempotencyRecord, ticket: Arc<Ticket>) {
        self.sent = Some((sent, ticket));
    }

    /// Registers a webhook with the first events.
    pub(super) fn register(&mut self, webhook: Webhook) {
        self.webhook = Some(Box::new(webhook));
    }

    /// Goes on where a former process was in the middle of a turn.
    pub(super) fn already_started(&mut self) {
        self.unstarted = false;
    }

    pub(super) fn state(&self) -> TaskState {
        self.draft.status.state
    }

    /// Whether there is a task, for others to see.
    pub(super) fn exists(&self) -> bool {
        self.revision > Revision::START
    }

    /// Whether the turn has still to be said to have begun.
    pub(super) fn is_unstarted(&self) -> bool {
        self.unstarted
    }

    /// Whether the store believes that somebody is at work.
    pub(super) fn is_needed(&self) -> bool {
        self.needed != Needed::None
    }

    /// Whether nothing of the turn is on record.
    pub(super) fn is_untold(&self) -> bool {
        self.opening.is_some() && !self.turn.outbox().is_forced()
    }

    /// What was said with the present status.
    pub(super) fn status_message(&self) -> Option<Arc<Message>> {
        self.draft.status.message.clone()
    }

    pub(super) fn take_ticket(&mut self) -> Option<(IdempotencyRecord, Arc<Ticket>)> {
        self.sent.take()
    }

    /// What the agent said, and then perhaps a last status, as a batch. None when it is nothing.
    pub(super) fn batch(
        &mut self,
        emitted: Vec<Emitted>,
        last: Option<TaskStatus>,
        turning: Turning,
    ) -> Result<Option<Batch>, ApplyError> {
        let said = emitted.len();
        let mut events = Vec::with_capacity(said + 3);
        let mut now = ids::now().max(self.updated);
        if let Some(opening) = self.opening.take() {
            if let Event::Message(message) = &opening {
                Arc::make_mut(&mut self.draft).apply(Event::Message(message.clone()))?;
            }
            events.push(opening);
        }
        if self.unstarted && turning != Turning::Waits {
            self.unstarted = false;
            if !begins(&emitted, last.as_ref()) {
                self.add(&mut events, self.status(TaskState::Working.into()), now)?;
            }
        }
        let mut noted = false;
        for event in emitted {
            now = now.max(self.updated);
            match event {
                Emitted::Status(update) if self.says_nothing(&update) => {}
                Emitted::Status(update) => self.add(&mut events, update, now)?,
                Emitted::Artifact(update) => self.add_artifact(&mut events, update)?,
                Emitted::Note(note) => {
                    self.note = Some(note);
                    noted = true;
                }
                Emitted::Heard(message) => {
                    self.heard.push(message.message_id.clone());
                    Arc::make_mut(&mut self.draft).apply(Event::Message(message.clone()))?;
                    events.push(Event::Message(message));
                }
                // There is a task: what should have been the answer is its last word.
                Emitted::Say(message) => {
                    let status = TaskStatus::from(TaskState::Completed).with_message(message);
                    self.add(&mut events, self.status(status), now)?;
                }
            }
        }
        if let Some(status) = last {
            self.add(&mut events, self.status(status), now)?;
        }
        if noted && events.is_empty() && self.state() == TaskState::Working {
            // A note goes with an event.
            self.add(&mut events, self.status(TaskState::Working.into()), now)?;
        }
        if events.is_empty() {
            self.turn.outbox().stored(said);
            return Ok(None);
        }
        Ok(Some(self.pack(events, said, turning)))
    }

    /// Whether a status only says that the work goes on, which is known.
    fn says_nothing(&self, update: &TaskStatusUpdateEvent) -> bool {
        let bare = update.status.message.is_none() && update.metadata.is_empty();
        bare && update.status.state == TaskState::Working && self.state() == TaskState::Working
    }

    fn status(&self, status: TaskStatus) -> TaskStatusUpdateEvent {
        TaskStatusUpdateEvent::new(self.draft.id.clone(), status)
    }

    fn add(
        &mut self,
        events: &mut Vec<Event>,
        mut update: TaskStatusUpdateEvent,
        now: Timestamp,
    ) -> Result<(), ApplyError> {
        update.context_id = self.draft.context_id.clone();
        update.status.timestamp = Some(now);
        if let Some(message) = &mut update.status.message {
            self.adopt(Arc::make_mut(message));
        }
        Arc::make_mut(&mut self.draft).apply(Event::Status(update.clone()))?;
        self.updated = now;
        events.push(Event::Status(update));
        Ok(())
    }

    fn add_artifact(
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
    fn adopt(&self, message: &mut Message) {
        message.task_id = Some(self.draft.id.clone());
        message.context_id = self.draft.context_id.clone();
    }

    fn pack(&mut self, mut events: Vec<Event>, said: usize, turning: Turning) -> Batch {
        let state = self.state();
        let revision = Revision::new(self.revision.get() + events.len() as u64);
        self.needed = match (state, turning) {
            (state, _) if state.is_terminal() => Needed::None,
            (TaskState::InputRequired, _) | (_, Turning::Ends) if self.has_more() => Needed::Queued,
            (TaskState::InputRequired, _) | (_, Turning::Ends) => Needed::None,
            (_, Turning::GoesOn) => Needed::Running,
            (_, Turning::Waits) => Needed::Queued,
        };
        let settled = is_settled(state);
        let snapshot = (settled || self.is_snapshot_due(revision)).then(|| {
            self.snapshot = revision;
            Arc::clone(&self.draft)
        });
        let published = Published {
            revision,
            status: state,
            settled: snapshot.clone().filter(|_| settled),
            turn_ends: turning == Turning::Ends || state.is_terminal(),
        };
        let append = Append {
            key: self.key().clone(),
            expected: self.revision,
            events: if self.live.is_watched() {
                events.clone()
            } else {
                std::mem::take(&mut events)
            },
            header: TaskHeader {
                context: self.turn.context_id().clone(),
                state,
                status_changed_at: self.updated,
                created_in: self.dialect,
                pending_work: self.needed,
                note: self.note.clone(),
            },
            snapshot,
            idempotency: self.sent.as_ref().map(|(sent, _)| *sent),
            webhook: self.webhook.clone(),
        };
        Batch { events, said, append, published }
    }

    /// Whether messages wait for a turn of their own.
    fn has_more(&self) -> bool {
        !self.heard.is_empty() || !self.live.lock().heard.is_empty()
    }

    /// Whole tasks are written at growing distances, so that a thousand pieces cost a thousand
    /// pieces and not their square, and no load reads more than a part of the log.
    fn is_snapshot_due(&self, revision: Revision) -> bool {
        let distance = revision.get() - self.snapshot.get();
        distance >= 64.max(self.snapshot.get() / 4)
    }

    fn key(&self) -> &TaskKey {
        self.live.key()
    }

    /// Makes a batch durable, and then visible.
    pub(super) async fn store(&mut self, batch: Batch) -> Result<(), Error> {
        let Batch { events, said, append, published } = batch;
        if !published.status.is_terminal() {
            self.live.list();
        }
        let appended = self.engine.store().append(append).await;
        self.stored(appended.map(|_| (events, said, published)))
    }

    /// Makes a batch that has become durable visible.
    fn stored(
        &mut self,
        batch: Result<(Vec<Event>, usize, Published), StoreError>,
    ) -> Result<(), Error> {
        let (events, said, published) = batch.map_err(|error| {
            let changed =
                matches!(error, StoreError::Conflict { .. } | StoreError::Finished { .. });
            self.lost |= changed;
            warn!(task = %self.key().id, %error, "events could not be stored");
            unavailable(error)
        })?;
        self.revision = published.revision;
        // It is on record: whoever sends the same again finds it there.
        self.sent = None;
        self.live.lock().heard.append(&mut self.heard);
        if published.status.is_terminal() {
            self.engine.shares().end(self.key());
        }
        self.live.publish(events, published);
        match (self.webhook.take(), self.engine.0.courier.get()) {
            (Some(webhook), Some(courier)) => courier.take_on(self.key(), &webhook.id),
            _ => self.engine.happened(self.key()),
        }
        self.turn.outbox().stored(said);
        Ok(())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if !self.exists() {
            // No task came of it.
            self.engine.shares().end(self.key());
        }
    }
}

/// Whether what is said first says by itself that the work has begun, or never will.
fn begins(emitted: &[Emitted], last: Option<&TaskStatus>) -> bool {
    let state = match emitted.iter().find(|it| !matches!(it, Emitted::Note(_))) {
        Some(Emitted::Status(update)) => Some(update.status.state),
        Some(Emitted::Say(_) | Emitted::Artifact(_) | Emitted::Note(_) | Emitted::Heard(_)) => None,
        None => last.map(|it| it.state),
    };
    matches!(state, Some(TaskState::Working | TaskState::Rejected | TaskState::Canceled))
}
