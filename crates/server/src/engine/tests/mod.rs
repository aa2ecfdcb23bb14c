//! Tests of the engine through its `Service` implementation.

mod contexts;
mod fan_out;
mod notes;
mod races;
mod records;
mod resend;
mod scripted_agent;
mod waiting;

use std::time::Duration;

use futures_util::StreamExt;
use latimer_protocol::{
    CallContext, CancelTaskRequest, Dialect, Finality, GetTaskRequest, ListTasksRequest, Message,
    Reply, ReplyKind, Revision, SendMessageConfiguration, SendMessageRequest, SendMessageResponse,
    StreamEvent, StreamResponse, SubscribeToTaskRequest, TaskState,
};
use latimer_store::MemoryStore;
use tokio::task::JoinSet;

use self::scripted_agent::scripted_agent;
use super::*;
use crate::{Agent, AgentFailure, ContextConcurrency, Policy, Turn};

/// Polls a condition until it is true.
///
/// # Panics
/// After 30 seconds of real time. A timer would not fire under a paused clock, which advances only
/// while the runtime is idle.
async fn wait_until(condition: &str, mut is_true: impl AsyncFnMut() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while !is_true().await {
        assert!(std::time::Instant::now() < deadline, "timed out waiting until {condition}");
        tokio::task::yield_now().await;
    }
}

fn engine_with(policy: Policy) -> Engine {
    let agent = Agent::from_fn("test", scripted_agent).with_policy(policy);
    let registry = AgentRegistry::new([agent]).unwrap();
    Engine::new(Arc::new(registry), Arc::new(MemoryStore::default()), EngineLimits::default())
}

fn engine() -> Engine {
    engine_with(Policy { cancel_grace: Duration::from_millis(50), ..Policy::default() })
}

/// Creates an engine whose agent may reply directly.
fn direct_engine() -> Engine {
    engine_with(Policy { direct_replies: true, ..Policy::default() })
}

/// Returns the tasks of anonymous callers that a list shows.
async fn listed_tasks(engine: &Engine) -> Vec<Arc<Task>> {
    let request = Request::ListTasks(ListTasksRequest::default());
    match engine.call(Call::new(request)).await.unwrap().kind {
        ReplyKind::Single(Reply::TaskList(page)) => page.tasks.into_iter().map(Arc::new).collect(),
        other => panic!("{other:?}"),
    }
}

fn user_request(text: &str) -> SendMessageRequest {
    SendMessageRequest::from(Message::user(ids::message(), text))
}

fn immediate_request(text: &str) -> SendMessageRequest {
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    SendMessageRequest { configuration: Some(configuration), ..user_request(text) }
}

fn follow_up_request(task: &Task, text: &str) -> SendMessageRequest {
    SendMessageRequest::from(Message::user(ids::message(), text).with_task(task.id.clone()))
}

async fn send(engine: &Engine, request: SendMessageRequest) -> Result<SendMessageResponse, Error> {
    let response = engine.call(Call::new(Request::SendMessage(request))).await?;
    let ReplyKind::Single(Reply::SendMessage(reply)) = response.kind else {
        panic!("{response:?}")
    };
    Ok(reply)
}

async fn send_for_task(engine: &Engine, request: SendMessageRequest) -> Arc<Task> {
    match send(engine, request).await {
        Ok(SendMessageResponse::Task(task)) => task,
        other => panic!("{other:?}"),
    }
}

async fn events(engine: &Engine, call: Call) -> Result<Vec<StreamEvent>, Error> {
    let ReplyKind::Stream(stream) = engine.call(call).await?.kind else { panic!("no stream") };
    stream.collect::<Vec<_>>().await.into_iter().collect()
}

fn stream(text: &str) -> Call {
    Call::new(Request::SendStreamingMessage(user_request(text)))
}

fn subscribe(task: &Task, after: Option<u64>) -> Call {
    let request = Request::SubscribeToTask(SubscribeToTaskRequest::from(task.id.clone()));
    let resume_after = after.map(Revision::new);
    Call { context: CallContext { resume_after, ..CallContext::default() }, request }
}

async fn get(engine: &Engine, task: &Task) -> Result<Arc<Task>, Error> {
    let request = Request::GetTask(GetTaskRequest::from(task.id.clone()));
    match engine.call(Call::new(request)).await?.kind {
        ReplyKind::Single(Reply::Task(task)) => Ok(task),
        other => panic!("{other:?}"),
    }
}

async fn cancel(engine: &Engine, task: &Task) -> Result<Arc<Task>, Error> {
    let request = Request::CancelTask(CancelTaskRequest::from(task.id.clone()));
    match engine.call(Call::new(request)).await?.kind {
        ReplyKind::Single(Reply::Task(task)) => Ok(task),
        other => panic!("{other:?}"),
    }
}

fn kinds(events: &[StreamEvent]) -> Vec<String> {
    let kind = |it: &StreamEvent| match it.event.event() {
        StreamResponse::Task(it) => format!("task {:?}", it.status.state),
        StreamResponse::Message(it) => format!("message {}", it.text()),
        StreamResponse::StatusUpdate(it) => format!("status {:?}", it.status.state),
        StreamResponse::ArtifactUpdate(it) => format!("artifact {}", it.artifact.text()),
    };
    events.iter().map(kind).collect()
}

fn revisions(events: &[StreamEvent]) -> Vec<u64> {
    events.iter().filter_map(|it| it.revision).map(Revision::get).collect()
}

#[tokio::test]
async fn echo_task_completes_with_history() {
    let engine = engine();
    let task = send_for_task(&engine, user_request("hello")).await;
    assert_eq!((task.status.state, task.text().as_str()), (TaskState::Completed, "hello"));
    assert_eq!(task.history.len(), 1);
    assert_eq!(task.history[0].task_id.as_ref(), Some(&task.id));
    assert_eq!(get(&engine, &task).await.unwrap(), task);
    assert_eq!(engine.activity(), Activity::default());
}

#[tokio::test]
async fn direct_reply_creates_no_task() {
    let engine = direct_engine();
    for text in ["say hi", "late hi"] {
        let reply = send(&engine, user_request(text)).await.unwrap();
        let SendMessageResponse::Message(message) = reply else { panic!("{reply:?}") };
        assert_eq!((message.text().as_str(), message.task_id), ("hi", None));
        assert!(message.context_id.is_some());
    }
    let list = engine.call(Call::new(Request::ListTasks(ListTasksRequest::default()))).await;
    let ReplyKind::Single(Reply::TaskList(page)) = list.unwrap().kind else { panic!("no page") };
    assert_eq!((page.total_size, page.page_size, page.tasks.len()), (0, 50, 0));
}

#[tokio::test]
async fn immediate_send_gets_task_for_direct_reply() {
    let engine = engine();
    let first = send_for_task(&engine, immediate_request("say hi")).await;
    assert!(!first.status.state.is_interrupted());
    let done = get(&engine, &first).await.unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(done.status.message.as_ref().unwrap().text(), "hi");
}

#[tokio::test]
async fn stream_starts_with_task_and_closes_at_terminal_state() {
    let engine = engine();
    let events = events(&engine, stream("hello")).await.unwrap();
    let want = ["task Submitted", "status Working", "artifact hello", "status Completed"];
    assert_eq!(kinds(&events), want);
    assert_eq!(revisions(&events), [1, 2, 3, 4]);
    let last: Vec<_> = events.iter().map(|it| it.finality == Finality::Last).collect();
    assert_eq!(last, [false, false, false, true]);
}

#[tokio::test]
async fn direct_reply_stream_has_one_event() {
    let events = events(&direct_engine(), stream("say hi")).await.unwrap();
    assert_eq!(kinds(&events), ["message hi"]);
}

#[tokio::test]
async fn input_request_ends_blocking_send_and_follow_up_completes() {
    let engine = engine();
    let interrupted = send_for_task(&engine, user_request("ask what?")).await;
    assert_eq!(interrupted.status.state, TaskState::InputRequired);
    let done = send_for_task(&engine, follow_up_request(&interrupted, "this")).await;
    assert_eq!((done.status.state, done.text().as_str()), (TaskState::Completed, "this"));
    let texts: Vec<_> = done.history.iter().map(|it| it.text()).collect();
    assert_eq!(texts, ["ask what?", "what?", "this"]);
    assert_eq!(done.context_id, interrupted.context_id);
}

#[tokio::test]
async fn follow_up_stream_starts_with_task() {
    let engine = engine();
    let interrupted = send_for_task(&engine, user_request("ask what?")).await;
    let request = Request::SendStreamingMessage(follow_up_request(&interrupted, "this"));
    let events = events(&engine, Call::new(request)).await.unwrap();
    assert_eq!(kinds(&events), ["task Working", "artifact this", "status Completed"]);
    let StreamResponse::Task(task) = events[0].event.event() else { panic!() };
    assert_eq!(task.history.len(), 3);
}

#[tokio::test]
async fn failure_reason_is_public_but_cause_is_not() {
    for (text, want) in
        [("fail no", "no"), ("error", "the agent failed"), ("panic", "the agent failed")]
    {
        let task = send_for_task(&engine(), user_request(text)).await;
        assert_eq!(task.status.state, TaskState::Failed, "{text}");
        assert_eq!(task.status.message.as_ref().unwrap().text(), want, "{text}");
    }
}

#[tokio::test]
async fn terminal_task_rejects_messages_and_subscriptions() {
    let engine = engine();
    let done = send_for_task(&engine, user_request("reject no")).await;
    assert_eq!(done.status.state, TaskState::Rejected);
    let error = send(&engine, follow_up_request(&done, "again")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskFinished);
    let error = events(&engine, subscribe(&done, None)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    assert_eq!(get(&engine, &done).await.unwrap(), done);
}

#[tokio::test]
async fn subscription_resumes_after_last_event_id() {
    let engine = engine();
    let done = send_for_task(&engine, user_request("chunks 500")).await;
    assert_eq!(done.artifacts[0].parts.len(), 500);
    for after in [1, 2, 3, 250, 502, 503] {
        let remainder = events(&engine, subscribe(&done, Some(after))).await.unwrap();
        assert_eq!(revisions(&remainder), (after + 1..=503).collect::<Vec<_>>());
    }
    let error = events(&engine, subscribe(&done, Some(504))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
}

#[tokio::test]
async fn cancel_stops_the_agent() {
    let engine = engine();
    let started = send_for_task(&engine, immediate_request("wait 60000")).await;
    let canceled = cancel(&engine, &started).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    assert_eq!(
        cancel(&engine, &started).await.unwrap(),
        canceled,
        "a second cancellation succeeds"
    );
    wait_until("the turn has ended", async || engine.activity().turns == 0).await;
}

#[tokio::test]
async fn panic_during_cancellation_fails_the_task() {
    let engine = engine();
    let started = send_for_task(&engine, immediate_request("fragile")).await;
    let error = cancel(&engine, &started).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotCancelable);
    let failed = get(&engine, &started).await.unwrap();
    assert_eq!(failed.status.state, TaskState::Failed);
    assert_eq!(failed.status.message.as_ref().unwrap().text(), "the agent failed");
}

#[tokio::test(start_paused = true)]
async fn agent_ignoring_cancellation_is_dropped_after_grace() {
    let engine = engine();
    let started = send_for_task(&engine, immediate_request("stubborn 60000")).await;
    let canceled = cancel(&engine, &started).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
}

#[tokio::test(start_paused = true)]
async fn agent_can_decline_cancellation() {
    let engine = engine();
    let started = send_for_task(&engine, immediate_request("decline 60000")).await;
    for time in ["first", "second"] {
        let error = cancel(&engine, &started).await.unwrap_err();
        let actual = (error.kind(), error.message());
        assert_eq!(actual, (ErrorKind::TaskNotCancelable, "not now"), "{time}");
        assert_eq!(get(&engine, &started).await.unwrap().status.state, TaskState::Working);
    }
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(get(&engine, &started).await.unwrap().status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn cancel_fails_if_agent_completes_within_grace() {
    let engine = engine();
    let started = send_for_task(&engine, immediate_request("stubborn 10")).await;
    let error = cancel(&engine, &started).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotCancelable);
    assert_eq!(get(&engine, &started).await.unwrap().status.state, TaskState::Completed);
}

#[tokio::test]
async fn interrupted_task_can_be_canceled() {
    let engine = engine();
    let interrupted = send_for_task(&engine, user_request("ask what?")).await;
    assert_eq!(cancel(&engine, &interrupted).await.unwrap().status.state, TaskState::Canceled);
}

#[tokio::test(start_paused = true)]
async fn blocking_send_times_out_but_task_continues() {
    let engine = engine_with(Policy { max_wait: Duration::from_secs(1), ..Policy::default() });
    let running = send_for_task(&engine, user_request("silent 5000")).await;
    assert_eq!(running.status.state, TaskState::Working);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(get(&engine, &running).await.unwrap().status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn turn_exceeding_timeout_fails() {
    let turn_timeout = Some(Duration::from_secs(1));
    let engine = engine_with(Policy { turn_timeout, ..Policy::default() });
    let task = send_for_task(&engine, user_request("wait 5000")).await;
    assert_eq!(task.status.state, TaskState::Failed);
}

#[tokio::test(start_paused = true)]
async fn follow_up_to_running_task_is_queued() {
    let engine = engine();
    let running = send_for_task(&engine, immediate_request("wait 1000")).await;
    let error = send(&engine, follow_up_request(&running, "more")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskFinished, "the first turn completed the task");
    let running = send_for_task(&engine, immediate_request("wait 1000")).await;
    let accepted = send_for_task(&engine, immediate_follow_up(&running, "more")).await;
    assert!(
        accepted.history.iter().any(|it| it.text() == "more"),
        "the follow-up is in the history"
    );
}

fn immediate_follow_up(task: &Task, text: &str) -> SendMessageRequest {
    SendMessageRequest {
        configuration: immediate_request("").configuration,
        ..follow_up_request(task, text)
    }
}

#[tokio::test]
async fn resent_message_gets_original_result() {
    let engine = direct_engine();
    let request = user_request("hello");
    let first = send_for_task(&engine, request.clone()).await;
    assert_eq!(send_for_task(&engine, request.clone()).await, first);
    let mut other = request;
    other.message.parts = vec!["other".into()];
    assert_ne!(
        send_for_task(&engine, other).await.id,
        first.id,
        "a message with other content is new"
    );
    let request = user_request("say hi");
    let first = send(&engine, request.clone()).await.unwrap();
    assert_eq!(send(&engine, request).await.unwrap(), first);
}

#[tokio::test]
async fn concurrent_duplicate_messages_run_once() {
    let engine = engine();
    let request = user_request("wait 20");
    let (one, other) =
        tokio::join!(send_for_task(&engine, request.clone()), send_for_task(&engine, request));
    assert_eq!(one, other);
}

#[tokio::test]
async fn history_length_trims_sent_and_fetched_tasks() {
    let engine = engine();
    let texts = |task: &Task| task.history.iter().map(|it| it.text()).collect::<Vec<_>>();
    for (history_length, want) in
        [(None, &["ask what?", "what?", "this"][..]), (Some(2), &["what?", "this"]), (Some(0), &[])]
    {
        let interrupted = send_for_task(&engine, user_request("ask what?")).await;
        let configuration = SendMessageConfiguration { history_length, ..Default::default() };
        let request = SendMessageRequest {
            configuration: Some(configuration),
            ..follow_up_request(&interrupted, "this")
        };
        let sent = send_for_task(&engine, request).await;
        assert_eq!(texts(&sent), want, "{history_length:?}");
        let request = GetTaskRequest { history_length, ..interrupted.id.clone().into() };
        let response = engine.call(Call::new(Request::GetTask(request))).await.unwrap();
        let ReplyKind::Single(Reply::Task(task)) = response.kind else { panic!("{response:?}") };
        assert_eq!(texts(&task), want, "{history_length:?}");
        let request = ListTasksRequest {
            history_length,
            context_id: interrupted.context_id.clone(),
            ..Default::default()
        };
        let response = engine.call(Call::new(Request::ListTasks(request))).await.unwrap();
        let ReplyKind::Single(Reply::TaskList(page)) = response.kind else { panic!() };
        assert_eq!(texts(&page.tasks[0]), want, "{history_length:?}");
    }
}

#[tokio::test]
async fn other_callers_get_task_not_found() {
    let engine = engine();
    let owned = send_for_task(&engine, user_request("hello")).await;
    let mut call = Call::new(Request::GetTask(GetTaskRequest::from(owned.id.clone())));
    call.context.caller = latimer_protocol::Caller::new("eve");
    let error = engine.call(call).await.unwrap_err();
    assert_eq!(error, Error::task_not_found(&owned.id));
}

#[tokio::test]
async fn subscribers_receive_identical_events() {
    let engine = engine();
    let interrupted = send_for_task(&engine, user_request("ask what?")).await;
    let mut reader = JoinSet::new();
    reader.spawn({
        let (engine, call) = (engine.clone(), subscribe(&interrupted, None));
        async move { events(&engine, call).await.unwrap() }
    });
    let other = events(&engine, subscribe(&interrupted, None));
    let follow_up = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        send_for_task(&engine, follow_up_request(&interrupted, "this")).await
    };
    let (other, _) = tokio::join!(other, follow_up);
    let other = other.unwrap();
    assert_eq!(
        kinds(&other),
        ["task InputRequired", "status Working", "artifact this", "status Completed"],
    );
    assert_eq!(reader.join_next().await.unwrap().unwrap(), other);
    assert_eq!(engine.activity(), Activity::default());
}

#[tokio::test]
async fn drain_timeout_leaves_task_running_and_ends_streams() {
    let engine = engine();
    let running = send_for_task(&engine, immediate_request("wait 60000")).await;
    let mut reader = JoinSet::new();
    reader.spawn({
        let (engine, call) = (engine.clone(), subscribe(&running, None));
        async move { events(&engine, call).await }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    engine.drain(Duration::from_millis(20)).await;
    let read = reader.join_next().await.unwrap().unwrap();
    assert_eq!(read.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(get(&engine, &running).await.unwrap().status.state, TaskState::Working);
    let error = send(&engine, user_request("hello")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn drain_waits_for_blocking_sends() {
    let engine = engine();
    let started_at = tokio::time::Instant::now();
    let mut sender = JoinSet::new();
    sender.spawn({
        let engine = engine.clone();
        async move { send_for_task(&engine, user_request("silent 1000")).await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    engine.drain(Duration::from_secs(60)).await;
    let task = sender.join_next().await.unwrap().unwrap();
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(started_at.elapsed().as_secs(), 1);
}

#[tokio::test]
async fn endlessly_emitting_agent_is_stopped() {
    let engine = engine();
    let started = send_for_task(&engine, immediate_request("talk")).await;
    let canceled = tokio::time::timeout(Duration::from_secs(5), cancel(&engine, &started)).await;
    assert_eq!(canceled.unwrap().unwrap().status.state, TaskState::Canceled);

    let turn_timeout = Some(Duration::from_millis(50));
    let engine = engine_with(Policy { turn_timeout, ..Policy::default() });
    let failed =
        tokio::time::timeout(Duration::from_secs(5), send_for_task(&engine, user_request("talk")))
            .await;
    assert_eq!(failed.unwrap().status.state, TaskState::Failed);
}

#[tokio::test]
async fn concurrent_sends_with_same_client_task_id_share_task() {
    let engine = engine();
    let named = |text: &str| {
        let mut request = user_request(text);
        request.message.task_id = Some(latimer_protocol::TaskId::new("mine").unwrap());
        let mut call = Call::new(Request::SendMessage(request));
        call.context.dialect = Dialect::V0_1;
        call
    };
    let (one, other) =
        tokio::join!(engine.call(named("ask what?")), engine.call(named("this is the answer")),);
    let states = [one, other].map(|response| match response.unwrap().kind {
        ReplyKind::Single(Reply::SendMessage(SendMessageResponse::Task(task))) => task.status.state,
        other => panic!("{other:?}"),
    });
    assert_eq!(states, [TaskState::InputRequired, TaskState::Completed]);
}

#[tokio::test(start_paused = true)]
async fn queued_follow_up_wait_is_limited_by_max_wait() {
    let max_wait = Duration::from_secs(1);
    let engine = engine_with(Policy { max_wait, ..Policy::default() });
    let running = send_for_task(&engine, immediate_request("wait 5000")).await;
    let started_at = tokio::time::Instant::now();
    let acknowledged = send_for_task(&engine, follow_up_request(&running, "more")).await;
    assert!(started_at.elapsed() < Duration::from_secs(2));
    assert_eq!(acknowledged.status.state, TaskState::Working);
    assert!(acknowledged.history.iter().any(|it| it.text() == "more"));
}

#[tokio::test]
async fn direct_reply_can_be_flushed() {
    let agent = Agent::from_fn("test", |turn: Turn| async move {
        turn.direct_reply("hi").await?;
        turn.flush().await
    });
    let registry = Arc::new(AgentRegistry::new([agent.with_direct_replies()]).unwrap());
    let engine = Engine::new(registry, Arc::new(MemoryStore::default()), EngineLimits::default());
    let reply =
        tokio::time::timeout(Duration::from_secs(1), send(&engine, user_request("x"))).await;
    assert!(matches!(reply.unwrap().unwrap(), SendMessageResponse::Message(_)));
}

#[tokio::test]
async fn turn_exposes_caller_id() {
    let mut call = Call::new(Request::SendMessage(user_request("who")));
    call.context.caller = latimer_protocol::Caller::new("alice");
    let ReplyKind::Single(Reply::SendMessage(SendMessageResponse::Message(message))) =
        direct_engine().call(call).await.unwrap().kind
    else {
        panic!("no message")
    };
    assert_eq!(message.text(), "alice");
}

#[tokio::test]
async fn context_tasks_include_earlier_tasks() {
    let engine = engine();
    let context = ids::context();
    let in_context = |mut request: SendMessageRequest| {
        request.message.context_id = Some(context.clone());
        request
    };
    send_for_task(&engine, in_context(user_request("one"))).await;
    send_for_task(&engine, user_request("elsewhere")).await;
    let last = send_for_task(&engine, in_context(user_request("before"))).await;
    assert_eq!(last.text(), "one");
}

#[tokio::test]
async fn metadata_can_name_the_agent() {
    let agents = ["one", "other"].map(|name| {
        Agent::from_fn(name, |turn: Turn| async move {
            turn.direct_reply(turn.agent().to_string()).await
        })
        .with_direct_replies()
    });
    let registry = Arc::new(AgentRegistry::new(agents).unwrap());
    let engine = Engine::new(registry, Arc::new(MemoryStore::default()), EngineLimits::default());
    let mut named = user_request("hello");
    named.metadata.insert("agent".into(), "other".into());
    for (request, want) in [(user_request("hello"), "one"), (named, "other")] {
        let reply = send(&engine, request).await.unwrap();
        let SendMessageResponse::Message(message) = reply else { panic!("{reply:?}") };
        assert_eq!(message.text(), want);
    }
}

#[tokio::test(start_paused = true)]
async fn expired_tasks_are_swept_periodically() {
    use latimer_store::Retention;
    let retention = Retention {
        max_age: Duration::ZERO,
        sweep_interval: Duration::from_secs(60),
        ..Retention::DEFAULT_MEMORY
    };
    let registry = AgentRegistry::new([Agent::from_fn("test", scripted_agent)]).unwrap();
    let store = Arc::new(MemoryStore::new(retention));
    let engine = Engine::new(Arc::new(registry), store, EngineLimits::default());
    engine.recover().await.unwrap();
    let done = send_for_task(&engine, user_request("hello")).await;
    assert!(get(&engine, &done).await.is_ok());
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(get(&engine, &done).await.unwrap_err().kind(), ErrorKind::TaskNotFound);
}
