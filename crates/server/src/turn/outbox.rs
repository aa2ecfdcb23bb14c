//! What an agent said and nobody has stored yet.

use std::sync::{Arc, Mutex, MutexGuard};

use latimer_protocol::{
    Content, Message, Part, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent,
};
use tokio::sync::Notify;

use super::TurnError;
use crate::sync::lock_unpoisoned;

/// Something an agent said.
#[derive(Debug)]
pub(crate) enum Emitted {
    /// A direct answer.
    DirectReply(Message),
    /// A new status. Its time and its conversation are the engine's to fill in.
    Status(TaskStatusUpdateEvent),
    /// An artifact, or a piece of one.
    Artifact(TaskArtifactUpdateEvent),
    /// What the agent keeps with the task, for itself.
    Note(Arc<str>),
    /// Not the agent's: its caller said something more, which is for the next turn.
    FollowUp(Arc<Message>),
}

/// How many events, and bytes, may wait to be stored before the agent has to.
const MAX_BUFFERED_EVENTS: usize = 256;
const MAX_BUFFERED_BYTES: usize = 1024 * 1024;

/// Between an agent and the engine. The agent fills it, the engine empties it.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    /// There is something to store.
    not_empty: Notify,
    /// There is room again, or something became durable, or it was closed.
    drained: Notify,
}

#[derive(Debug, Default)]
struct State {
    events: Vec<Emitted>,
    bytes: usize,
    /// How many events were said, and how many of them are durable.
    emitted: u64,
    durable: u64,
    closed: Option<TurnError>,
    /// Somebody needs the task to exist, whatever the agent says.
    task_required: bool,
}

impl Outbox {
    /// Adds an event as soon as there is room.
    pub(crate) async fn emit(&self, event: Emitted) -> Result<(), TurnError> {
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

    /// Adds the event if there is room.
    fn push(&self, event: &mut Option<Emitted>, bytes: usize) -> Result<bool, TurnError> {
        let mut state = self.lock();
        if let Some(reason) = state.closed {
            return Err(reason);
        }
        let full =
            state.events.len() >= MAX_BUFFERED_EVENTS || state.bytes + bytes > MAX_BUFFERED_BYTES;
        if full && !state.events.is_empty() {
            return Ok(false);
        }
        if event.as_ref().is_some_and(Emitted::is_last) {
            state.closed = Some(TurnError::Finished);
        }
        state.events.extend(event.take());
        state.bytes += bytes;
        state.emitted += 1;
        Ok(true)
    }

    /// Waits until everything said so far is durable.
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

    /// Makes the task exist, whatever the agent says.
    pub(crate) fn require_task(&self) {
        self.lock().task_required = true;
        self.not_empty.notify_one();
    }

    pub(crate) fn is_task_required(&self) -> bool {
        self.lock().task_required
    }

    /// Takes everything, and makes room.
    pub(crate) fn take(&self) -> Vec<Emitted> {
        let mut state = self.lock();
        state.bytes = 0;
        let events = std::mem::take(&mut state.events);
        drop(state);
        if events.len() >= MAX_BUFFERED_EVENTS / 2 {
            self.drained.notify_waiters();
        }
        events
    }

    /// Takes a direct answer, if there is nothing else.
    pub(crate) fn take_direct_reply(&self) -> Option<Message> {
        let mut state = self.lock();
        if !matches!(state.events.as_slice(), [Emitted::DirectReply(_)]) {
            return None;
        }
        match state.events.pop() {
            Some(Emitted::DirectReply(message)) => Some(message),
            _ => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().events.is_empty()
    }

    /// Waits until there is something to take. May return without.
    pub(crate) async fn not_empty(&self) {
        self.not_empty.notified().await;
    }

    /// Says that as many events more are durable.
    pub(crate) fn mark_stored(&self, events: usize) {
        self.lock().durable += events as u64;
        self.drained.notify_waiters();
    }

    /// Takes no more events, for this reason.
    pub(crate) fn close(&self, reason: TurnError) {
        let mut state = self.lock();
        if state.closed.is_none_or(|it| it == TurnError::Finished) {
            state.closed = Some(reason);
        }
        drop(state);
        self.drained.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock_unpoisoned(&self.state)
    }
}

impl Emitted {
    /// Whether nothing can follow.
    fn is_last(&self) -> bool {
        match self {
            Self::DirectReply(_) => true,
            Self::Status(update) => update.status.state.is_terminal(),
            Self::Artifact(_) | Self::Note(_) | Self::FollowUp(_) => false,
        }
    }

    /// The state that it puts the task in.
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

/// Roughly how much a part holds. Data counts for little: its size is not known without writing it.
pub(crate) fn estimated_part_size(part: &Part) -> usize {
    match &part.content {
        Content::Text(text) => text.len(),
        Content::Raw(bytes) => bytes.len(),
        Content::Url(url) => url.len(),
        Content::Data(_) => 256,
    }
}
