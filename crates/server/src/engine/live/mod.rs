//! Tasks that somebody works on, or watches.
//!
//! A [`LiveTask`] is where the writer of a task and its readers meet. It holds nothing that is not in the
//! store, and exists only while somebody needs it: each user has a [`LiveTaskRef`], and the last one to go
//! takes it away.

mod live_tasks;
mod permit;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard};

use latimer_protocol::{
    Error, Event, Message, MessageId, Part, Revision, SharedEvent, StreamResponse, Task, TaskState,
    TaskStatus,
};
use latimer_store::{StoredTask, TaskKey};
use tokio::sync::{Notify, Semaphore};

pub(crate) use self::live_tasks::{LiveTaskRef, LiveTasks, Subscription};
pub(in crate::engine) use self::permit::WriterPermit;

use crate::sync::lock_unpoisoned;
use crate::turn::{Turn, estimated_part_size};

/// A task that somebody works on, or watches.
#[derive(Debug)]
pub(crate) struct LiveTask {
    key: TaskKey,
    state: Mutex<State>,
    changed: Notify,
    /// One turn at a time, in the order in which they came.
    writer_permits: Semaphore,
    /// Whether others can find it.
    registered: AtomicBool,
    ref_count: AtomicUsize,
}

/// What is durable of a task, as far as its readers need it at hand.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The last durable event.
    pub(crate) revision: Revision,
    pub(crate) task_state: TaskState,
    /// The task at `revision`, when it is interrupted or over.
    pub(crate) settled: Option<Arc<Task>>,
    /// The turn that goes on.
    pub(crate) turn: Option<Turn>,
    /// Somebody wants it canceled, and no other turn may begin.
    pub(crate) canceling: bool,
    /// What was answered instead of making a task.
    pub(crate) direct_reply: Option<Message>,
    /// Why nothing more will come.
    pub(crate) failure: Option<Error>,
    /// Why the agent did not take the message of the last turn, of which nothing is left.
    pub(crate) rejection: Option<Error>,
    /// Messages that are in the log and whose turn has not come.
    pub(crate) queued_messages: Vec<MessageId>,
    readers: usize,
    tail: VecDeque<(Revision, BufferedEvent)>,
    /// Roughly how much the tail holds.
    tail_bytes: usize,
}

/// A recent event.
#[derive(Clone, Debug)]
pub(crate) enum BufferedEvent {
    /// One that streams show.
    Streamed(SharedEvent),
    /// One that only shows in the history.
    HistoryOnly(Arc<Message>),
}

/// How many recent events, and bytes of them, are kept for readers that keep up. Others read the
/// store.
const MAX_TAIL_EVENTS: usize = 256;
const MAX_TAIL_BYTES: usize = 1024 * 1024;

/// What a reader at some revision finds.
pub(crate) enum ReadResult {
    /// These events.
    Events(Vec<(Revision, BufferedEvent)>),
    /// Older events than are at hand.
    NotBuffered,
    /// Nothing yet.
    Pending,
    /// Nothing, ever.
    Ended,
    /// A direct answer.
    DirectReply(Message),
    /// That it failed.
    Failed(Error),
}

/// How many events a reader takes at once.
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
        lock_unpoisoned(&self.state)
    }

    /// Changes what is known, and tells everybody who waits.
    pub(crate) fn update(&self, update: impl FnOnce(&mut State)) {
        update(&mut self.lock());
        self.changed.notify_waiters();
    }

    /// Takes over what the store says, if it is news.
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

    /// Makes events known that have become durable; none are given when nobody watched.
    pub(crate) fn publish(&self, events: Vec<Event>, committed: CommittedState) {
        let mut state = self.lock();
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
    }

    /// What there is behind a revision.
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

    /// Whether somebody reads events.
    pub(crate) fn has_readers(&self) -> bool {
        self.lock().readers > 0
    }

    /// Waits until `look` finds something.
    pub(crate) async fn wait_for<T>(&self, mut check: impl FnMut(&State) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
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
    /// Whether a message is in the log already, now that its turn comes.
    pub(crate) fn take_queued(&mut self, message: &MessageId) -> bool {
        let index = self.queued_messages.iter().position(|it| it == message);
        index.map(|index| self.queued_messages.remove(index)).is_some()
    }

    /// Whether nothing more is to be expected without the caller.
    pub(crate) fn is_idle(&self) -> bool {
        match self.task_state {
            TaskState::InputRequired => true,
            TaskState::AuthRequired => self.turn.is_none(),
            state => state.is_terminal(),
        }
    }
}

/// What an append changes for readers.
#[derive(Debug)]
pub(crate) struct CommittedState {
    pub(crate) revision: Revision,
    pub(crate) task_state: TaskState,
    pub(crate) settled: Option<Arc<Task>>,
    pub(crate) turn_ends: bool,
}

/// Whether a blocking send answers in this state.
pub(crate) fn is_settled(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}
