//! Recording and visibility of tasks: the kind of a reply depends on what the agent declares, never on
//! how long it takes.

#![expect(clippy::disallowed_methods, reason = "the runtime of a test stops its tasks")]

use std::sync::Mutex;

use async_trait::async_trait;
use latimer_protocol::TaskId;
use latimer_store::PendingWork;

use super::races::wait_until_idle;
use super::*;
use crate::{Executor, Record};

/// Delays of an agent: within its first poll, soon, and after common clients would have given up.
const DELAYS_MS: [u64; 3] = [0, 200, 8_000];

async fn message_reply(engine: &Engine, request: SendMessageRequest) -> String {
    match send(engine, request).await {
        Ok(SendMessageResponse::Message(message)) => message.text(),
        other => panic!("{other:?}"),
    }
}

async fn event_stream(engine: &Engine, text: &str) -> latimer_protocol::EventStream {
    match engine.call(stream(text)).await.unwrap().kind {
        ReplyKind::Stream(stream) => stream,
        other => panic!("{other:?}"),
    }
}

/// Lets spawned turns run without advancing the clock.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn task_of_silent_agent_is_streamed_listed_and_cancelable_at_once() {
    let engine = engine();
    let started_at = tokio::time::Instant::now();
    let mut events = event_stream(&engine, "silent 8000").await;
    let first = events.next().await.unwrap().unwrap();
    assert_eq!(kinds(&[first]), ["task Submitted"]);
    let blocking = tokio::spawn({
        let engine = engine.clone();
        async move { send_for_task(&engine, user_request("silent 8000")).await }
    });
    settle().await;
    let listed = listed_tasks(&engine).await;
    assert_eq!(listed.len(), 2, "the tasks of the stream and of the blocking send");
    for task in &listed {
        assert_eq!(cancel(&engine, task).await.unwrap().status.state, TaskState::Canceled);
    }
    assert_eq!(blocking.await.unwrap().status.state, TaskState::Canceled);
    assert!(started_at.elapsed() < Duration::from_secs(8), "{:?}", started_at.elapsed());
}

#[tokio::test(start_paused = true)]
async fn undeclared_direct_reply_always_completes_a_task() {
    let engine = engine();
    for delay in DELAYS_MS {
        let text = if delay == 0 { "say hi".to_owned() } else { format!("mute {delay} hi") };
        let task = send_for_task(&engine, user_request(&text)).await;
        assert_eq!(task.status.state, TaskState::Completed, "{text}");
        assert_eq!(task.status.message.as_ref().unwrap().text(), "hi", "{text}");
        let received = events(&engine, stream(&text)).await.unwrap();
        assert_eq!(kinds(&received)[0], "task Submitted", "{text}");
        assert_eq!(kinds(&received).last().unwrap(), "status Completed", "{text}");
    }
    assert_eq!(listed_tasks(&engine).await.len(), 2 * DELAYS_MS.len());
}

#[tokio::test(start_paused = true)]
async fn declared_direct_reply_is_a_message_after_any_delay() {
    for record in [Record::WhenPending, Record::BeforeStart] {
        let engine = engine_with(Policy { direct_replies: true, record, ..Policy::default() });
        for delay in DELAYS_MS {
            let text = if delay == 0 { "say hi".to_owned() } else { format!("mute {delay} hi") };
            assert_eq!(message_reply(&engine, user_request(&text)).await, "hi", "{text}");
            let received = events(&engine, stream(&text)).await.unwrap();
            assert_eq!(kinds(&received), ["message hi"], "{text}");
        }
        assert!(listed_tasks(&engine).await.is_empty());
        wait_until_idle(&engine).await;
    }
}

#[tokio::test(start_paused = true)]
async fn held_task_is_invisible_to_its_caller_and_counted() {
    let agent = CapturingAgent::default();
    let ids = Arc::clone(&agent.started);
    let registry = AgentRegistry::new([Agent::new("test", agent).with_direct_replies()]).unwrap();
    let engine =
        Engine::new(Arc::new(registry), Arc::new(MemoryStore::default()), EngineLimits::default());
    let pending = tokio::spawn({
        let engine = engine.clone();
        async move { message_reply(&engine, user_request("mute 8000 hi")).await }
    });
    settle().await;
    assert_eq!(engine.activity().held_tasks, 1);
    let id = ids.lock().unwrap()[0].0.clone();
    let held = Task::new(id, ids::context(), TaskState::Submitted);
    assert!(listed_tasks(&engine).await.is_empty());
    assert_eq!(get(&engine, &held).await.unwrap_err().kind(), ErrorKind::TaskNotFound);
    assert_eq!(cancel(&engine, &held).await.unwrap_err().kind(), ErrorKind::TaskNotFound);
    let error = events(&engine, subscribe(&held, None)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    let error = send(&engine, follow_up_request(&held, "more")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    assert_eq!(pending.await.unwrap(), "hi");
    wait_until_idle(&engine).await;
}

#[tokio::test(start_paused = true)]
async fn held_task_becomes_visible_with_its_first_event() {
    for record in [Record::WhenPending, Record::BeforeStart] {
        let engine = engine_with(Policy { direct_replies: true, record, ..Policy::default() });
        let mut events = event_stream(&engine, "pause 200 wait 5000").await;
        settle().await;
        assert!(listed_tasks(&engine).await.is_empty(), "{record:?}");
        let first = events.next().await.unwrap().unwrap();
        assert_eq!(kinds(&[first]), ["task Submitted"]);
        let second = events.next().await.unwrap().unwrap();
        assert_eq!(kinds(&[second]), ["status Working"]);
        assert_eq!(listed_tasks(&engine).await.len(), 1, "{record:?}");
        assert_eq!(engine.activity().held_tasks, 0);
        drop(events);
        tokio::time::sleep(Duration::from_secs(6)).await;
        wait_until_idle(&engine).await;
    }
}

#[tokio::test(start_paused = true)]
async fn end_of_wait_makes_held_task_visible() {
    let engine = engine_with(Policy {
        direct_replies: true,
        max_wait: Duration::from_secs(1),
        ..Policy::default()
    });
    let running = send_for_task(&engine, user_request("mute 8000 hi")).await;
    assert_eq!(running.status.state, TaskState::Working);
    tokio::time::sleep(Duration::from_secs(8)).await;
    let done = get(&engine, &running).await.unwrap();
    assert_eq!(done.status.message.as_ref().unwrap().text(), "hi", "the reply completes the task");
}

#[tokio::test(start_paused = true)]
async fn shutdown_makes_held_task_visible() {
    for concurrency in [ContextConcurrency::Parallel, ContextConcurrency::Queue] {
        let engine = engine_with(Policy {
            direct_replies: true,
            context_concurrency: concurrency,
            ..Policy::default()
        });
        let context = ids::context();
        let pending: Vec<_> = (0..2)
            .map(|_| {
                let (engine, context) = (engine.clone(), context.clone());
                tokio::spawn(async move {
                    let mut request = user_request("mute 8000 hi");
                    request.message.context_id = Some(context);
                    send_for_task(&engine, request).await
                })
            })
            .collect();
        settle().await;
        assert_eq!(engine.activity().held_tasks, 2);
        engine.drain(Duration::ZERO).await;
        for task in pending {
            let task = task.await.unwrap();
            assert!(!task.status.state.is_terminal(), "{task:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn immediate_send_and_old_dialects_get_a_visible_task() {
    let engine = direct_engine();
    let started = send_for_task(&engine, immediate_request("mute 8000 hi")).await;
    assert_eq!(listed_tasks(&engine).await.len(), 1);
    for dialect in [Dialect::V0_1, Dialect::Legacy] {
        let mut request = user_request("mute 8000 hi");
        request.message.task_id = Some(ids::task());
        let mut call = Call::new(Request::SendMessage(request));
        call.context.dialect = dialect;
        let ReplyKind::Single(Reply::SendMessage(SendMessageResponse::Task(task))) =
            engine.call(call).await.unwrap().kind
        else {
            panic!("no task")
        };
        assert_eq!(task.status.message.as_ref().unwrap().text(), "hi", "{dialect:?}");
    }
    let done = get(&engine, &started).await.unwrap();
    assert_eq!(done.status.message.as_ref().unwrap().text(), "hi");
}

#[tokio::test(start_paused = true)]
async fn resend_joins_held_task_and_an_immediate_one_makes_it_visible() {
    let agent = CapturingAgent::default();
    let started = Arc::clone(&agent.started);
    let registry = AgentRegistry::new([Agent::new("test", agent).with_direct_replies()]).unwrap();
    let engine =
        Engine::new(Arc::new(registry), Arc::new(MemoryStore::default()), EngineLimits::default());
    let request = user_request("mute 8000 hi");
    let (one, other) = tokio::join!(
        message_reply(&engine, request.clone()),
        message_reply(&engine, request.clone())
    );
    assert_eq!((one.as_str(), other.as_str()), ("hi", "hi"));
    assert_eq!(message_reply(&engine, request).await, "hi", "from the record");
    assert_eq!(started.lock().unwrap().len(), 1);

    let request = user_request("mute 9000 hi");
    let resend = SendMessageRequest {
        configuration: immediate_request("").configuration,
        ..request.clone()
    };
    let blocking = tokio::spawn({
        let engine = engine.clone();
        async move { send_for_task(&engine, request).await }
    });
    settle().await;
    assert!(listed_tasks(&engine).await.is_empty());
    let visible = send_for_task(&engine, resend).await;
    assert_eq!(listed_tasks(&engine).await.len(), 1);
    let done = blocking.await.unwrap();
    assert_eq!((&done.id, done.status.state), (&visible.id, TaskState::Completed));
    assert_eq!(started.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn undeclared_rejection_is_a_rejected_or_failed_task() {
    let engine = engine();
    for delay in [0, 200] {
        for (kind, want) in [("busy", TaskState::Failed), ("type", TaskState::Rejected)] {
            let text = format!("refuse {delay} {kind}");
            let task = send_for_task(&engine, user_request(&text)).await;
            assert_eq!(task.status.state, want, "{text}");
            assert_eq!(task.status.message.as_ref().unwrap().text(), "not this");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn declared_rejection_is_an_error_and_leaves_nothing() {
    for record in [Record::WhenPending, Record::BeforeStart] {
        let engine = engine_with(Policy { direct_replies: true, record, ..Policy::default() });
        for delay in [0, 200] {
            let request = user_request(&format!("refuse {delay} type"));
            for _ in 0..2 {
                let error = send(&engine, request.clone()).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::ContentTypeNotSupported, "{delay} ms");
            }
            let error = events(&engine, stream(&request.message.text())).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ContentTypeNotSupported, "{delay} ms");
        }
        assert!(listed_tasks(&engine).await.is_empty());
        wait_until_idle(&engine).await;
    }
}

#[tokio::test(start_paused = true)]
async fn rejected_follow_up_returns_task_to_its_question() {
    for (direct_replies, record) in [
        (true, Record::WhenPending),
        (true, Record::BeforeStart),
        (false, Record::WhenPending),
        (false, Record::BeforeStart),
    ] {
        let engine = engine_with(Policy { direct_replies, record, ..Policy::default() });
        for delay in [0, 200] {
            let what = format!("{direct_replies} {record:?} {delay}");
            let interrupted = send_for_task(&engine, user_request("ask what?")).await;
            let follow_up = follow_up_request(&interrupted, &format!("refuse {delay} type"));
            match send(&engine, follow_up).await {
                Err(error) => {
                    assert!(direct_replies, "{what}");
                    assert_eq!(error.kind(), ErrorKind::ContentTypeNotSupported, "{what}");
                }
                Ok(SendMessageResponse::Task(task)) => {
                    assert!(!direct_replies, "{what}");
                    assert_eq!(task.status.message.as_ref().unwrap().text(), "not this", "{what}");
                }
                other => panic!("{what}: {other:?}"),
            }
            wait_until_idle(&engine).await;
            let after = get(&engine, &interrupted).await.unwrap();
            assert_eq!(after.status.state, TaskState::InputRequired, "{what}");
            let done = send_for_task(&engine, follow_up_request(&interrupted, "this")).await;
            assert_eq!(done.status.state, TaskState::Completed, "{what}");
        }
    }
}

/// What the store had of a task when its turn started: the id, the pending work and the number of
/// messages.
type StartedTurns = Arc<Mutex<Vec<(TaskId, Option<(PendingWork, usize)>)>>>;

/// Scripted agent that looks its task up in the store when a turn starts.
#[derive(Debug, Default)]
struct CapturingAgent {
    store: Option<Arc<MemoryStore>>,
    started: StartedTurns,
}

#[async_trait]
impl Executor for CapturingAgent {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        let (id, agent) = (turn.task_id().clone(), turn.agent().clone());
        let key = TaskKey { owner: "".into(), agent, id: id.clone() };
        let stored = match &self.store {
            Some(store) => store.load(&key).await?,
            None => None,
        };
        let recorded = stored.map(|it| (it.header.pending_work, it.task.history.len()));
        self.started.lock().unwrap().push((id, recorded));
        scripted_agent(turn).await
    }

    async fn check(&self, turn: &Turn) -> Result<(), AgentFailure> {
        match turn.text().as_str() {
            "closed" => Err(AgentFailure::reject_message(ErrorKind::Unavailable.into())),
            "ended" => Ok(turn.reject("not now").await?),
            _ => Ok(()),
        }
    }
}

fn before_start_engine(direct_replies: bool) -> (Engine, StartedTurns) {
    let store = Arc::new(MemoryStore::default());
    let agent = CapturingAgent { store: Some(Arc::clone(&store)), ..CapturingAgent::default() };
    let started = Arc::clone(&agent.started);
    let policy = Policy { direct_replies, record: Record::BeforeStart, ..Policy::default() };
    let registry = AgentRegistry::new([Agent::new("test", agent).with_policy(policy)]).unwrap();
    (Engine::new(Arc::new(registry), store, EngineLimits::default()), started)
}

#[tokio::test]
async fn turn_is_recorded_before_its_executor_is_called() {
    for (direct_replies, work) in [(false, PendingWork::Running), (true, PendingWork::Held)] {
        let (engine, started) = before_start_engine(direct_replies);
        let interrupted = send_for_task(&engine, user_request("ask what?")).await;
        send_for_task(&engine, follow_up_request(&interrupted, "this")).await;
        let recorded: Vec<_> = started.lock().unwrap().iter().map(|it| it.1).collect();
        let want = [Some((work, 1)), Some((PendingWork::Running, 3))];
        assert_eq!(recorded, want, "with direct replies: {direct_replies}");
    }
}

#[tokio::test]
async fn failed_check_writes_nothing_and_calls_no_executor() {
    let (engine, started) = before_start_engine(true);
    for request in [user_request("closed"), immediate_request("closed")] {
        let error = send(&engine, request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }
    assert!(listed_tasks(&engine).await.is_empty());
    let ended = send_for_task(&engine, user_request("ended")).await;
    assert_eq!(ended.status.state, TaskState::Rejected);
    assert!(started.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn stream_to_busy_task_starts_before_its_turn() {
    let engine = engine();
    let running = send_for_task(&engine, immediate_request("ask-late 5000 what?")).await;
    let request = Request::SendStreamingMessage(follow_up_request(&running, "this"));
    let started_at = tokio::time::Instant::now();
    let ReplyKind::Stream(events) = engine.call(Call::new(request)).await.unwrap().kind else {
        panic!("no stream")
    };
    assert!(started_at.elapsed() < Duration::from_secs(1), "{:?}", started_at.elapsed());
    let task = get(&engine, &running).await.unwrap();
    assert!(task.history.iter().any(|it| it.text() == "this"), "the message is stored");
    let events: Vec<_> = events.map(Result::unwrap).collect().await;
    assert_eq!(kinds(&events), ["task Working", "artifact this", "status Completed"]);
}
