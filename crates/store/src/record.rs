//! What is kept.

use std::sync::Arc;

use latimer_protocol::{
    ContextId, Dialect, Event, Message, Revision, Task, TaskId, TaskState, Timestamp,
};

use crate::Webhook;

/// Names one task: two callers, or two agents, may each have a task of the same id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskKey {
    /// Who made it.
    pub owner: Arc<str>,
    /// Which agent it was made for.
    pub agent: Arc<str>,
    /// Its id.
    pub id: TaskId,
}

/// Events to append to the log of one task.
#[derive(Clone, Debug)]
pub struct Append {
    /// The task.
    pub key: TaskKey,
    /// The revision of its last event so far; [`Revision::START`] to create it.
    pub expected: Revision,
    /// What happened, in order; at least one event. The first of a task is its creation.
    pub events: Vec<Event>,
    /// The task's header behind the events.
    pub header: TaskHeader,
    /// The whole task behind the events. Always there when it is interrupted or over, and otherwise
    /// now and then, so that no long log has to be read to load it.
    pub snapshot: Option<Arc<Task>>,
    /// The message that brought this about, for
    /// [`TaskStore::find_prior_outcome`](crate::TaskStore::find_prior_outcome).
    pub idempotency: Option<IdempotencyRecord>,
    /// A webhook that came with the message: registered with the events, or not at all.
    pub webhook: Option<Box<Webhook>>,
}

/// What is known about a task without reading its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskHeader {
    /// Its conversation.
    pub context: ContextId,
    /// Its state.
    pub state: TaskState,
    /// When its status last changed. Never goes back.
    pub status_changed_at: Timestamp,
    /// The dialect in which it was begun.
    pub created_in: Dialect,
    /// Whether somebody has to do something about it.
    pub pending_work: PendingWork,
    /// What its agent keeps with it, and nobody else sees.
    pub note: Option<Arc<str>>,
}

/// Whether somebody has to do something about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PendingWork {
    /// Nobody: it is over, or waits for its caller.
    None,
    /// It was accepted, and nobody has begun yet.
    Queued,
    /// The process that wrote this is at it.
    Running,
}

/// A task as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTask {
    /// Whose and which it is.
    pub key: TaskKey,
    /// The task.
    pub task: Arc<Task>,
    /// The revision of its last event.
    pub revision: Revision,
    /// Its header.
    pub header: TaskHeader,
}

/// One event of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedEvent {
    /// Its number.
    pub revision: Revision,
    /// What happened.
    pub event: Event,
}

/// Identifies a message that somebody sent, so that the same one is recognised when it comes again:
/// a digest of its caller, its agent, its task, its id and its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyKey(pub [u8; 16]);

/// A message to remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdempotencyRecord {
    /// Which message.
    pub key: IdempotencyKey,
    /// When it may be forgotten.
    pub expires_at: Timestamp,
}

/// What came of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum PriorOutcome {
    /// A task: the events up to this revision answer it, or come before.
    Task {
        /// The task.
        key: TaskKey,
        /// The last event of the append that remembers the message.
        revision: Revision,
    },
    /// A direct answer.
    DirectReply(Message),
}
