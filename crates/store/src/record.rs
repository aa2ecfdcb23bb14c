//! Stored records.

use std::sync::Arc;

use latimer_protocol::{
    ContextId, Dialect, Event, Message, Revision, Task, TaskId, TaskState, Timestamp,
};

use crate::Webhook;

/// Key of one task. Task ids are unique only per owner and agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskKey {
    /// Principal of the caller that created the task; empty if anonymous.
    pub owner: Arc<str>,
    /// Name of the agent.
    pub agent: Arc<str>,
    /// Task id.
    pub id: TaskId,
}

/// One atomic change of a task: events to append to its log, and the resulting header.
///
/// ```
/// # use std::sync::Arc;
/// # use latimer_protocol::{ContextId, Dialect, Event, Revision, Task, TaskId, TaskState, Timestamp};
/// # use latimer_store::{Append, PendingWork, TaskHeader, TaskKey};
/// let (id, context) = (TaskId::new("t1")?, ContextId::new("c1")?);
/// let task = Task::new(id.clone(), context.clone(), TaskState::Submitted);
/// let create = Append {
///     key: TaskKey { owner: "alice".into(), agent: "echo".into(), id },
///     expected: Revision::START,
///     events: vec![Event::Created(task)],
///     header: TaskHeader {
///         context,
///         state: TaskState::Submitted,
///         status_changed_at: Timestamp::EPOCH,
///         created_in: Dialect::V1_0,
///         pending_work: PendingWork::Queued,
///         note: None,
///     },
///     snapshot: None,
///     idempotency: None,
///     webhook: None,
/// };
/// # let _ = create;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Append {
    /// Key of the task.
    pub key: TaskKey,
    /// Revision of the task's last event; [`Revision::START`] to create the task.
    pub expected: Revision,
    /// Events in order; at least one. The first event of a task is its creation.
    pub events: Vec<Event>,
    /// Header after the events.
    pub header: TaskHeader,
    /// Complete task after the events. Required when the task is terminal or interrupted, and
    /// supplied periodically otherwise, so that loading does not replay a long log.
    pub snapshot: Option<Arc<Task>>,
    /// Record of the message that caused the events, for
    /// [`TaskStore::find_prior_outcome`](crate::TaskStore::find_prior_outcome).
    pub idempotency: Option<IdempotencyRecord>,
    /// Webhook to register together with the events.
    pub webhook: Option<Box<Webhook>>,
}

/// Summary of a task that can be read without its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskHeader {
    /// Context of the task.
    pub context: ContextId,
    /// State of the task.
    pub state: TaskState,
    /// Time of the last status change. Never decreases.
    pub status_changed_at: Timestamp,
    /// Dialect in which the task was created.
    pub created_in: Dialect,
    /// Work that recovery must resume if the process ends.
    pub pending_work: PendingWork,
    /// Private string that the agent stores with the task; never visible to callers.
    pub note: Option<Arc<str>>,
}

/// Work that is pending for a task, and that recovery must resume if the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PendingWork {
    /// No work: the task is terminal or waits for its caller.
    None,
    /// A message has been accepted, and no turn has started for it.
    Queued,
    /// The process that wrote the header is running a turn.
    Running,
    /// A turn is running or waiting, and its agent may still reply with a message instead of the
    /// task. The task is *held*: no list contains it, and [`TaskStore::retract`] can remove it.
    ///
    /// [`TaskStore::retract`]: crate::TaskStore::retract
    Held,
}

/// A loaded task.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTask {
    /// Key of the task.
    pub key: TaskKey,
    /// The task at `revision`.
    pub task: Arc<Task>,
    /// Revision of the last event.
    pub revision: Revision,
    /// Header of the task.
    pub header: TaskHeader,
}

/// One event of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedEvent {
    /// Position of the event in the log, starting at 1.
    pub revision: Revision,
    /// The event.
    pub event: Event,
}

/// Digest of caller, agent, task, message id and content. Two messages with the same key are the
/// same message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyKey(pub [u8; 16]);

/// Key of a message and the time until which a resend returns the first outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdempotencyRecord {
    /// Key of the message.
    pub key: IdempotencyKey,
    /// Time from which the record is ignored and may be deleted.
    pub expires_at: Timestamp,
}

/// Outcome of the first send of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum PriorOutcome {
    /// The message created or continued a task.
    Task {
        /// Key of the task.
        key: TaskKey,
        /// Revision of the last event of the append that recorded the message.
        revision: Revision,
    },
    /// The message was answered with a direct reply.
    DirectReply(Message),
}
