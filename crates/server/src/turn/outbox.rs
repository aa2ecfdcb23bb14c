//! Events that an executor has emitted and the engine has not stored yet.

use std::sync::Arc;

use latimer_protocol::{
    Content, Message, Part, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent,
};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::TurnError;

/// Entry of an outbox.
#[derive(Debug)]
pub(crate) enum OutboxEntry {
    /// A message instead of a task.
    DirectReply(Message),
    /// A status update. The engine sets its timestamp and context id.
    Status(TaskStatusUpdateEvent),
    /// An artifact or a chunk of one.
    Artifact(TaskArtifactUpdateEvent),
    /// The agent's private note on the task.
    Note(Arc<str>),
    /// A message that the caller sent during the turn, to be stored before its own turn. Emitted by
    /// the engine.
    FollowUp(Arc<Message>),
}

/// Limits of the outbox. A single event may exceed the byte limit.
const MAX_BUFFERED_EVENTS: usize = 256;
const MAX_BUFFERED_BYTES: usize = 1024 * 1024;

/// Bounded buffer that the executor fills and the engine empties.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    /// Notified when an event is added or a task is required.
    not_empty: Notify,
    /// Notified when events were taken or became durable, and when the outbox is closed.
    drained: Notify,
}

#[derive(Debug, Default)]
struct State {
    events: Vec<OutboxEntry>,
    bytes: usize,
    /// Number of events emitted, and how many of them are durable.
    emitted: u64,
    durable: u64,
    closed: Option<TurnError>,
    /// Whether a caller needs the task to exist, even if the agent replies directly.
    task_required: bool,
}

impl Outbox {
    /// Adds an event. Waits while the outbox is full.
    ///
    /// # Errors
    /// Fails if the outbox is closed.
    pub(crate) async fn emit(&self, event: OutboxEntry) -> Result<(), TurnError> {
        let bytes = event.bytes();
        let mut event = Some(event);
        loop {
            let drained = self.drained.notified();
            if self.push(&mut event, bytes)? {
                self.not_empty.notify_one();
                return Ok(());
            }
            drained.await;
        }
    }

    /// Adds the event and returns true if there is room.
    fn push(&self, event: &mut Option<OutboxEntry>, bytes: usize) -> Result<bool, TurnError> {
        let mut state = self.lock();
        if let Some(reason) = state.closed {
            return Err(reason);
        }
        let full =
            state.events.len() >= MAX_BUFFERED_EVENTS || state.bytes + bytes > MAX_BUFFERED_BYTES;
        if full && !state.events.is_empty() {
            return Ok(false);
        }
        if event.as_ref().is_some_and(OutboxEntry::is_last) {
            state.closed = Some(TurnError::Finished);
        }
        state.events.extend(event.take());
        state.bytes += bytes;
        state.emitted += 1;
        Ok(true)
    }

    /// Waits until all events emitted so far are durable.
    ///
    /// # Errors
    /// Fails if the outbox is closed before, unless the agent finished the task: its events are
    /// then still stored.
    pub(crate) async fn flush(&self) -> Result<(), TurnError> {
        let emitted = self.lock().emitted;
        loop {
            let changed = self.drained.notified();
            {
                let state = self.lock();
                match state.closed {
                    _ if state.durable >= emitted => return Ok(()),
                    Some(reason) if reason != TurnError::Finished => return Err(reason),
                    _ => {}
                }
            }
            changed.await;
        }
    }

    /// Requires a task to be stored, even if the agent replies directly.
    pub(crate) fn require_task(&self) {
        self.lock().task_required = true;
        self.not_empty.notify_one();
    }

    pub(crate) fn is_task_required(&self) -> bool {
        self.lock().task_required
    }

    /// Takes all events.
    pub(crate) fn take(&self) -> Vec<OutboxEntry> {
        let mut state = self.lock();
        state.bytes = 0;
        let events = std::mem::take(&mut state.events);
        drop(state);
        if events.len() >= MAX_BUFFERED_EVENTS / 2 {
            self.drained.notify_waiters();
        }
        events
    }

    /// Takes a direct reply if it is the only event.
    pub(crate) fn take_direct_reply(&self) -> Option<Message> {
        let mut state = self.lock();
        if !matches!(state.events.as_slice(), [OutboxEntry::DirectReply(_)]) {
            return None;
        }
        match state.events.pop() {
            Some(OutboxEntry::DirectReply(message)) => Some(message),
            _ => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().events.is_empty()
    }

    /// Returns whether the agent finished the turn or the engine stopped it.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed.is_some()
    }

    /// Waits for an event or a required task. May return although there is neither.
    pub(crate) async fn not_empty(&self) {
        self.not_empty.notified().await;
    }

    /// Records that the next `events` events are durable.
    pub(crate) fn mark_stored(&self, events: usize) {
        self.lock().durable += events as u64;
        self.drained.notify_waiters();
    }

    /// Closes the outbox; later events fail with `reason`. A reason other than
    /// [`TurnError::Finished`] stays once it is set.
    pub(crate) fn close(&self, reason: TurnError) {
        let mut state = self.lock();
        if state.closed.is_none_or(|it| it == TurnError::Finished) {
            state.closed = Some(reason);
        }
        drop(state);
        self.drained.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl OutboxEntry {
    /// Returns whether no event can follow this one.
    fn is_last(&self) -> bool {
        match self {
            Self::DirectReply(_) => true,
            Self::Status(update) => update.status.state.is_terminal(),
            Self::Artifact(_) | Self::Note(_) | Self::FollowUp(_) => false,
        }
    }

    /// Returns the state that the event sets.
    pub(crate) fn state(&self) -> Option<TaskState> {
        match self {
            Self::DirectReply(_) => Some(TaskState::Completed),
            Self::Status(update) => Some(update.status.state),
            Self::Artifact(_) | Self::Note(_) | Self::FollowUp(_) => None,
        }
    }

    fn bytes(&self) -> usize {
        let parts = |parts: &[Part]| parts.iter().map(estimated_part_size).sum();
        match self {
            Self::DirectReply(message) => parts(&message.parts),
            Self::Note(note) => note.len(),
            Self::FollowUp(message) => parts(&message.parts),
            Self::Status(update) => update.status.message.as_ref().map_or(0, |it| parts(&it.parts)),
            Self::Artifact(update) => parts(&update.artifact.parts),
        }
    }
}

/// Estimates the bytes of a part. Structured data counts as a constant, because its size is known
/// only after serialization.
pub(crate) fn estimated_part_size(part: &Part) -> usize {
    match &part.content {
        Content::Text(text) => text.len(),
        Content::Raw(bytes) => bytes.len(),
        Content::Url(url) => url.len(),
        Content::Data(_) => 256,
    }
}
