//! Test support: the expected state of a task, and the appends that produce it.

use std::sync::Arc;

use latimer_protocol::{
    Artifact, ArtifactId, ContextId, Dialect, Event, Message, MessageId, Part, Revision, Task,
    TaskArtifactUpdateEvent, TaskId, TaskState, TaskStatus, TaskStatusUpdateEvent, Timestamp,
};

use crate::{
    Append, IdempotencyKey, IdempotencyRecord, LoggedEvent, PendingWork, Retention, StoredTask,
    TaskHeader, TaskKey, TaskQuery, TaskStore,
};

/// Retention whose limits no rule exceeds.
pub(super) const UNLIMITED: Retention = Retention::DEFAULT_DISK;

/// Expected log of one task. Its methods return appends and update the expectation.
#[derive(Clone)]
pub(super) struct Script {
    pub(super) key: TaskKey,
    pub(super) events: Vec<Event>,
    pub(super) header: TaskHeader,
    pub(super) task: Task,
}

impl Script {
    /// Creates the script of a new task.
    pub(super) fn for_key(owner: &str, agent: &str, id: &str) -> Self {
        let id = TaskId::new(id).expect("a valid id");
        let context = context("context");
        let header = TaskHeader {
            context: context.clone(),
            state: TaskState::Submitted,
            status_changed_at: time(0),
            created_in: Dialect::V1_0,
            pending_work: PendingWork::Queued,
            note: None,
        };
        let task = Task::new(id.clone(), context, TaskState::Submitted);
        let key = TaskKey { owner: owner.into(), agent: agent.into(), id };
        Self { key, events: Vec::new(), header, task }
    }

    /// Creates the script of a new task with the default owner and agent.
    pub(super) fn new(id: &str) -> Self {
        Self::for_key("caller", "agent", id)
    }

    /// Sets the context of the task.
    pub(super) fn with_context(mut self, name: &str) -> Self {
        self.header.context = context(name);
        self.task.context_id = Some(context(name));
        self
    }

    /// Returns the append that creates the task.
    pub(super) fn create(&mut self, at: i64) -> Append {
        self.append_events(vec![self.created_event(at)])
    }

    /// Returns an append that creates the task as a held one.
    pub(super) fn create_held(&mut self, at: i64) -> Append {
        let mut append = self.create(at);
        self.header.pending_work = PendingWork::Held;
        append.header.pending_work = PendingWork::Held;
        append
    }

    /// Returns an append that creates and completes the task.
    pub(super) fn create_finished(&mut self, at: i64) -> Append {
        self.append_events(vec![
            self.created_event(at),
            self.status_event(TaskState::Working, at),
            self.chunk_event("result"),
            self.status_event(TaskState::Completed, at),
        ])
    }

    /// Returns an append that changes the status.
    pub(super) fn set_status(&mut self, state: TaskState, at: i64) -> Append {
        let event = self.status_event(state, at);
        self.append_events(vec![event])
    }

    /// Returns an append that extends the artifact.
    pub(super) fn append_chunk(&mut self, text: &str) -> Append {
        let event = self.chunk_event(text);
        self.append_events(vec![event])
    }

    /// Returns an append of events, and applies them to the expectation.
    pub(super) fn append_events(&mut self, events: Vec<Event>) -> Append {
        let expected = self.revision();
        for event in &events {
            match (self.events.is_empty(), event) {
                (true, Event::Created(task)) => self.task = task.clone(),
                _ => self.task.apply(event.clone()).expect("an applicable event"),
            }
            self.events.push(event.clone());
        }
        let TaskStatus { state, timestamp, .. } = self.task.status;
        self.header.state = state;
        self.header.status_changed_at = timestamp.unwrap_or(self.header.status_changed_at);
        self.header.pending_work = match state {
            TaskState::Submitted => PendingWork::Queued,
            _ if state.is_terminal() || state.is_interrupted() => PendingWork::None,
            _ => PendingWork::Running,
        };
        let is_settled = state.is_terminal() || state.is_interrupted();
        Append {
            key: self.key.clone(),
            expected,
            events,
            header: self.header.clone(),
            snapshot: is_settled.then(|| Arc::new(self.task.clone())),
            idempotency: None,
            webhook: None,
        }
    }

    pub(super) fn created_event(&self, at: i64) -> Event {
        let mut task = self.task.clone();
        task.status = TaskStatus::from(TaskState::Submitted).with_timestamp(time(at));
        Event::Created(task)
    }

    pub(super) fn status_event(&self, state: TaskState, at: i64) -> Event {
        let status = TaskStatus::from(state).with_timestamp(time(at));
        Event::Status(TaskStatusUpdateEvent::new(self.key.id.clone(), status))
    }

    pub(super) fn chunk_event(&self, text: &str) -> Event {
        let artifact = Artifact::new(ArtifactId::first(), Part::text(text));
        let update = TaskArtifactUpdateEvent::new(self.key.id.clone(), artifact);
        Event::Artifact(TaskArtifactUpdateEvent { append: true, ..update })
    }

    pub(super) fn revision(&self) -> Revision {
        Revision::new(self.events.len() as u64)
    }

    /// Returns the expected stored task.
    pub(super) fn stored_task(&self) -> StoredTask {
        StoredTask {
            key: self.key.clone(),
            task: Arc::new(self.task.clone()),
            revision: self.revision(),
            header: self.header.clone(),
        }
    }

    /// Returns the expected log.
    pub(super) fn logged_events(&self) -> Vec<LoggedEvent> {
        let revisions = (1..).map(Revision::new);
        let events = revisions.zip(self.events.iter().cloned());
        events.map(|(revision, event)| LoggedEvent { revision, event }).collect()
    }

    /// Panics unless the store returns the expected task and log.
    pub(super) async fn assert_stored(&self, store: &dyn TaskStore) {
        let loaded = store.load(&self.key).await.expect("load succeeds");
        assert_eq!(loaded.as_ref(), Some(&self.stored_task()), "the loaded task");
        let events = store.events(&self.key, Revision::START, usize::MAX).await;
        assert_eq!(events.expect("read succeeds"), self.logged_events(), "the events of the task");
    }

    /// Panics if the store returns any data of the task.
    pub(super) async fn assert_absent(&self, store: &dyn TaskStore) {
        let TaskKey { owner, id, agent } = &self.key;
        assert_eq!(
            store.load(&self.key).await.expect("load succeeds"),
            None,
            "{id} must not exist"
        );
        let events = store.events(&self.key, Revision::START, 10).await.expect("read succeeds");
        assert_eq!(events, [], "{id} must have no events");
        let agents = store.find_agents(owner, id).await.expect("lookup succeeds");
        assert!(!agents.contains(agent), "{id} must not be found");
        let page = store.list(&query_all(owner)).await.expect("list succeeds");
        let listed = page.tasks.iter().any(|it| it.id == *id && **it == self.task);
        assert!(!listed, "{id} must not be listed");
    }
}

/// Appends, and panics if the append is rejected.
pub(super) async fn append(store: &dyn TaskStore, append: Append) -> Revision {
    let want = append.expected.get() + append.events.len() as u64;
    let revision = store.append(append).await.expect("append succeeds");
    assert_eq!(revision, Revision::new(want), "the revision of the last event");
    revision
}

/// Returns a query for all tasks of an owner.
pub(super) fn query_all(owner: &str) -> TaskQuery {
    TaskQuery {
        owner: owner.into(),
        agent: None,
        excluded_agents: Vec::new(),
        context: None,
        state: None,
        status_changed_since: None,
        after: None,
        limit: 1_000,
    }
}

/// Returns a time, in milliseconds after a fixed date.
pub(super) fn time(at: i64) -> Timestamp {
    Timestamp::from_millis(1_780_000_000_000 + at).expect("a valid time")
}

pub(super) fn context(name: &str) -> ContextId {
    ContextId::new(name).expect("a valid id")
}

pub(super) fn message(id: &str, part: impl Into<Part>) -> Message {
    Message::agent(MessageId::new(id).expect("a valid id"), part)
}

/// Returns a record that expires at a time.
pub(super) fn idempotency_record(number: u8, expires_at: i64) -> IdempotencyRecord {
    IdempotencyRecord { key: IdempotencyKey([number; 16]), expires_at: time(expires_at) }
}
