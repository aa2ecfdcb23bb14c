//! In-memory state that the writer and the readers of a task share.
//!
//! A [`LiveTask`] contains nothing that the store lacks, except the state of the running turn. It
//! exists only while a [`LiveTaskRef`] to it exists.

mod live_tasks;
mod permit;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use latimer_protocol::{
    Error, Event, Message, MessageId, Part, Revision, SharedEvent, StreamResponse, Task, TaskState,
    TaskStatus,
};
use latimer_store::{StoredTask, TaskKey};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, Semaphore};

pub(crate) use self::live_tasks::{LiveTaskRef, LiveTasks, Subscription};
pub(in crate::engine) use self::permit::WriterPermit;

use crate::turn::{Turn, estimated_part_size};

/// A task with a running turn or a reader.
#[derive(Debug)]
pub(crate) struct LiveTask {
    key: TaskKey,
    state: Mutex<State>,
    changed: Notify,
    /// One permit: turns run one at a time, in order of arrival.
    writer_permits: Semaphore,
    /// Whether [`LiveTasks`] contains the task.
    registered: AtomicBool,
    ref_count: AtomicUsize,
}

/// State of a live task. Its readers see only durable events.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Revision of the last durable event.
    pub(crate) revision: Revision,
    pub(crate) task_state: TaskState,
    /// The task at `revision`, if it is settled.
    pub(crate) settled: Option<Arc<Task>>,
    /// The running turn.
    pub(crate) turn: Option<Turn>,
    /// Whether a caller is canceling the task. No new turn starts then.
    pub(crate) canceling: bool,
    /// The message that the agent replied with instead of a task.
    pub(crate) direct_reply: Option<Message>,
    /// Error of the store that ended the turn.
    pub(crate) failure: Option<Error>,
    /// Rejection of the message of the last turn.
    pub(crate) rejection: Option<Rejection>,
    /// Messages in the log whose turns have not started.
    pub(crate) queued_messages: Vec<MessageId>,
    readers: usize,
    tail: VecDeque<(Revision, BufferedEvent)>,
    /// Estimated bytes of the events in `tail`.
    tail_bytes: usize,
}

/// Error with which an agent rejected a message.
#[derive(Clone, Debug)]
pub(crate) struct Rejection {
    /// Revision of the task before the message.
    pub(crate) after: Revision,
    pub(crate) error: Error,
}

/// A recent event in the buffer of a live task.
#[derive(Clone, Debug)]
pub(crate) enum BufferedEvent {
    /// An event that streams contain.
    Streamed(SharedEvent),
    /// A message that only the history of the task contains.
    HistoryOnly(Arc<Message>),
}

/// Limits of the buffer for readers. Readers that fall behind it read from the store.
const MAX_TAIL_EVENTS: usize = 256;
const MAX_TAIL_BYTES: usize = 1024 * 1024;

/// Result of reading the events after a revision.
pub(crate) enum ReadResult {
    /// The next events.
    Events(Vec<(Revision, BufferedEvent)>),
    /// The next event is no longer buffered.
    NotBuffered,
    /// There are no events yet.
    Pending,
    /// The task is terminal and all events were read.
    Ended,
    /// The agent replied directly.
    DirectReply(Message),
    /// The events of the turn could not be stored.
    Failed(Error),
}

/// Maximum number of events per read.
const READ_BATCH: usize = 64;

impl LiveTask {
    fn new(key: TaskKey, state: State, permits: usize) -> Self {
        Self {
            key,
            state: Mutex::new(state),
            changed: Notify::new(),
            writer_permits: Semaphore::new(permits),
            registered: AtomicBool::new(false),
            ref_count: AtomicUsize::new(1),
        }
    }

    pub(crate) fn key(&self) -> &TaskKey {
        &self.key
    }

    pub(crate) fn writer_permits(&self) -> &Semaphore {
        &self.writer_permits
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Changes the state and wakes all waiters.
    pub(crate) fn update(&self, update: impl FnOnce(&mut State)) {
        update(&mut self.lock());
        self.changed.notify_waiters();
    }

    /// Updates the state from a stored task, if that is newer.
    pub(crate) fn sync_from_store(&self, stored: &StoredTask) {
        let mut state = self.lock();
        if state.revision < stored.revision {
            state.revision = stored.revision;
            state.task_state = stored.header.state;
            let settled = is_settled(stored.header.state);
            state.settled = settled.then(|| stored.task.clone());
            drop(state);
            self.changed.notify_waiters();
        }
    }

    /// Publishes events that have become durable. `events` may be empty if there are no readers.
    /// Returns the state of the task before them.
    pub(crate) fn publish(&self, events: Vec<Event>, committed: CommittedState) -> TaskState {
        let mut state = self.lock();
        let state_before = state.task_state;
        if state.readers > 0 {
            let first = committed.revision.get() + 1 - events.len() as u64;
            let revisions = (first..).map(Revision::new);
            state.buffer_events(revisions.zip(events.into_iter().map(BufferedEvent::from)));
        }
        if state.revision <= committed.revision {
            state.revision = committed.revision;
            state.task_state = committed.task_state;
            state.settled = committed.settled;
        }
        if committed.turn_ends {
            state.turn = None;
        }
        drop(state);
        self.changed.notify_waiters();
        state_before
    }

    /// Returns the events after a revision.
    pub(crate) fn read_after(&self, after: Revision) -> ReadResult {
        let state = self.lock();
        if after < state.revision {
            let first = state.tail.front().map(|(revision, _)| revision.get());
            let skip = first.and_then(|first| after.next().get().checked_sub(first));
            let skip = skip.and_then(|it| usize::try_from(it).ok()).unwrap_or(usize::MAX);
            if skip >= state.tail.len() {
                return ReadResult::NotBuffered;
            }
            return ReadResult::Events(
                state.tail.iter().skip(skip).take(READ_BATCH).cloned().collect(),
            );
        }
        match (&state.direct_reply, &state.failure) {
            (Some(message), _) => ReadResult::DirectReply(message.clone()),
            (None, Some(failure)) => ReadResult::Failed(failure.clone()),
            (None, None) if state.task_state.is_terminal() => ReadResult::Ended,
            (None, None) => ReadResult::Pending,
        }
    }

    /// Returns whether the task has subscriptions.
    pub(crate) fn has_readers(&self) -> bool {
        self.lock().readers > 0
    }

    /// Waits until `check` returns a value. Checks the current state first, then after each change.
    pub(crate) async fn wait_for<T>(&self, mut check: impl FnMut(&State) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the check, so that no change between the two is missed.
            changed.as_mut().enable();
            if let Some(value) = check(&self.lock()) {
                return value;
            }
            changed.await;
        }
    }
}

impl State {
    fn buffer_events(&mut self, events: impl Iterator<Item = (Revision, BufferedEvent)>) {
        for (revision, event) in events {
            self.tail_bytes += event.bytes();
            self.tail.push_back((revision, event));
        }
        while self.tail.len() > MAX_TAIL_EVENTS
            || (self.tail_bytes > MAX_TAIL_BYTES && self.tail.len() > 1)
        {
            let Some((_, oldest)) = self.tail.pop_front() else { break };
            self.tail_bytes -= oldest.bytes();
        }
    }
}

impl BufferedEvent {
    fn bytes(&self) -> usize {
        let status = |it: &TaskStatus| it.message.as_ref().map_or(0, |it| parts_size(&it.parts));
        match self {
            Self::HistoryOnly(message) => parts_size(&message.parts),
            Self::Streamed(event) => match event.event() {
                StreamResponse::Task(it) => {
                    it.history.iter().map(|it| parts_size(&it.parts)).sum::<usize>()
                        + status(&it.status)
                }
                StreamResponse::Message(it) => parts_size(&it.parts),
                StreamResponse::StatusUpdate(it) => status(&it.status),
                StreamResponse::ArtifactUpdate(it) => parts_size(&it.artifact.parts),
            },
        }
    }
}

fn parts_size(parts: &[Part]) -> usize {
    parts.iter().map(estimated_part_size).sum()
}

impl From<Event> for BufferedEvent {
    fn from(event: Event) -> Self {
        match event {
            Event::Message(message) => Self::HistoryOnly(message),
            Event::Created(task) => Self::Streamed(StreamResponse::Task(task).into()),
            Event::Status(update) => Self::Streamed(StreamResponse::StatusUpdate(update).into()),
            Event::Artifact(update) => {
                Self::Streamed(StreamResponse::ArtifactUpdate(update).into())
            }
        }
    }
}

impl State {
    /// Returns the error of the rejected message that was sent after a revision.
    pub(crate) fn rejection_after(&self, after: Revision) -> Option<&Error> {
        self.rejection.as_ref().filter(|it| it.after == after).map(|it| &it.error)
    }

    /// Removes a message from the queued ones when its turn starts. Returns whether the log already
    /// contains it.
    pub(crate) fn take_queued(&mut self, message: &MessageId) -> bool {
        let index = self.queued_messages.iter().position(|it| it == message);
        index.map(|index| self.queued_messages.remove(index)).is_some()
    }

    /// Returns whether the task cannot continue without its caller.
    pub(crate) fn is_idle(&self) -> bool {
        match self.task_state {
            TaskState::InputRequired => true,
            TaskState::AuthRequired => self.turn.is_none(),
            state => state.is_terminal(),
        }
    }
}

/// State of a task after an append.
#[derive(Debug)]
pub(crate) struct CommittedState {
    pub(crate) revision: Revision,
    pub(crate) task_state: TaskState,
    pub(crate) settled: Option<Arc<Task>>,
    pub(crate) turn_ends: bool,
}

/// Returns whether a blocking send returns in this state.
pub(crate) fn is_settled(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}
