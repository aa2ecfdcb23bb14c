//! What the engine promises, seen through the seam.

mod again;
mod conversations;
mod fan_out;
mod kept;
mod races;

use std::time::Duration;

use futures_util::StreamExt;
use latimer_protocol::{
    CancelTaskRequest, Finality, GetTaskRequest, ListTasksRequest, Message, Revision,
    SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamEvent, StreamResponse,
    SubscribeToTaskRequest, TaskState,
};
use latimer_store::MemoryStore;

use super::*;
use crate::{Contexts, Failure, Policy, Turn};

/// Does what the first word of a message says.
async fn agent(turn: Turn) -> Result<(), Failure> {
    let text = turn.text();
    let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
    match word {
        "say" => turn.say(rest).await?,
        "who" => turn.say(turn.caller().id().to_string()).await?,
        "before" => {
            let before = turn.conversation(10).await?;
            let texts: Vec<_> = before.iter().map(|it| it.text()).collect();
            turn.reply(texts.join(",")).await?;
        }
        "late" => {
            tokio::task::yield_now().await;
            turn.say(rest).await?;
            tokio::task::yield_now().await;
        }
        "ask" if turn.task().is_none() => turn.ask(rest).await?,
        "auth" if turn.task().is_none() => turn.ask_authorization(rest).await?,
        "fail" => return Err(Failure::new(rest)),
        "panic" => panic!("on request"),
        "error" => return Err(std::io::Error::other("secret").into()),
        "reject" => turn.reject(rest).await?,
        "wait" => {
            turn.working().await?;
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(rest.parse()?)) => {}
                () = turn.cancelled().cancelled() => return Ok(()),
            }
        }
        "silent" => tokio::time::sleep(Duration::from_millis(rest.parse()?)).await,
        "stubborn" => {
            turn.working().await?;
            tokio::time::sleep(Duration::from_millis(rest.parse()?)).await;
            turn.complete().await?;
        }
        "decline" => {
            turn.working().await?;
            turn.cancelled().cancelled().await;
            turn.decline_cancel(Error::new(ErrorKind::TaskNotCancelable, "not now"));
            tokio::time::sleep(Duration::from_millis(rest.parse()?)).await;
        }
        "talk" => loop {
            turn.status("blah").await?;
        },
        "chunks" => {
            let mut out = turn.artifact("chunks");
            for number in 1..=rest.parse::<u32>()? {
                out.push(format!("{number}")).await?;
                tokio::task::yield_now().await;
            }
        }
        _ => turn.reply(text).await?,
    }
    Ok(())
}

fn engine_with(policy: Policy) -> Engine {
    let agent = Agent::from_fn("test", agent).with_policy(policy);
    let registry = Registry::new([agent]).unwrap();
    Engine::new(Arc::new(registry), Arc::new(MemoryStore::default()), Limits::default())
}

fn engine() -> Engine {
    engine_with(Policy { cancel_grace: Duration::from_millis(50), ..Policy::default() })
}

fn says(text: &str) -> SendMessageRequest {
    SendMessageRequest::from(Message::user(ids::message(), text))
}

fn at_once(text: &str) -> SendMessageRequest {
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    SendMessageRequest { configuration: Some(configuration), ..says(text) }
}

fn answers(task: &Task, text: &str) -> SendMessageRequest {
    SendMessageRequest::from(Message::user(ids::message(), text).with_task(task.id.clone()))
}

async fn send(engine: &Engine, request: SendMessageRequest) -> Result<SendMessageResponse, Error> {
    let answer = engine.call(Call::new(Request::SendMessage(request))).await?;
    let Reply::SendMessage(sent) = answer.reply else { panic!("{:?}", answer.reply) };
    Ok(sent)
}

async fn task(engine: &Engine, request: SendMessageRequest) -> Arc<Task> {
    match send(engine, request).await {
        Ok(SendMessageResponse::Task(task)) => task,
        other => panic!("{other:?}"),
    }
}

async fn events(engine: &Engine, call: Call) -> Result<Vec<StreamEvent>, Error> {
    let Reply::Stream(stream) = engine.call(call).await?.reply else { panic!("no stream") };
    stream.collect::<Vec<_>>().await.into_iter().collect()
}

fn stream(text: &str) -> Call {
    Call::new(Request::SendStreamingMessage(says(text)))
}

fn subscribe(task: &Task, after: Option<u64>) -> Call {
    let request = Request::SubscribeToTask(SubscribeToTaskRequest::from(task.id.clone()));
    Call { resume_after: after.map(Revision::new), ..Call::new(request) }
}

async fn get(engine: &Engine, task: &Task) -> Result<Arc<Task>, Error> {
    let request = Request::GetTask(GetTaskRequest::from(task.id.clone()));
    match engine.call(Call::new(request)).await?.reply {
        Reply::Task(task) => Ok(task),
        other => panic!("{other:?}"),
    }
}

async fn cancel(engine: &Engine, task: &Task) -> Result<Arc<Task>, Error> {
    let request = Request::CancelTask(CancelTaskRequest::from(task.id.clone()));
    match engine.call(Call::new(request)).await?.reply {
        Reply::Task(task) => Ok(task),
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
async fn an_echo_is_a_completed_task_with_its_history() {
    let engine = engine();
    let task = task(&engine, says("hello")).await;
    assert_eq!((task.status.state, task.text().as_str()), (TaskState::Completed, "hello"));
    assert_eq!(task.history.len(), 1);
    assert_eq!(task.history[0].task_id.as_ref(), Some(&task.id));
    assert_eq!(get(&engine, &task).await.unwrap(), task);
    assert_eq!(engine.activity(), Activity { live_tasks: 0, turns: 0, streams: 0 });
}

#[tokio::test]
async fn a_direct_answer_leaves_no_task() {
    let engine = engine();
    for text in ["say hi", "late hi"] {
        let sent = send(&engine, says(text)).await.unwrap();
        let SendMessageResponse::Message(message) = sent else { panic!("{sent:?}") };
        assert_eq!((message.text().as_str(), message.task_id), ("hi", None));
        assert!(message.context_id.is_some());
    }
    let list = engine.call(Call::new(Request::ListTasks(ListTasksRequest::default()))).await;
    let Reply::TaskList(page) = list.unwrap().reply else { panic!("no page") };
    assert_eq!((page.total_size, page.page_size, page.tasks.len()), (0, 50, 0));
}

#[tokio::test]
async fn whoever_does_not_wait_gets_a_task_even_of_a_direct_answer() {
    let engine = engine();
    let first = task(&engine, at_once("say hi")).await;
    assert!(!first.status.state.is_interrupted());
    let done = get(&engine, &first).await.unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(done.status.message.as_ref().unwrap().text(), "hi");
}

#[tokio::test]
async fn a_stream_begins_with_the_task_and_ends_with_its_end() {
    let engine = engine();
    let events = events(&engine, stream("hello")).await.unwrap();
    let want = ["task Submitted", "status Working", "artifact hello", "status Completed"];
    assert_eq!(kinds(&events), want);
    assert_eq!(revisions(&events), [1, 2, 3, 4]);
    let last: Vec<_> = events.iter().map(|it| it.finality == Finality::Last).collect();
    assert_eq!(last, [false, false, false, true]);
}

#[tokio::test]
async fn a_direct_answer_is_a_stream_of_one() {
    let events = events(&engine(), stream("say hi")).await.unwrap();
    assert_eq!(kinds(&events), ["message hi"]);
}

#[tokio::test]
async fn a_question_ends_the_wait_and_its_answer_goes_on() {
    let engine = engine();
    let asked = task(&engine, says("ask what?")).await;
    assert_eq!(asked.status.state, TaskState::InputRequired);
    let done = task(&engine, answers(&asked, "this")).await;
    assert_eq!((done.status.state, done.text().as_str()), (TaskState::Completed, "this"));
    let said: Vec<_> = done.history.iter().map(|it| it.text()).collect();
    assert_eq!(said, ["ask what?", "what?", "this"]);
    assert_eq!(done.context_id, asked.context_id);
}

#[tokio::test]
async fn the_stream_of_an_answer_begins_with_the_task() {
    let engine = engine();
    let asked = task(&engine, says("ask what?")).await;
    let request = Request::SendStreamingMessage(answers(&asked, "this"));
    let events = events(&engine, Call::new(request)).await.unwrap();
    assert_eq!(kinds(&events), ["task Working", "artifact this", "status Completed"]);
    let StreamResponse::Task(task) = events[0].event.event() else { panic!() };
    assert_eq!(task.history.len(), 3);
}

#[tokio::test]
async fn failures_are_told_and_causes_are_not() {
    for (text, want) in
        [("fail no", "no"), ("error", "the agent failed"), ("panic", "the agent failed")]
    {
        let task = task(&engine(), says(text)).await;
        assert_eq!(task.status.state, TaskState::Failed, "{text}");
        assert_eq!(task.status.message.as_ref().unwrap().text(), want, "{text}");
    }
}

#[tokio::test]
async fn a_finished_task_takes_no_message_and_no_subscriber() {
    let engine = engine();
    let done = task(&engine, says("reject no")).await;
    assert_eq!(done.status.state, TaskState::Rejected);
    let error = send(&engine, answers(&done, "again")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskFinished);
    let error = events(&engine, subscribe(&done, None)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    assert_eq!(get(&engine, &done).await.unwrap(), done);
}

#[tokio::test]
async fn a_cut_stream_goes_on_where_it_was() {
    let engine = engine();
    let done = task(&engine, says("chunks 500")).await;
    assert_eq!(done.artifacts[0].parts.len(), 500);
    for after in [1, 2, 3, 250, 502, 503] {
        let rest = events(&engine, subscribe(&done, Some(after))).await.unwrap();
        assert_eq!(revisions(&rest), (after + 1..=503).collect::<Vec<_>>());
    }
    let error = events(&engine, subscribe(&done, Some(504))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
}

#[tokio::test]
async fn cancel_stops_the_agent() {
    let engine = engine();
    let started = task(&engine, at_once("wait 60000")).await;
    let canceled = cancel(&engine, &started).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    assert_eq!(cancel(&engine, &started).await.unwrap(), canceled, "once more is no harm");
    tokio::time::timeout(Duration::from_secs(1), async {
        while engine.activity().turns > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_stop_is_dropped() {
    let engine = engine();
    let started = task(&engine, at_once("stubborn 60000")).await;
    let canceled = cancel(&engine, &started).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
}

#[tokio::test(start_paused = true)]
async fn an_agent_may_decline_to_stop() {
    let engine = engine();
    let started = task(&engine, at_once("decline 60000")).await;
    for time in ["first", "second"] {
        let error = cancel(&engine, &started).await.unwrap_err();
        let found = (error.kind(), error.message());
        assert_eq!(found, (ErrorKind::TaskNotCancelable, "not now"), "{time}");
        assert_eq!(get(&engine, &started).await.unwrap().status.state, TaskState::Working);
    }
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(get(&engine, &started).await.unwrap().status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn cancel_loses_against_an_agent_that_is_done_within_the_grace_time() {
    let engine = engine();
    let started = task(&engine, at_once("stubborn 10")).await;
    let error = cancel(&engine, &started).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotCancelable);
    assert_eq!(get(&engine, &started).await.unwrap().status.state, TaskState::Completed);
}

#[tokio::test]
async fn a_task_that_waits_for_its_caller_can_be_canceled() {
    let engine = engine();
    let asked = task(&engine, says("ask what?")).await;
    assert_eq!(cancel(&engine, &asked).await.unwrap().status.state, TaskState::Canceled);
}

#[tokio::test(start_paused = true)]
async fn a_blocking_send_gives_up_waiting_but_not_the_task() {
    let engine = engine_with(Policy { max_wait: Duration::from_secs(1), ..Policy::default() });
    let live = task(&engine, says("silent 5000")).await;
    assert_eq!(live.status.state, TaskState::Working);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(get(&engine, &live).await.unwrap().status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_takes_too_long_fails() {
    let max_turn = Some(Duration::from_secs(1));
    let engine = engine_with(Policy { max_turn, ..Policy::default() });
    let task = task(&engine, says("wait 5000")).await;
    assert_eq!(task.status.state, TaskState::Failed);
}

#[tokio::test(start_paused = true)]
async fn a_message_to_a_running_task_waits_its_turn() {
    let engine = engine();
    let running = task(&engine, at_once("wait 1000")).await;
    let error = send(&engine, answers(&running, "more")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskFinished, "the first turn completed it");
    let running = task(&engine, at_once("wait 1000")).await;
    let accepted = task(&engine, answers_at_once(&running, "more")).await;
    assert!(accepted.history.iter().any(|it| it.text() == "more"), "it was written down");
}

fn answers_at_once(task: &Task, text: &str) -> SendMessageRequest {
    SendMessageRequest { configuration: at_once("").configuration, ..answers(task, text) }
}

#[tokio::test]
async fn a_message_that_comes_again_gets_the_same_answer() {
    let engine = engine();
    let request = says("hello");
    let first = task(&engine, request.clone()).await;
    assert_eq!(task(&engine, request.clone()).await, first);
    let mut other = request;
    other.message.parts = vec!["other".into()];
    assert_ne!(task(&engine, other).await.id, first.id, "other contents are another message");
    let request = says("say hi");
    let first = send(&engine, request.clone()).await.unwrap();
    assert_eq!(send(&engine, request).await.unwrap(), first);
}

#[tokio::test]
async fn a_message_that_comes_twice_at_a_time_is_worked_on_once() {
    let engine = engine();
    let request = says("wait 20");
    let (one, other) = tokio::join!(task(&engine, request.clone()), task(&engine, request));
    assert_eq!(one, other);
}

#[tokio::test]
async fn strangers_find_nothing() {
    let engine = engine();
    let mine = task(&engine, says("hello")).await;
    let call = Call::new(Request::GetTask(GetTaskRequest::from(mine.id.clone())));
    let call = Call { caller: latimer_protocol::Caller::new("eve"), ..call };
    let error = engine.call(call).await.unwrap_err();
    assert_eq!(error, Error::task_not_found(&mine.id));
}

#[tokio::test]
async fn all_watch_the_same() {
    let engine = engine();
    let asked = task(&engine, says("ask what?")).await;
    let one = tokio::spawn({
        let (engine, call) = (engine.clone(), subscribe(&asked, None));
        async move { events(&engine, call).await.unwrap() }
    });
    let other = events(&engine, subscribe(&asked, None));
    let answer = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        task(&engine, answers(&asked, "this")).await
    };
    let (other, _) = tokio::join!(other, answer);
    let other = other.unwrap();
    assert_eq!(
        kinds(&other),
        ["task InputRequired", "status Working", "artifact this", "status Completed"],
    );
    assert_eq!(one.await.unwrap(), other);
    assert_eq!(engine.activity(), Activity { live_tasks: 0, turns: 0, streams: 0 });
}

#[tokio::test]
async fn a_stop_leaves_the_rest_for_later_and_says_so() {
    let engine = engine();
    let running = task(&engine, at_once("wait 60000")).await;
    let watching = tokio::spawn({
        let (engine, call) = (engine.clone(), subscribe(&running, None));
        async move { events(&engine, call).await }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    engine.drain(Duration::from_millis(20)).await;
    assert_eq!(watching.await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(get(&engine, &running).await.unwrap().status.state, TaskState::Working);
    let error = send(&engine, says("hello")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn who_drains_the_engine_waits_for_what_callers_wait_for() {
    let engine = engine();
    let begun = tokio::time::Instant::now();
    let waiting = tokio::spawn({
        let engine = engine.clone();
        async move { task(&engine, says("silent 1000")).await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    engine.drain(Duration::from_secs(60)).await;
    assert_eq!(waiting.await.unwrap().status.state, TaskState::Completed);
    assert_eq!(begun.elapsed().as_secs(), 1);
}

#[tokio::test]
async fn an_agent_that_never_stops_talking_is_stopped() {
    let engine = engine();
    let started = task(&engine, at_once("talk")).await;
    let canceled = tokio::time::timeout(Duration::from_secs(5), cancel(&engine, &started)).await;
    assert_eq!(canceled.unwrap().unwrap().status.state, TaskState::Canceled);

    let max_turn = Some(Duration::from_millis(50));
    let engine = engine_with(Policy { max_turn, ..Policy::default() });
    let failed = tokio::time::timeout(Duration::from_secs(5), task(&engine, says("talk"))).await;
    assert_eq!(failed.unwrap().status.state, TaskState::Failed);
}

#[tokio::test]
async fn two_who_choose_one_name_share_the_task() {
    let engine = engine();
    let named = |text: &str| {
        let mut request = says(text);
        request.message.task_id = Some(latimer_protocol::TaskId::new("mine").unwrap());
        let call = Call::new(Request::SendMessage(request));
        Call { dialect: Dialect::V0_1, ..call }
    };
    let (one, other) =
        tokio::join!(engine.call(named("ask what?")), engine.call(named("this is the answer")),);
    let states = [one, other].map(|answer| match answer.unwrap().reply {
        Reply::SendMessage(SendMessageResponse::Task(task)) => task.status.state,
        other => panic!("{other:?}"),
    });
    assert_eq!(states, [TaskState::InputRequired, TaskState::Completed]);
}

#[tokio::test(start_paused = true)]
async fn a_message_to_a_running_task_waits_no_longer_than_any_other() {
    let max_wait = Duration::from_secs(1);
    let engine = engine_with(Policy { max_wait, ..Policy::default() });
    let running = task(&engine, at_once("wait 5000")).await;
    let begun = tokio::time::Instant::now();
    let told = task(&engine, answers(&running, "more")).await;
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert_eq!(told.status.state, TaskState::Working);
    assert!(told.history.iter().any(|it| it.text() == "more"));
}

#[tokio::test]
async fn what_is_said_directly_can_be_waited_for() {
    let agent = Agent::from_fn("test", |turn: Turn| async move {
        turn.say("hi").await?;
        turn.flush().await
    });
    let registry = Arc::new(Registry::new([agent]).unwrap());
    let engine = Engine::new(registry, Arc::new(MemoryStore::default()), Limits::default());
    let sent = tokio::time::timeout(Duration::from_secs(1), send(&engine, says("x"))).await;
    assert!(matches!(sent.unwrap().unwrap(), SendMessageResponse::Message(_)));
}

#[tokio::test]
async fn an_agent_knows_who_asks() {
    let call = Call::new(Request::SendMessage(says("who")));
    let call = Call { caller: latimer_protocol::Caller::new("alice"), ..call };
    let Reply::SendMessage(SendMessageResponse::Message(said)) =
        engine().call(call).await.unwrap().reply
    else {
        panic!("no message")
    };
    assert_eq!(said.text(), "alice");
}

#[tokio::test]
async fn a_conversation_is_remembered_across_tasks() {
    let engine = engine();
    let context = ids::context();
    let in_context = |mut request: SendMessageRequest| {
        request.message.context_id = Some(context.clone());
        request
    };
    task(&engine, in_context(says("one"))).await;
    task(&engine, says("elsewhere")).await;
    let last = task(&engine, in_context(says("before"))).await;
    assert_eq!(last.text(), "one");
}

#[tokio::test]
async fn metadata_can_name_the_agent() {
    let agents = ["one", "other"].map(|name| {
        Agent::from_fn(name, |turn: Turn| async move { turn.say(turn.agent().to_string()).await })
    });
    let registry = Arc::new(Registry::new(agents).unwrap());
    let engine = Engine::new(registry, Arc::new(MemoryStore::default()), Limits::default());
    let mut named = says("hello");
    named.metadata.insert("agent".into(), "other".into());
    for (request, want) in [(says("hello"), "one"), (named, "other")] {
        let sent = send(&engine, request).await.unwrap();
        let SendMessageResponse::Message(said) = sent else { panic!("{sent:?}") };
        assert_eq!(said.text(), want);
    }
}

#[tokio::test(start_paused = true)]
async fn old_tasks_are_swept_now_and_then() {
    use latimer_store::Retention;
    let retention = Retention {
        max_age: Duration::ZERO,
        sweep_interval: Duration::from_secs(60),
        ..Retention::DEFAULT_MEMORY
    };
    let registry = Registry::new([Agent::from_fn("test", agent)]).unwrap();
    let store = Arc::new(MemoryStore::new(retention));
    let engine = Engine::new(Arc::new(registry), store, Limits::default());
    engine.recover().await.unwrap();
    let done = task(&engine, says("hello")).await;
    assert!(get(&engine, &done).await.is_ok());
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(get(&engine, &done).await.unwrap_err().kind(), ErrorKind::TaskNotFound);
}
