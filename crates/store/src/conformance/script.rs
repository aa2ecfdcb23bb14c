//! What happens to a task in a check, and what must come of it.

use std::sync::Arc;

use latimer_protocol::{
    Artifact, ArtifactId, ContextId, Dialect, Event, Message, MessageId, Part, Revision, Task,
    TaskArtifactUpdateEvent, TaskId, TaskState, TaskStatus, TaskStatusUpdateEvent, Timestamp,
};

use crate::{
    Append, Header, Key, Logged, Query, Retention, Sent, SentKey, Stored, TaskStore, Work,
};

/// Room for everything a check does.
pub(super) const ROOMY: Retention = Retention::DISK;

/// The log of one task as it should be, and appends that make it longer.
#[derive(Clone)]
pub(super) struct Script {
    pub(super) key: Key,
    pub(super) events: Vec<Event>,
    pub(super) header: Header,
    pub(super) task: Task,
}

impl Script {
    /// A task that is not there yet, of a caller and an agent.
    pub(super) fn of(caller: &str, agent: &str, id: &str) -> Self {
        let id = TaskId::new(id).expect("an id");
        let context = context("context");
        let header = Header {
            context: context.clone(),
            state: TaskState::Submitted,
            updated: time(0),
            dialect: Dialect::V1_0,
            work: Work::Waiting,
            note: None,
        };
        let task = Task::new(id.clone(), context, TaskState::Submitted);
        let key = Key { caller: caller.into(), agent: agent.into(), id };
        Self { key, events: Vec::new(), header, task }
    }

    /// A task of the usual caller and agent.
    pub(super) fn new(id: &str) -> Self {
        Self::of("caller", "agent", id)
    }

    /// The same task in another conversation.
    pub(super) fn in_context(mut self, name: &str) -> Self {
        self.header.context = context(name);
        self.task.context_id = Some(context(name));
        self
    }

    /// The task comes into being.
    pub(super) fn create(&mut self, at: i64) -> Append {
        self.then(vec![self.creation(at)])
    }

    /// The task comes into being, and ends at once.
    pub(super) fn create_finished(&mut self, at: i64) -> Append {
        self.then(vec![
            self.creation(at),
            self.status(TaskState::Working, at),
            self.piece("answer"),
            self.status(TaskState::Completed, at),
        ])
    }

    /// Its status changes.
    pub(super) fn change(&mut self, state: TaskState, at: i64) -> Append {
        let change = self.status(state, at);
        self.then(vec![change])
    }

    /// Its artifact grows.
    pub(super) fn grow(&mut self, text: &str) -> Append {
        let piece = self.piece(text);
        self.then(vec![piece])
    }

    /// Events happen. The script goes on as if they were appended.
    pub(super) fn then(&mut self, events: Vec<Event>) -> Append {
        let expected = self.revision();
        for event in &events {
            match (self.events.is_empty(), event) {
                (true, Event::Created(task)) => self.task = task.clone(),
                _ => self.task.apply(event.clone()).expect("a possible event"),
            }
            self.events.push(event.clone());
        }
        let TaskStatus { state, timestamp, .. } = self.task.status;
        self.header.state = state;
        self.header.updated = timestamp.unwrap_or(self.header.updated);
        self.header.work = match state {
            TaskState::Submitted => Work::Waiting,
            _ if state.is_terminal() || state.is_interrupted() => Work::None,
            _ => Work::Running,
        };
        let is_settled = state.is_terminal() || state.is_interrupted();
        Append {
            key: self.key.clone(),
            expected,
            events,
            header: self.header.clone(),
            snapshot: is_settled.then(|| Arc::new(self.task.clone())),
            sent: None,
            webhook: None,
        }
    }

    pub(super) fn creation(&self, at: i64) -> Event {
        let mut task = self.task.clone();
        task.status = TaskStatus::from(TaskState::Submitted).with_timestamp(time(at));
        Event::Created(task)
    }

    pub(super) fn status(&self, state: TaskState, at: i64) -> Event {
        let status = TaskStatus::from(state).with_timestamp(time(at));
        Event::Status(TaskStatusUpdateEvent::new(self.key.id.clone(), status))
    }

    pub(super) fn piece(&self, text: &str) -> Event {
        let artifact = Artifact::new(ArtifactId::first(), Part::text(text));
        let update = TaskArtifactUpdateEvent::new(self.key.id.clone(), artifact);
        Event::Artifact(TaskArtifactUpdateEvent { append: true, ..update })
    }

    pub(super) fn revision(&self) -> Revision {
        Revision::new(self.events.len() as u64)
    }

    /// The task as a store should have it.
    pub(super) fn stored(&self) -> Stored {
        Stored {
            key: self.key.clone(),
            task: Arc::new(self.task.clone()),
            revision: self.revision(),
            header: self.header.clone(),
        }
    }

    /// Its log as a store should have it.
    pub(super) fn logged(&self) -> Vec<Logged> {
        let numbers = (1..).map(Revision::new);
        let events = numbers.zip(self.events.iter().cloned());
        events.map(|(revision, event)| Logged { revision, event }).collect()
    }

    /// Fails unless the store has the task and its log like this.
    pub(super) async fn check(&self, store: &dyn TaskStore) {
        let loaded = store.load(&self.key).await.expect("the task is loaded");
        assert_eq!(loaded.as_ref(), Some(&self.stored()), "the task as it is loaded");
        let events = store.events(&self.key, Revision::START, usize::MAX).await;
        assert_eq!(events.expect("its log is read"), self.logged(), "the events of the task");
    }

    /// Fails unless the store has nothing of the task.
    pub(super) async fn check_gone(&self, store: &dyn TaskStore) {
        let Key { caller, id, agent } = &self.key;
        assert_eq!(store.load(&self.key).await.expect("loads"), None, "{id} must not be there");
        let events = store.events(&self.key, Revision::START, 10).await.expect("reads");
        assert_eq!(events, [], "{id} must have no events");
        let agents = store.locate(caller, id).await.expect("locates");
        assert!(!agents.contains(agent), "{id} must not be located");
        let page = store.list(&all_of(caller)).await.expect("lists");
        let listed = page.tasks.iter().any(|it| it.id == *id && **it == self.task);
        assert!(!listed, "{id} must not be listed");
    }
}

/// Appends what must be taken.
pub(super) async fn append(store: &dyn TaskStore, append: Append) -> Revision {
    let want = append.expected.get() + append.events.len() as u64;
    let revision = store.append(append).await.expect("the append is taken");
    assert_eq!(revision, Revision::new(want), "the revision of the last event");
    revision
}

/// A query for all tasks of a caller.
pub(super) fn all_of(caller: &str) -> Query {
    Query {
        caller: caller.into(),
        agent: None,
        except: Vec::new(),
        context: None,
        state: None,
        updated_since: None,
        behind: None,
        limit: 1_000,
    }
}

/// A point in time, in milliseconds of a day like any other.
pub(super) fn time(at: i64) -> Timestamp {
    Timestamp::from_millis(1_780_000_000_000 + at).expect("a time of these years")
}

pub(super) fn context(name: &str) -> ContextId {
    ContextId::new(name).expect("an id")
}

pub(super) fn message(id: &str, part: impl Into<Part>) -> Message {
    Message::agent(MessageId::new(id).expect("an id"), part)
}

/// A message that is remembered until then.
pub(super) fn sent(number: u8, expires: i64) -> Sent {
    Sent { key: SentKey([number; 16]), expires: time(expires) }
}
