//! Servers that stream in their own way are followed all the same, or found out.

use std::sync::Arc;

use latimer_client::{Client, Error, Polling, Source, says};
use latimer_protocol::card::AgentCard;
use latimer_protocol::{ErrorKind, SendMessageResponse, StreamResponse, Task, TaskId, TaskState};
use serde_json::{Value, json};

use crate::support::{Answer, Stub, loopback};

fn task(state: &str) -> Value {
    json!({"task": {"id": "t1", "contextId": "c1", "status": {"state": state}}})
}

fn status(state: &str) -> Value {
    json!({"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": {"state": state}}})
}

fn piece(text: &str) -> Value {
    let artifact = json!({"artifactId": "a", "parts": [{"text": text}]});
    json!({"artifactUpdate": {"taskId": "t1", "contextId": "c1", "artifact": artifact, "append": true}})
}

/// A stream of these events, with numbers if they have some.
fn stream(events: &[(Option<u64>, Value)]) -> Answer {
    let frame = |(id, event): &(Option<u64>, Value)| {
        let id = id.map_or(String::new(), |id| format!("id: {id}\n"));
        format!("{id}data: {}\n\n", json!({"jsonrpc": "2.0", "id": "1", "result": event}))
    };
    Answer::Close(Answer::stream(&events.iter().map(frame).collect::<String>()))
}

fn result(result: &Value) -> Answer {
    Answer::json(json!({"jsonrpc": "2.0", "id": "1", "result": result}))
}

fn refused() -> Answer {
    Answer::json(json!({"jsonrpc": "2.0", "id": "1", "error": {"code": -32601, "message": "no"}}))
}

/// An agent that answers by method.
async fn agent(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> (Stub, Client) {
    let stub = Stub::start(move |asked| {
        let asked: Value = serde_json::from_str(&asked.body).unwrap();
        answer(asked["method"].as_str().unwrap())
    })
    .await;
    let polling = Polling { interval: std::time::Duration::from_millis(5), max: 100 };
    let client = Client::builder(stub.url()).polling(polling).build().unwrap();
    (stub, client)
}

fn whole(outcome: SendMessageResponse) -> Task {
    match outcome {
        SendMessageResponse::Task(task) => (*task).clone(),
        SendMessageResponse::Message(message) => panic!("{message:?}"),
    }
}

const WORKING: &str = "TASK_STATE_WORKING";
const DONE: &str = "TASK_STATE_COMPLETED";

#[tokio::test]
async fn what_is_said_twice_is_heard_once() {
    let (stub, _) = agent(|method| match method {
        "SendStreamingMessage" => stream(&[(Some(1), task(WORKING)), (Some(2), piece("a"))]),
        // From the beginning, whatever was asked for.
        _ => stream(&[
            (Some(1), task(WORKING)),
            (Some(2), piece("a")),
            (Some(3), piece("b")),
            (Some(4), status(DONE)),
        ]),
    })
    .await;
    let card = json!({"name": "a", "description": "", "version": "1",
        "capabilities": {"streaming": true, "extensions": [{"uri": "urn:latimer:cursor:v1"}]},
        "supportedInterfaces":
            [{"url": stub.url(), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]});
    let card = AgentCard::read(card.to_string().as_bytes()).unwrap();
    let client = Client::builder(Source::Card(Arc::new(card))).rules(loopback());
    let client = client.connect().await.unwrap();
    let mut following = client.follow(says("hello"));
    let mut pieces = 0;
    while let Some(event) = following.next().await.unwrap() {
        pieces += usize::from(matches!(event, StreamResponse::ArtifactUpdate(_)));
    }
    assert_eq!((pieces, following.known().unwrap().text().as_str()), (2, "a\nb"));
    assert_eq!(stub.asked()[1].header("last-event-id"), Some("2"));
}

#[tokio::test]
async fn numbers_that_mean_something_else_hide_nothing() {
    const FAILED: &str = "TASK_STATE_FAILED";
    // The time of day.
    let (_stub, client) = agent(|_| {
        stream(&[(Some(17), task(WORKING)), (Some(17), piece("a")), (Some(17), status(FAILED))])
    })
    .await;
    let failed = whole(client.follow(says("hello")).outcome().await.unwrap());
    assert_eq!((failed.status.state, &*failed.text()), (TaskState::Failed, "a"));
    // Counted anew on every connection.
    let (_stub, client) = agent(|method| match method {
        "SendStreamingMessage" => stream(&[(Some(1), task(WORKING)), (Some(2), piece("a"))]),
        "SubscribeToTask" => stream(&[(Some(1), piece("b")), (Some(2), status(FAILED))]),
        _ => refused(),
    })
    .await;
    let failed = whole(client.follow(says("hello")).outcome().await.unwrap());
    assert_eq!((failed.status.state, &*failed.text()), (TaskState::Failed, "a\nb"));
}

#[tokio::test]
async fn a_stream_that_ends_within_an_event_was_cut() {
    let (stub, client) = agent(|method| match method {
        "SendStreamingMessage" => {
            let Answer::Close(whole) = stream(&[(None, task(WORKING))]) else { unreachable!() };
            Answer::Close(format!("{whole}data: {{\"jsonrpc\": \"2.0\", \"res"))
        }
        _ => stream(&[(None, task(DONE))]),
    })
    .await;
    let done = whole(client.follow(says("hello")).outcome().await.unwrap());
    assert_eq!((done.status.state, stub.asked().len()), (TaskState::Completed, 2));
}

#[tokio::test]
async fn an_agent_whose_streams_only_tell_how_the_task_stands_is_looked_at() {
    for again in [task(WORKING), status(WORKING)] {
        let (stub, client) = agent(move |method| match method {
            "GetTask" => result(&task(DONE)["task"]),
            "SubscribeToTask" => stream(&[(None, again.clone())]),
            _ => stream(&[(None, task(WORKING))]),
        })
        .await;
        let done = whole(client.follow(says("hello")).outcome().await.unwrap());
        assert_eq!(done.status.state, TaskState::Completed);
        assert_eq!(stub.asked().len(), 3, "a message, another stream, and a look");
    }
}

#[tokio::test]
async fn an_agent_whose_streams_break_again_and_again_is_looked_at() {
    let (stub, client) = agent(|method| match method {
        "GetTask" => result(&task(DONE)["task"]),
        "SubscribeToTask" => stream(&[(None, piece("again"))]),
        _ => stream(&[(None, task(WORKING))]),
    })
    .await;
    let done = whole(client.follow(says("hello")).outcome().await.unwrap());
    assert_eq!(done.status.state, TaskState::Completed);
    assert!(stub.asked().len() < 12, "{}", stub.asked().len());
}

#[tokio::test]
async fn an_end_that_was_told_is_known_though_nobody_can_look() {
    let (_stub, client) = agent(|method| match method {
        "SendStreamingMessage" => stream(&[(None, task(WORKING))]),
        "SubscribeToTask" => stream(&[(None, status(DONE))]),
        _ => refused(),
    })
    .await;
    let done = whole(client.follow(says("hello")).outcome().await.unwrap());
    assert_eq!(done.status.state, TaskState::Completed);
}

#[tokio::test]
async fn a_stream_without_numbers_begins_with_the_task_again() {
    let (_stub, client) = agent(|method| match method {
        "SendStreamingMessage" => stream(&[(None, task(WORKING)), (None, piece("a"))]),
        _ => {
            let mut known = task(WORKING);
            known["task"]["artifacts"] = json!([{"artifactId": "a", "parts": [{"text": "a"}]}]);
            stream(&[(None, known), (None, piece("b")), (None, status(DONE))])
        }
    })
    .await;
    let mut told = String::new();
    let outcome = client.follow(says("hello")).tell(|it| told.push_str(it), |_| {}).await;
    assert_eq!((told.as_str(), whole(outcome.unwrap()).text().as_str()), ("ab", "a\nb"));
}

#[tokio::test]
async fn what_a_stream_leaves_out_is_looked_up_in_the_end() {
    let (stub, client) = agent(|method| match method {
        "SendStreamingMessage" => stream(&[(None, task(WORKING)), (None, piece("a"))]),
        "SubscribeToTask" => stream(&[(None, piece("c")), (None, status(DONE))]),
        _ => {
            let parts = ["a", "b", "c"].map(|it| json!({"text": it}));
            let mut known = task(DONE);
            known["task"]["artifacts"] = json!([{"artifactId": "a", "parts": parts}]);
            result(&known["task"])
        }
    })
    .await;
    let task = whole(client.follow(says("hello")).outcome().await.unwrap());
    assert_eq!((task.status.state, task.text().as_str()), (TaskState::Completed, "a\nb\nc"));
    assert_eq!(stub.asked().len(), 3);
}

#[tokio::test]
async fn a_stream_without_a_word_has_begun() {
    let (_stub, client) = agent(|_| Answer::Hang(Answer::stream(""))).await;
    drop(client.subscribe(TaskId::new("t1").unwrap(), None).await.expect("a silent stream"));
}

#[tokio::test]
async fn the_question_that_a_message_answers_is_not_the_end() {
    let (_stub, client) = agent(|_| {
        stream(&[
            (None, task("TASK_STATE_INPUT_REQUIRED")),
            (None, status(WORKING)),
            (None, status(DONE)),
        ])
    })
    .await;
    let answer = says("Oslo").with_task(TaskId::new("t1").unwrap());
    let task = whole(client.follow(answer).outcome().await.unwrap());
    assert_eq!(task.status.state, TaskState::Completed);
    // The same question is where somebody who sent no answer stops.
    let task = whole(client.follow(says("hello")).outcome().await.unwrap());
    assert_eq!(task.status.state, TaskState::InputRequired);
}

#[tokio::test]
async fn a_task_that_cannot_be_streamed_again_is_looked_at() {
    for code in [-32004, -32602, -32601, -32001] {
        let (stub, client) = agent(move |method| match method {
            "SendStreamingMessage" => stream(&[(None, status(WORKING)), (None, piece("a"))]),
            "GetTask" => result(&task(DONE)["task"]),
            _ => Answer::json(json!({"jsonrpc": "2.0", "id": "1", "error": {"code": code}})),
        })
        .await;
        let task = whole(client.follow(says("hello")).outcome().await.unwrap());
        assert_eq!(task.status.state, TaskState::Completed, "{code}");
        assert_eq!(stub.asked().len(), 3, "{code}");
    }
}

#[tokio::test]
async fn events_of_another_task_are_found_out() {
    let (_stub, client) = agent(|_| {
        let mut other = status(DONE);
        other["statusUpdate"]["taskId"] = json!("t2");
        stream(&[(None, task(WORKING)), (None, other)])
    })
    .await;
    let error = client.follow(says("hello")).outcome().await.unwrap_err();
    let Error::Agent(error) = error else { panic!("{error:?}") };
    assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
}

#[tokio::test]
async fn an_agent_that_only_answers_is_followed_by_its_answer() {
    let (_stub, client) = agent(|method| match method {
        "SendStreamingMessage" => result(&task(WORKING)),
        "SubscribeToTask" => Answer::of(404, "text/plain", ""),
        _ => result(&task(DONE)["task"]),
    })
    .await;
    let task = whole(client.follow(says("hello")).outcome().await.unwrap());
    assert_eq!(task.status.state, TaskState::Completed);
}
