//! Tasks that somebody works on, or watches.
//!
//! A [`Live`] is where the writer of a task and its readers meet. It holds nothing that is not in the
//! store, and exists only while somebody needs it: each user has a [`Guard`], and the last one to go
//! takes it away.

mod lives;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use latimer_protocol::{
    Error, Event, Message, MessageId, Part, Revision, SharedEvent, StreamResponse, Task, TaskState,
    TaskStatus,
};
use latimer_store::{StoredTask, TaskKey};
use tokio::sync::{Notify, Semaphore};

pub(crate) use lives::{Guard, Lives, Watch};

use crate::turn::{Turn, size};

/// A task that somebody works on, or watches.
#[derive(Debug)]
pub(crate) struct Live {
    key: TaskKey,
    state: Mutex<State>,
    changed: Notify,
    /// One turn at a time, in the order in which they came.
    turns: Semaphore,
    /// Whether others can find it.
    listed: AtomicBool,
    users: AtomicUsize,
}

/// What is durable of a task, as far as its readers need it at hand.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The last durable event.
    pub(crate) revision: Revision,
    pub(crate) status: TaskState,
    /// The task at `revision`, when it is interrupted or over.
    pub(crate) settled: Option<Arc<Task>>,
    /// The turn that goes on.
    pub(crate) turn: Option<Turn>,
    /// Somebody wants it canceled, and no other turn may begin.
    pub(crate) canceling: bool,
    /// What was answered instead of making a task.
    pub(crate) answer: Option<Message>,
    /// Why nothing more will come.
    pub(crate) failure: Option<Error>,
    /// Why the agent did not take the message of the last turn, of which nothing is left.
    pub(crate) refused: Option<Error>,
    /// Messages that are in the log and whose turn has not come.
    pub(crate) heard: Vec<MessageId>,
    readers: usize,
    tail: VecDeque<(Revision, Recent)>,
    /// Roughly how much the tail holds.
    tail_bytes: usize,
}

/// A recent event.
#[derive(Clone, Debug)]
pub(crate) enum Recent {
    /// One that streams show.
    Shown(SharedEvent),
    /// One that only shows in the history.
    Said(Arc<Message>),
}

/// How many recent events, and bytes of them, are kept for readers that keep up. Others read the
/// store.
const TAIL: usize = 256;
const TAIL_BYTES: usize = 1024 * 1024;

/// What a reader at some revision finds.
pub(crate) enum Next {
    /// These events.
    Events(Vec<(Revision, Recent)>),
    /// Older events than are at hand.
    Older,
    /// Nothing yet.
    Wait,
    /// Nothing, ever.
    End,
    /// A direct answer.
    Answer(Message),
    /// That it failed.
    Failed(Error),
}

/// How many events a reader takes at once.
const BATCH: usize = 64;

impl Live {
    fn new(key: TaskKey, state: State, turns: usize) -> Self {
        Self {
            key,
            state: Mutex::new(state),
            changed: Notify::new(),
            turns: Semaphore::new(turns),
            listed: AtomicBool::new(false),
            users: AtomicUsize::new(1),
        }
    }

    pub(crate) fn key(&self) -> &TaskKey {
        &self.key
    }

    pub(crate) fn turns(&self) -> &Semaphore {
        &self.turns
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known, and tells everybody who waits.
    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_waiters();
    }

    /// Takes over what the store says, if it is news.
    pub(crate) fn learn(&self, stored: &StoredTask) {
        let mut state = self.lock();
        if state.revision < stored.revision {
            state.revision = stored.revision;
            state.status = stored.header.state;
            let settled = is_settled(stored.header.state);
            state.settled = settled.then(|| stored.task.clone());
            drop(state);
            self.changed.notify_waiters();
        }
    }

    /// Makes events known that have become durable; none are given when nobody watched.
    pub(crate) fn publish(&self, events: Vec<Event>, now: Published) {
        let mut state = self.lock();
        if state.readers > 0 {
            let first = now.revision.get() + 1 - events.len() as u64;
            let numbers = (first..).map(Revision::new);
            state.remember(numbers.zip(events.into_iter().map(Recent::from)));
        }
        if state.revision <= now.revision {
            state.revision = now.revision;
            state.status = now.status;
            state.settled = now.settled;
        }
        if now.turn_ends {
            state.turn = None;
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// What there is behind a revision.
    pub(crate) fn next(&self, after: Revision) -> Next {
        let state = self.lock();
        if after < state.revision {
            let first = state.tail.front().map(|(revision, _)| revision.get());
            let skip = first.and_then(|first| after.next().get().checked_sub(first));
            let skip = skip.and_then(|it| usize::try_from(it).ok()).unwrap_or(usize::MAX);
            if skip >= state.tail.len() {
                return Next::Older;
            }
            return Next::Events(state.tail.iter().skip(skip).take(BATCH).cloned().collect());
        }
        match (&state.answer, &state.failure) {
            (Some(answer), _) => Next::Answer(answer.clone()),
            (None, Some(failure)) => Next::Failed(failure.clone()),
            (None, None) if state.status.is_terminal() => Next::End,
            (None, None) => Next::Wait,
        }
    }

    /// Whether somebody reads events.
    pub(crate) fn is_watched(&self) -> bool {
        self.lock().readers > 0
    }

    /// Waits until `look` finds something.
    pub(crate) async fn until<T>(&self, mut look: impl FnMut(&State) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            if let Some(found) = look(&self.lock()) {
                return found;
            }
            changed.await;
        }
    }
}

impl State {
    fn remember(&mut self, events: impl Iterator<Item = (Revision, Recent)>) {
        for (revision, event) in events {
            self.tail_bytes += event.bytes();
            self.tail.push_back((revision, event));
        }
        while self.tail.len() > TAIL || (self.tail_bytes > TAIL_BYTES && self.tail.len() > 1) {
            let Some((_, oldest)) = self.tail.pop_front() else { break };
            self.tail_bytes -= oldest.bytes();
        }
    }
}

impl Recent {
    fn bytes(&self) -> usize {
        let status = |it: &TaskStatus| it.message.as_ref().map_or(0, |it| parts(&it.parts));
        match self {
            Self::Said(message) => parts(&message.parts),
            Self::Shown(event) => match event.event() {
                StreamResponse::Task(it) => {
                    it.history.iter().map(|it| parts(&it.parts)).sum::<usize>() + status(&it.status)
                }
                StreamResponse::Message(it) => parts(&it.parts),
                StreamResponse::StatusUpdate(it) => status(&it.status),
                StreamResponse::ArtifactUpdate(it) => parts(&it.artifact.parts),
            },
        }
    }
}

fn parts(parts: &[Part]) -> usize {
    parts.iter().map(size).sum()
}

impl From<Event> for Recent {
    fn from(event: Event) -> Self {
        match event {
            Event::Message(message) => Self::Said(message),
            Event::Created(task) => Self::Shown(StreamResponse::Task(task).into()),
            Event::Status(update) => Self::Shown(StreamResponse::StatusUpdate(update).into()),
            Event::Artifact(update) => Self::Shown(StreamResponse::ArtifactUpdate(update).into()),
        }
    }
}

impl State {
    /// Whether a message is in the log already, now that its turn comes.
    pub(crate) fn serve(&mut self, message: &MessageId) -> bool {
        let place = self.heard.iter().position(|it| it == message);
        place.map(|place| self.heard.remove(place)).is_some()
    }

    /// Whether nothing more is to be expected without the caller.
    pub(crate) fn is_quiet(&self) -> bool {
        match self.status {
            TaskState::InputRequired => true,
            TaskState::AuthRequired => self.turn.is_none(),
            state => state.is_terminal(),
        }
    }
}

/// What an append changes for readers.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) revision: Revision,
    pub(crate) status: TaskState,
    pub(crate) settled: Option<Arc<Task>>,
    pub(crate) turn_ends: bool,
}

/// Whether a blocking send answers in this state.
pub(crate) fn is_settled(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}
