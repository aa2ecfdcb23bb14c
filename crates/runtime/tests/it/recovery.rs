//! Recovery of many tasks: bounded, in the background, and at once for a task that a call needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::StreamExt;
use latimer_protocol::{ContextId, Dialect, Event, Revision, Task, TaskId, TaskState, Timestamp};
use latimer_server::{
    Agent, AgentFailure, AgentRegistry, Engine, EngineLimits, Executor, Policy, Turn,
};
use latimer_store::{
    Append, PendingWork, SqliteConfig, SqliteStore, TaskHeader, TaskKey, TaskStore,
};
use tokio::sync::Semaphore;

use crate::harness::{EngineHarness, user_message};

const TASKS: usize = 4_000;
const MAX_RECOVERING: usize = 8;

/// Agent whose recovered turns wait for a permit each.
#[derive(Debug)]
struct GatedAgent {
    permits: Arc<Semaphore>,
    recovering: AtomicUsize,
    peak: Arc<AtomicUsize>,
}

#[async_trait]
impl Executor for GatedAgent {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        Ok(turn.reply("answered").await?)
    }

    async fn recover(&self, turn: Turn) -> Result<(), AgentFailure> {
        let recovering = self.recovering.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(recovering, Ordering::SeqCst);
        if turn.task_id().as_str() != last_id().as_str() {
            self.permits.acquire().await?.forget();
        }
        self.recovering.fetch_sub(1, Ordering::SeqCst);
        turn.request_input("Go on?").await?;
        Ok(())
    }
}

fn id(number: usize) -> TaskId {
    TaskId::new(format!("t{number:06}")).unwrap()
}

fn last_id() -> TaskId {
    id(TASKS - 1)
}

fn working_task(number: usize) -> Append {
    let (context, id) = (ContextId::new("c").unwrap(), id(number));
    let mut task = Task::new(id.clone(), context.clone(), TaskState::Working);
    task.history.push(Arc::new(user_message("work")));
    Append {
        key: TaskKey { owner: "".into(), agent: "gated".into(), id },
        expected: Revision::START,
        events: vec![Event::Created(task)],
        header: TaskHeader {
            context,
            state: TaskState::Working,
            status_changed_at: Timestamp::EPOCH,
            created_in: Dialect::V1_0,
            pending_work: PendingWork::Running,
            note: None,
        },
        snapshot: None,
        idempotency: None,
        webhook: None,
    }
}

fn open(directory: &tempfile::TempDir) -> Arc<dyn TaskStore> {
    let path = directory.path().join("tasks.db");
    Arc::new(SqliteStore::open(path, SqliteConfig::default()).unwrap())
}

struct RecoveringEngine {
    harness: EngineHarness,
    permits: Arc<Semaphore>,
    peak: Arc<AtomicUsize>,
}

impl RecoveringEngine {
    fn open(directory: &tempfile::TempDir) -> Self {
        let (permits, peak) = (Arc::new(Semaphore::new(0)), Arc::<AtomicUsize>::default());
        let recovering = AtomicUsize::new(0);
        let agent =
            GatedAgent { permits: Arc::clone(&permits), recovering, peak: Arc::clone(&peak) };
        let agent = Agent::new("gated", agent).with_policy(Policy::default());
        let registry = Arc::new(AgentRegistry::new([agent]).unwrap());
        let limits = EngineLimits { max_recovering: MAX_RECOVERING, ..EngineLimits::default() };
        let engine = Engine::new(registry, open(directory), limits);
        Self { harness: EngineHarness { engine }, permits, peak }
    }

    fn unrecovered(&self) -> usize {
        self.harness.engine.activity().unrecovered_tasks
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_abandoned_tasks_are_recovered_in_the_background() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory);
    let appends = futures_util::stream::iter((0..TASKS).map(working_task));
    appends
        .for_each_concurrent(256, |append| {
            let store = Arc::clone(&store);
            async move {
                store.append(append).await.unwrap();
            }
        })
        .await;
    drop(store);

    let first = RecoveringEngine::open(&directory);
    let started = Instant::now();
    assert_eq!(first.harness.engine.recover().await.unwrap(), TASKS as u64);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    // A message to the last task does not wait for the others.
    let message = user_message("hello").with_task(last_id());
    let answered =
        tokio::time::timeout(Duration::from_secs(5), first.harness.send_for_task(message));
    assert_eq!(answered.await.unwrap().status.state, TaskState::Completed);
    assert!(first.unrecovered() > TASKS / 2, "{}", first.unrecovered());
    // Some turns finish, then the process ends.
    first.permits.add_permits(100);
    tokio::time::sleep(Duration::from_millis(200)).await;
    first.harness.engine.drain(Duration::ZERO).await;
    let peak = first.peak.load(Ordering::SeqCst);
    // The task that the call needed has no place of its own.
    assert!(peak <= MAX_RECOVERING + 1, "{peak} turns at a time");
    drop(first);

    // The next process continues.
    let second = RecoveringEngine::open(&directory);
    let left = second.harness.engine.recover().await.unwrap();
    assert!((1..TASKS as u64).contains(&left), "{left} tasks are left");
    second.permits.add_permits(TASKS);
    let started = Instant::now();
    while second.unrecovered() > 0 {
        assert!(started.elapsed() < Duration::from_secs(120), "{} left", second.unrecovered());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let task = second.harness.wait_until(&id(1), |it| it.status.state.is_interrupted()).await;
    assert_eq!(task.status.message.as_ref().unwrap().text(), "Go on?");
    let peak = second.peak.load(Ordering::SeqCst);
    assert!(peak <= MAX_RECOVERING, "{peak} turns at a time");
}
