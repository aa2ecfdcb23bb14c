//! Races, in reproducible interleavings.
//!
//! The tests run on one thread with a paused clock. Both sides of a race take a given number of
//! steps, each one poll. Each pair of numbers is one interleaving, and is the same in every run.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use latimer_protocol::{Event, TaskStatusUpdateEvent};
use latimer_protocol::{TaskId, Timestamp};
use latimer_store::{
    Append, Error as StoreError, IdempotencyKey, IdempotencyRecord, InterruptedTasks, LoggedEvent,
    PriorOutcome, Retention, StoredTask, TaskKey, TaskPage, TaskQuery, WebhookStore,
};

use super::*;

/// Store whose operations take a pseudo-random number of steps.
#[derive(Debug)]
struct SlowStore {
    store: MemoryStore,
    seed: AtomicU64,
}

impl SlowStore {
    async fn delay(&self) {
        // xorshift: any sequence works if it is reproducible.
        let mut seed = self.seed.load(Ordering::Relaxed);
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        self.seed.store(seed, Ordering::Relaxed);
        steps(seed % 4).await;
    }
}

async fn steps(count: u64) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

#[async_trait]
impl TaskStore for SlowStore {
    async fn append(&self, append: Append) -> Result<Revision, StoreError> {
        self.delay().await;
        let appended = self.store.append(append).await;
        self.delay().await;
        appended
    }

    async fn load(&self, key: &TaskKey) -> Result<Option<StoredTask>, StoreError> {
        self.delay().await;
        let loaded = self.store.load(key).await;
        self.delay().await;
        loaded
    }

    async fn events(
        &self,
        key: &TaskKey,
        after: Revision,
        limit: usize,
    ) -> Result<Vec<LoggedEvent>, StoreError> {
        self.delay().await;
        self.store.events(key, after, limit).await
    }

    async fn find_agents(&self, caller: &str, id: &TaskId) -> Result<Vec<Arc<str>>, StoreError> {
        self.store.find_agents(caller, id).await
    }

    async fn list(&self, query: &TaskQuery) -> Result<TaskPage, StoreError> {
        self.store.list(query).await
    }

    async fn find_prior_outcome(
        &self,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<PriorOutcome>, StoreError> {
        self.delay().await;
        self.store.find_prior_outcome(key, now).await
    }

    async fn record_direct_reply(
        &self,
        record: IdempotencyRecord,
        reply: &Message,
    ) -> Result<(), StoreError> {
        self.delay().await;
        self.store.record_direct_reply(record, reply).await
    }

    async fn retract(
        &self,
        key: &TaskKey,
        expected: Revision,
        reply: Option<(IdempotencyRecord, &Message)>,
    ) -> Result<(), StoreError> {
        self.delay().await;
        let retracted = self.store.retract(key, expected, reply).await;
        self.delay().await;
        retracted
    }

    async fn count_abandoned(&self) -> Result<u64, StoreError> {
        self.store.count_abandoned().await
    }

    async fn claim(&self, key: &TaskKey) -> Result<Option<StoredTask>, StoreError> {
        self.store.claim(key).await
    }

    async fn claim_abandoned(&self, limit: usize) -> Result<Vec<StoredTask>, StoreError> {
        self.store.claim_abandoned(limit).await
    }

    async fn list_interrupted(
        &self,
        idle_since: Timestamp,
        limit: usize,
    ) -> Result<InterruptedTasks, StoreError> {
        self.store.list_interrupted(idle_since, limit).await
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.store.sweep(now).await
    }

    fn webhooks(&self) -> &dyn WebhookStore {
        self.store.webhooks()
    }

    fn retention(&self) -> &Retention {
        self.store.retention()
    }

    fn backend_name(&self) -> &'static str {
        self.store.backend_name()
    }
}

/// Agent that takes as many steps as the message says and then completes the task.
async fn stepping_agent(turn: Turn) -> Result<(), AgentFailure> {
    let count: u64 = turn.text().parse()?;
    turn.set_working().await?;
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
    turn.reply("done").await?;
    Ok(())
}

/// Creates an engine with an agent that ignores cancellation, so that only the order of events
/// decides.
fn engine(seed: u64) -> Engine {
    let policy = Policy { cancel_grace: Duration::from_secs(3_600), ..Policy::default() };
    engine_with_slow_store(seed, Agent::from_fn("stepping", stepping_agent).with_policy(policy))
}

/// Creates an engine with a slow store.
fn engine_with_slow_store(seed: u64, agent: Agent) -> Engine {
    let registry = AgentRegistry::new([agent]).unwrap();
    let seed = AtomicU64::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let store = SlowStore { store: MemoryStore::default(), seed };
    Engine::new(Arc::new(registry), Arc::new(store), EngineLimits::default())
}

/// Returns all events of a task.
async fn task_log(engine: &Engine, task: &Task) -> Vec<Event> {
    let key = TaskKey { owner: "".into(), agent: "stepping".into(), id: task.id.clone() };
    let logged = engine.store().events(&key, Revision::START, usize::MAX).await.unwrap();
    logged.into_iter().map(|it| it.event).collect()
}

fn count_terminal_statuses(log: &[Event]) -> usize {
    let is_terminal_status = |event: &&Event| matches!(event, Event::Status(TaskStatusUpdateEvent { status, .. }) if status.state.is_terminal());
    log.iter().filter(is_terminal_status).count()
}

/// Waits until the engine has no live tasks, turns or streams.
pub(super) async fn wait_until_idle(engine: &Engine) {
    let idle = Activity::default();
    wait_until("the engine is idle", async || engine.activity() == idle).await;
}

/// Runs a race for 100 × 100 pairs of steps, on one thread with a paused clock.
fn race<F: Future<Output = ()>>(run: impl Fn(u64, u64) -> F) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(async {
        for one in 0..100 {
            for other in 0..100 {
                // The paused clock advances only when no task can proceed, so a timeout means a
                // deadlock.
                let ended = tokio::time::timeout(Duration::from_secs(60), run(one, other)).await;
                assert!(ended.is_ok(), "deadlock at {one} steps against {other}");
            }
        }
    });
}

#[test]
fn cancel_racing_completion_has_one_outcome() {
    race(|agent_steps, other_steps| async move {
        let engine = engine(agent_steps * 100 + other_steps);
        let task = send_for_task(&engine, immediate_request(&(agent_steps / 4).to_string())).await;
        steps(other_steps / 4).await;
        let canceled = cancel(&engine, &task).await;
        let ended = get(&engine, &task).await.unwrap();
        match (canceled, ended.status.state) {
            (Ok(task), TaskState::Canceled) => assert_eq!(task, ended),
            (Err(error), TaskState::Completed) => {
                assert_eq!(error.kind(), ErrorKind::TaskNotCancelable);
            }
            other => panic!("{other:?} at {agent_steps} steps against {other_steps}"),
        }
        assert_eq!(count_terminal_statuses(&task_log(&engine, &task).await), 1);
        wait_until_idle(&engine).await;
    });
}

#[test]
fn direct_reply_racing_resend_and_cancel_has_one_outcome() {
    race(|agent_steps, other_steps| async move {
        let agent = Agent::from_fn("stepping", |turn: Turn| async move {
            steps(turn.text().parse()?).await;
            turn.direct_reply("done").await?;
            Ok::<_, AgentFailure>(())
        });
        let seed = agent_steps * 100 + other_steps;
        let engine = engine_with_slow_store(seed, agent.with_direct_replies());
        let request = user_request(&(agent_steps / 4).to_string());
        let resend = SendMessageRequest {
            configuration: immediate_request("").configuration,
            ..request.clone()
        };
        let late = async {
            steps(other_steps / 4).await;
            let reply = send(&engine, resend).await.unwrap();
            let canceled = match &reply {
                SendMessageResponse::Task(task) => cancel(&engine, task).await.is_ok(),
                SendMessageResponse::Message(_) => false,
            };
            (reply, canceled)
        };
        let (first, (second, canceled)) = tokio::join!(send(&engine, request.clone()), late);
        wait_until_idle(&engine).await;
        let third = send(&engine, request).await.unwrap();
        let list = engine.call(Call::new(Request::ListTasks(ListTasksRequest::default()))).await;
        let ReplyKind::Single(Reply::TaskList(page)) = list.unwrap().kind else {
            panic!("no page")
        };
        let what = format!("{agent_steps} steps against {other_steps}");
        match (first.unwrap(), second, third) {
            (
                SendMessageResponse::Message(first),
                SendMessageResponse::Message(second),
                SendMessageResponse::Message(third),
            ) => {
                assert!(first == second && second == third, "{what}");
                assert_eq!(page.total_size, 0, "{what}");
            }
            (
                SendMessageResponse::Task(first),
                SendMessageResponse::Task(second),
                SendMessageResponse::Task(third),
            ) => {
                assert!(first.id == second.id && second.id == third.id, "{what}");
                let canceled_state = third.status.state == TaskState::Canceled;
                assert_eq!(canceled_state, canceled, "{what}");
                assert_eq!(page.total_size, 1, "{what}");
            }
            other => panic!("{what}: {other:?}"),
        }
    });
}

#[test]
fn subscription_racing_completion_misses_no_event() {
    race(|agent_steps, other_steps| async move {
        let engine = engine(agent_steps * 100 + other_steps);
        let task = send_for_task(&engine, immediate_request(&(agent_steps / 4).to_string())).await;
        steps(other_steps / 4).await;
        match events(&engine, subscribe(&task, None)).await {
            // The snapshot is followed by each later event once and in order.
            Ok(received) => {
                let received = revisions(&received);
                let first = received[0];
                assert_eq!(
                    received,
                    (first..=4).collect::<Vec<_>>(),
                    "{agent_steps} against {other_steps}"
                );
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::UnsupportedOperation),
        }
        assert_eq!(get(&engine, &task).await.unwrap().status.state, TaskState::Completed);
        wait_until_idle(&engine).await;
    });
}

#[test]
fn follow_up_is_acknowledged_once_it_is_in_history() {
    race(|one, other| async move {
        let engine =
            engine_with_slow_store(one * 100 + other, Agent::from_fn("test", scripted_agent));
        let interrupted = send_for_task(&engine, user_request("ask what?")).await;
        let acknowledged = send_for_task(&engine, immediate_follow_up(&interrupted, "this")).await;
        assert!(acknowledged.history.iter().any(|it| it.text() == "this"), "{acknowledged:?}");
        assert_ne!(acknowledged.status.state, TaskState::InputRequired);
    });
}

#[test]
fn racing_duplicate_messages_create_one_task() {
    race(|agent_steps, other_steps| async move {
        let engine = engine(agent_steps * 100 + other_steps);
        let request = user_request(&(agent_steps / 10).to_string());
        let late = async {
            steps(other_steps / 4).await;
            send_for_task(&engine, request.clone()).await
        };
        let (one, other) = tokio::join!(send_for_task(&engine, request.clone()), late);
        assert_eq!(one, other, "{agent_steps} against {other_steps}");
        let list = engine.call(Call::new(Request::ListTasks(ListTasksRequest::default()))).await;
        let ReplyKind::Single(Reply::TaskList(page)) = list.unwrap().kind else {
            panic!("no page")
        };
        assert_eq!(page.total_size, 1, "{agent_steps} against {other_steps}");
    });
}

#[test]
fn task_completes_after_subscriber_disconnects() {
    race(|agent_steps, other_steps| async move {
        let engine = engine(agent_steps * 100 + other_steps);
        let started =
            send_for_task(&engine, immediate_request(&(agent_steps / 4).to_string())).await;
        // The stream is dropped after some steps.
        tokio::select! {
            biased;
            _ = events(&engine, subscribe(&started, None)) => {}
            () = steps(other_steps / 4) => {}
        }
        wait_until_idle(&engine).await;
        let ended = get(&engine, &started).await.unwrap();
        assert_eq!(ended.status.state, TaskState::Completed);
    });
}
