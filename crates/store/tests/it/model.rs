//! Property test: the SQLite store returns the same results as the memory store for any sequence of
//! steps.

use std::sync::Arc;
use std::time::Duration;

use latimer_protocol::{
    ContextId, Dialect, Event, Message, MessageId, Revision, Task, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};
use latimer_store::{
    Append, Durability, Error, IdempotencyKey, IdempotencyRecord, MemoryStore, PendingWork,
    Retention, SqliteConfig, SqliteStore, TaskHeader, TaskKey, TaskQuery, TaskStore,
};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof};
use proptest::proptest;
use proptest::sample::select;
use tempfile::TempDir;

use crate::fixtures::{chunk_append, key, open_with, time};

const RETENTION: Retention = Retention {
    max_tasks: 5,
    max_contexts: 0,
    max_age: Duration::from_millis(40),
    sweep_interval: Duration::from_secs(1),
    max_idle: Duration::from_secs(1),
    max_waiting: 5,
};

/// Start time.
const START: i64 = 1_000;

/// Unit of time. Ages and expiries are multiples of it, so that steps coincide with them.
const TICK: i64 = 10;

/// Operation on both stores.
#[derive(Clone, Debug)]
enum Step {
    /// Creates a task in any state.
    Create { task: u8, state: TaskState, snapshot: bool },
    /// Appends to a task, possibly with a wrong revision.
    Continue { task: u8, revision_offset: i8, state: Option<TaskState>, events: u8, snapshot: bool },
    /// Advances the time.
    Wait(u8),
    /// Records a direct reply.
    RecordDirectReply(u8),
    /// Looks up the outcome of a message.
    FindPriorOutcome(u8),
    /// Sweeps expired tasks and records.
    Sweep,
    /// Lists tasks in pages.
    List { state: Option<TaskState>, context: Option<u8>, since: Option<u8>, limit: usize },
    /// Reads events of a task.
    Events { task: u8, after: u8, limit: u8 },
    /// Closes and reopens the SQLite store.
    Reopen,
}

fn state() -> impl Strategy<Value = TaskState> {
    select(&TaskState::ALL[1..])
}

fn step() -> impl Strategy<Value = Step> {
    let task = || 0..8u8;
    let maybe_state = || proptest::option::of(state());
    prop_oneof![
        4 => (task(), state(), any::<bool>())
            .prop_map(|(task, state, snapshot)| Step::Create { task, state, snapshot }),
        8 => (task(), select(&[0, 0, 0, 0, 1, -1]), maybe_state(), 1..4u8, any::<bool>()).prop_map(
            |(task, revision_offset, state, events, snapshot)| {
                Step::Continue { task, revision_offset, state, events, snapshot }
            }
        ),
        2 => (1..4u8).prop_map(Step::Wait),
        1 => (100..103u8).prop_map(Step::RecordDirectReply),
        2 => prop_oneof![task(), 100..103u8].prop_map(Step::FindPriorOutcome),
        1 => proptest::strategy::Just(Step::Sweep),
        2 => (maybe_state(), proptest::option::of(0..3u8), proptest::option::of(0..20u8), 1..5usize)
            .prop_map(|(state, context, since, limit)| Step::List { state, context, since, limit }),
        2 => (task(), 0..9u8, 0..6u8)
            .prop_map(|(task, after, limit)| Step::Events { task, after, limit }),
        1 => proptest::strategy::Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_and_memory_stores_agree(steps in vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(run_steps(steps));
    }
}

/// Both stores, and the state of a correct engine.
struct StorePair {
    memory: MemoryStore,
    disk: Option<SqliteStore>,
    directory: TempDir,
    now: i64,
    direct_replies: u64,
}

async fn run_steps(steps: Vec<Step>) {
    let directory = TempDir::new().expect("a temporary directory");
    let disk = Some(open(&directory));
    let mut pair = StorePair {
        memory: MemoryStore::new(RETENTION),
        disk,
        directory,
        now: START,
        direct_replies: 0,
    };
    for step in steps {
        pair.apply(&step).await;
    }
    for task in 0..8 {
        let key = pair.key(task);
        pair.compare(async |store| store.load(&key).await).await;
        pair.compare(async |store| store.events(&key, Revision::START, usize::MAX).await).await;
        let find_agents = async |store: &dyn TaskStore| {
            let mut agents = store.find_agents(&key.owner, &key.id).await?;
            agents.sort();
            Ok(agents)
        };
        pair.compare(find_agents).await;
    }
}

fn open(directory: &TempDir) -> SqliteStore {
    let config = SqliteConfig {
        durability: Durability::Process,
        retention: RETENTION,
        ..SqliteConfig::default()
    };
    open_with(directory.path(), config)
}

impl StorePair {
    /// Returns the key of a task. The last two have the same id and different agents.
    fn key(&self, task: u8) -> TaskKey {
        match task {
            7 => TaskKey { agent: "other".into(), ..key("t6") },
            _ => key(&format!("t{task}")),
        }
    }

    async fn record_direct_reply(&self, number: u8) {
        let record = IdempotencyRecord {
            key: IdempotencyKey([number; 16]),
            expires_at: time(self.now + 3 * TICK),
        };
        let id = MessageId::new(format!("at {}", self.now)).expect("an id");
        let reply = Message::agent(id, "reply");
        self.compare(async |store| store.record_direct_reply(record, &reply).await).await;
    }

    /// Calls both stores, and compares the results.
    async fn compare<T: std::fmt::Debug>(
        &self,
        call: impl AsyncFn(&dyn TaskStore) -> Result<T, Error>,
    ) {
        let disk = self.disk.as_ref().expect("the store is open");
        let want = call(&self.memory).await.map_err(|error| error.to_string());
        let found = call(disk).await.map_err(|error| error.to_string());
        assert_eq!(format!("{found:?}"), format!("{want:?}"));
    }

    async fn apply(&mut self, step: &Step) {
        match *step {
            Step::Create { task, state, snapshot } => {
                let append = self.create_append(task, state, snapshot);
                self.compare(async |store| store.append(append.clone()).await).await;
            }
            Step::Continue { task, revision_offset, state, events, snapshot } => {
                let append =
                    self.continue_append(task, revision_offset, state, events, snapshot).await;
                self.compare(async |store| store.append(append.clone()).await).await;
                let key = self.key(task);
                self.compare(async |store| store.load(&key).await).await;
            }
            Step::Wait(ticks) => self.now += TICK * i64::from(ticks),
            Step::RecordDirectReply(number) => {
                // The memory store evicts direct replies above the maximum number of tasks.
                if self.direct_replies < RETENTION.max_tasks {
                    self.direct_replies += 1;
                    self.record_direct_reply(number).await;
                }
            }
            Step::FindPriorOutcome(task) => {
                let key = IdempotencyKey([task; 16]);
                self.compare(async |store| store.find_prior_outcome(&key, time(self.now)).await)
                    .await;
            }
            Step::Sweep => self.compare(async |store| store.sweep(time(self.now)).await).await,
            Step::List { state, context, since, limit } => {
                self.list(state, context, since, limit).await;
            }
            Step::Events { task, after, limit } => {
                let (key, after) = (self.key(task), Revision::new(after.into()));
                self.compare(async |store| store.events(&key, after, limit.into()).await).await;
            }
            Step::Reopen => {
                drop(self.disk.take());
                self.disk = Some(open(&self.directory));
            }
        }
    }

    async fn list(
        &self,
        state: Option<TaskState>,
        context: Option<u8>,
        since: Option<u8>,
        limit: usize,
    ) {
        let mut query = TaskQuery {
            owner: "caller".into(),
            agent: None,
            excluded_agents: Vec::new(),
            context: context.map(context_id),
            state,
            status_changed_since: since.map(|it| time(START + TICK * i64::from(it))),
            after: None,
            limit,
        };
        loop {
            self.compare(async |store| store.list(&query).await).await;
            query.after = self.memory.list(&query).await.expect("list succeeds").next;
            if query.after.is_none() {
                break;
            }
        }
    }

    fn create_append(&self, task: u8, state: TaskState, snapshot: bool) -> Append {
        let key = self.key(task);
        let context = context_id(task % 3);
        let status = TaskStatus::from(state).with_timestamp(time(self.now));
        let created = Task::new(key.id.clone(), context.clone(), status);
        let snapshot = snapshot.then(|| Arc::new(created.clone()));
        let idempotency = Some(IdempotencyRecord {
            key: IdempotencyKey([task; 16]),
            expires_at: time(self.now + 3 * TICK),
        });
        let (status_changed_at, created_in, pending_work) =
            (time(self.now), Dialect::V0_3, PendingWork::Running);
        Append {
            key,
            expected: Revision::START,
            events: vec![Event::Created(created)],
            header: TaskHeader {
                context,
                state,
                status_changed_at,
                created_in,
                pending_work,
                note: None,
            },
            snapshot,
            idempotency,
            webhook: None,
        }
    }

    async fn continue_append(
        &self,
        task: u8,
        revision_offset: i8,
        state: Option<TaskState>,
        events: u8,
        snapshot: bool,
    ) -> Append {
        let key = self.key(task);
        let stored = self.memory.load(&key).await.expect("load succeeds");
        let Some(stored) = stored.filter(|it| !it.header.state.is_terminal()) else {
            // Rejected for any content.
            return Append {
                key: key.clone(),
                ..chunk_append(key.id.as_str(), Revision::new(1), "x")
            };
        };
        let expected =
            stored.revision.get().checked_add_signed(revision_offset.into()).filter(|it| *it > 0);
        let expected = Revision::new(expected.unwrap_or(99));
        let mut new_events: Vec<_> = (0..events)
            .flat_map(|it| {
                let id = MessageId::new(format!("{expected} {it}")).expect("an id");
                let chunk = chunk_append(key.id.as_str(), expected, "é").events;
                [vec![Event::Message(Message::agent(id, "text").into())], chunk].concat()
            })
            .collect();
        if let Some(state) = state {
            let status = TaskStatus::from(state).with_timestamp(time(self.now));
            new_events.push(Event::Status(TaskStatusUpdateEvent::new(key.id.clone(), status)));
        }
        let mut folded = Task::clone(&stored.task);
        for event in &new_events {
            folded.apply(event.clone()).expect("an applicable event");
        }
        let mut header = stored.header;
        header.state = folded.status.state;
        header.status_changed_at = folded.status.timestamp.expect("a time");
        Append {
            key,
            expected,
            events: new_events,
            header,
            snapshot: snapshot.then(|| Arc::new(folded)),
            idempotency: None,
            webhook: None,
        }
    }
}

fn context_id(number: u8) -> ContextId {
    ContextId::new(format!("c{number}")).expect("an id")
}
