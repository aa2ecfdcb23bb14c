//! Whatever happens, in whatever order: a store on disk answers as one in memory does.

use std::sync::Arc;
use std::time::Duration;

use latimer_protocol::{
    ContextId, Dialect, Event, Message, MessageId, Revision, Task, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};
use latimer_store::{
    Append, Durability, Error, Header, Key, Memory, Query, Retention, Sent, SentKey, Sqlite,
    SqliteConfig, TaskStore, Work,
};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof};
use proptest::proptest;
use proptest::sample::select;
use tempfile::TempDir;

use crate::sample::{grow, key, time};

const RETENTION: Retention = Retention {
    max_tasks: 5,
    max_contexts: 0,
    max_age: Duration::from_millis(40),
    sweep_every: Duration::from_secs(1),
};

/// When it begins.
const START: i64 = 1_000;

/// Time goes by in steps that ages and expiries are made of, so that things happen exactly then.
const TICK: i64 = 10;

/// Something that is done with a store.
#[derive(Clone, Debug)]
enum Step {
    /// A task is created, in one state or another.
    Create { task: u8, state: TaskState, snapshot: bool },
    /// A task changes or grows, seen from some revisions before or behind.
    Continue { task: u8, off: i8, state: Option<TaskState>, events: u8, snapshot: bool },
    /// Time goes by.
    Wait(u8),
    /// A message is answered without a task.
    Remember(u8),
    /// A message is looked up.
    Sent(u8),
    /// Everything old goes.
    Sweep,
    /// Some tasks are listed.
    List { state: Option<TaskState>, context: Option<u8>, since: Option<u8>, limit: usize },
    /// Some events of a task are read.
    Events { task: u8, after: u8, limit: u8 },
    /// The store on disk is closed and opened.
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
            |(task, off, state, events, snapshot)| {
                Step::Continue { task, off, state, events, snapshot }
            }
        ),
        2 => (1..4u8).prop_map(Step::Wait),
        1 => (100..103u8).prop_map(Step::Remember),
        2 => prop_oneof![task(), 100..103u8].prop_map(Step::Sent),
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
    fn disk_and_memory_answer_alike(steps in vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(follow(steps));
    }
}

/// Both stores, and what a well-behaved engine knows.
struct Pair {
    memory: Memory,
    disk: Option<Sqlite>,
    folder: TempDir,
    now: i64,
    answers: u64,
}

async fn follow(steps: Vec<Step>) {
    let folder = TempDir::new().expect("a folder");
    let disk = Some(open(&folder));
    let mut pair = Pair { memory: Memory::new(RETENTION), disk, folder, now: START, answers: 0 };
    for step in steps {
        pair.take(&step).await;
    }
    for task in 0..8 {
        let key = pair.key(task);
        pair.both(async |store| store.load(&key).await).await;
        pair.both(async |store| store.events(&key, Revision::START, usize::MAX).await).await;
        let locate = async |store: &dyn TaskStore| {
            let mut agents = store.locate(&key.caller, &key.id).await?;
            agents.sort();
            Ok(agents)
        };
        pair.both(locate).await;
    }
}

fn open(folder: &TempDir) -> Sqlite {
    let config = SqliteConfig {
        durability: Durability::Process,
        retention: RETENTION,
        ..SqliteConfig::default()
    };
    Sqlite::open(folder.path().join("tasks.db"), config).expect("it opens")
}

impl Pair {
    /// The last two have one id, with two agents.
    fn key(&self, task: u8) -> Key {
        match task {
            7 => Key { agent: "other".into(), ..key("t6") },
            _ => key(&format!("t{task}")),
        }
    }

    async fn remember(&self, number: u8) {
        let sent = Sent { key: SentKey([number; 16]), expires: time(self.now + 3 * TICK) };
        let id = MessageId::new(format!("at {}", self.now)).expect("an id");
        let answer = Message::agent(id, "an answer");
        self.both(async |store| store.remember(sent, &answer).await).await;
    }

    /// Asks both, and compares what they say.
    async fn both<T: std::fmt::Debug>(
        &self,
        ask: impl AsyncFn(&dyn TaskStore) -> Result<T, Error>,
    ) {
        let disk = self.disk.as_ref().expect("it is open");
        let want = ask(&self.memory).await.map_err(|error| error.to_string());
        let found = ask(disk).await.map_err(|error| error.to_string());
        assert_eq!(format!("{found:?}"), format!("{want:?}"));
    }

    async fn take(&mut self, step: &Step) {
        match *step {
            Step::Create { task, state, snapshot } => {
                let append = self.creation(task, state, snapshot);
                self.both(async |store| store.append(append.clone()).await).await;
            }
            Step::Continue { task, off, state, events, snapshot } => {
                let append = self.continuation(task, off, state, events, snapshot).await;
                self.both(async |store| store.append(append.clone()).await).await;
                let key = self.key(task);
                self.both(async |store| store.load(&key).await).await;
            }
            Step::Wait(ticks) => self.now += TICK * i64::from(ticks),
            Step::Remember(number) => {
                // Memory forgets the first answers when there are more than it may have tasks.
                if self.answers < RETENTION.max_tasks {
                    self.answers += 1;
                    self.remember(number).await;
                }
            }
            Step::Sent(task) => {
                let key = SentKey([task; 16]);
                self.both(async |store| store.sent(&key, time(self.now)).await).await;
            }
            Step::Sweep => self.both(async |store| store.sweep(time(self.now)).await).await,
            Step::List { state, context, since, limit } => {
                self.list(state, context, since, limit).await;
            }
            Step::Events { task, after, limit } => {
                let (key, after) = (self.key(task), Revision::new(after.into()));
                self.both(async |store| store.events(&key, after, limit.into()).await).await;
            }
            Step::Reopen => {
                drop(self.disk.take());
                self.disk = Some(open(&self.folder));
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
        let mut query = Query {
            caller: "caller".into(),
            agent: None,
            except: Vec::new(),
            context: context.map(conversation),
            state,
            updated_since: since.map(|it| time(START + TICK * i64::from(it))),
            behind: None,
            limit,
        };
        loop {
            self.both(async |store| store.list(&query).await).await;
            query.behind = self.memory.list(&query).await.expect("lists").next;
            if query.behind.is_none() {
                break;
            }
        }
    }

    fn creation(&self, task: u8, state: TaskState, snapshot: bool) -> Append {
        let key = self.key(task);
        let context = conversation(task % 3);
        let status = TaskStatus::from(state).with_timestamp(time(self.now));
        let created = Task::new(key.id.clone(), context.clone(), status);
        let snapshot = snapshot.then(|| Arc::new(created.clone()));
        let sent = Some(Sent { key: SentKey([task; 16]), expires: time(self.now + 3 * TICK) });
        let (updated, dialect, work) = (time(self.now), Dialect::V0_3, Work::Running);
        Append {
            key,
            expected: Revision::START,
            events: vec![Event::Created(created)],
            header: Header { context, state, updated, dialect, work, note: None },
            snapshot,
            sent,
            webhook: None,
        }
    }

    async fn continuation(
        &self,
        task: u8,
        off: i8,
        state: Option<TaskState>,
        events: u8,
        snapshot: bool,
    ) -> Append {
        let key = self.key(task);
        let stored = self.memory.load(&key).await.expect("loads");
        let Some(stored) = stored.filter(|it| !it.header.state.is_terminal()) else {
            // Refused, whatever it says.
            return Append { key: key.clone(), ..grow(key.id.as_str(), Revision::new(1), "x") };
        };
        let expected = stored.revision.get().checked_add_signed(off.into()).filter(|it| *it > 0);
        let expected = Revision::new(expected.unwrap_or(99));
        let mut happened: Vec<_> = (0..events)
            .flat_map(|it| {
                let id = MessageId::new(format!("{expected} {it}")).expect("an id");
                let piece = grow(key.id.as_str(), expected, "é").events;
                [vec![Event::Message(Message::agent(id, "said").into())], piece].concat()
            })
            .collect();
        if let Some(state) = state {
            let status = TaskStatus::from(state).with_timestamp(time(self.now));
            happened.push(Event::Status(TaskStatusUpdateEvent::new(key.id.clone(), status)));
        }
        let mut folded = Task::clone(&stored.task);
        for event in &happened {
            folded.apply(event.clone()).expect("a possible event");
        }
        let mut header = stored.header;
        header.state = folded.status.state;
        header.updated = folded.status.timestamp.expect("a time");
        Append {
            key,
            expected,
            events: happened,
            header,
            snapshot: snapshot.then(|| Arc::new(folded)),
            sent: None,
            webhook: None,
        }
    }
}

fn conversation(number: u8) -> ContextId {
    ContextId::new(format!("c{number}")).expect("an id")
}
