//! Servers whose streams deviate from the specification.

use std::sync::Arc;

use latimer_client::{CardSource, Client, Error, PollPolicy, user_message};
use latimer_protocol::card::AgentCard;
use latimer_protocol::{ErrorKind, SendMessageResponse, StreamResponse, Task, TaskId, TaskState};
use serde_json::{Value, json};

use crate::support::{Stub, StubResponse, allow_loopback};

fn task(state: &str) -> Value {
    json!({"task": {"id": "t1", "contextId": "c1", "status": {"state": state}}})
}

fn status(state: &str) -> Value {
    json!({"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": {"state": state}}})
}

fn chunk(text: &str) -> Value {
    let artifact = json!({"artifactId": "a", "parts": [{"text": text}]});
    json!({"artifactUpdate": {"taskId": "t1", "contextId": "c1", "artifact": artifact, "append": true}})
}

/// A stream of these events, with their ids if they have any.
fn stream(events: &[(Option<u64>, Value)]) -> StubResponse {
    let frame = |(id, event): &(Option<u64>, Value)| {
        let id = id.map_or(String::new(), |id| format!("id: {id}\n"));
        format!("{id}data: {}\n\n", json!({"jsonrpc": "2.0", "id": "1", "result": event}))
    };
    StubResponse::Close(StubResponse::stream(&events.iter().map(frame).collect::<String>()))
}

fn result(result: &Value) -> StubResponse {
    StubResponse::json(json!({"jsonrpc": "2.0", "id": "1", "result": result}))
}

fn method_not_found() -> StubResponse {
    StubResponse::json(
        json!({"jsonrpc": "2.0", "id": "1", "error": {"code": -32601, "message": "no"}}),
    )
}

/// An agent with a response for each method.
async fn agent(respond: impl Fn(&str) -> StubResponse + Send + Sync + 'static) -> (Stub, Client) {
    let stub = Stub::start(move |request| {
        let request: Value = serde_json::from_str(&request.body).unwrap();
        respond(request["method"].as_str().unwrap())
    })
    .await;
    let polling = PollPolicy { interval: std::time::Duration::from_millis(5), max_polls: 100 };
    let client = Client::builder(stub.url()).polling(polling).build().unwrap();
    (stub, client)
}

fn into_task(response: SendMessageResponse) -> Task {
    match response {
        SendMessageResponse::Task(task) => (*task).clone(),
        SendMessageResponse::Message(message) => panic!("{message:?}"),
    }
}

const WORKING: &str = "TASK_STATE_WORKING";
const DONE: &str = "TASK_STATE_COMPLETED";

#[tokio::test]
async fn repeated_events_are_emitted_once() {
    let (stub, _) = agent(|method| match method {
        "SendStreamingMessage" => stream(&[(Some(1), task(WORKING)), (Some(2), chunk("a"))]),
        // Starts from the first event, whatever was requested.
        _ => stream(&[
            (Some(1), task(WORKING)),
            (Some(2), chunk("a")),
            (Some(3), chunk("b")),
            (Some(4), status(DONE)),
        ]),
    })
    .await;
    let card = json!({"name": "a", "description": "", "version": "1",
        "capabilities": {"streaming": true, "extensions": [{"uri": "urn:latimer:cursor:v1"}]},
        "supportedInterfaces":
            [{"url": stub.url(), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]});
    let card = AgentCard::read(card.to_string().as_bytes()).unwrap();
    let client = Client::builder(CardSource::Card(Arc::new(card))).guard_rules(allow_loopback());
    let client = client.connect().await.unwrap();
    let mut follower = client.follow(user_message("hello"));
    let mut chunks = 0;
    while let Some(event) = follower.next().await.unwrap() {
        chunks += usize::from(matches!(event, StreamResponse::ArtifactUpdate(_)));
    }
    assert_eq!((chunks, follower.task().unwrap().text().as_str()), (2, "a\nb"));
    assert_eq!(stub.requests()[1].header("last-event-id"), Some("2"));
}

#[tokio::test]
async fn undeclared_event_ids_do_not_drop_events() {
    const FAILED: &str = "TASK_STATE_FAILED";
    // Ids are the time of day.
    let (_stub, client) = agent(|_| {
        stream(&[(Some(17), task(WORKING)), (Some(17), chunk("a")), (Some(17), status(FAILED))])
    })
    .await;
    let failed = into_task(client.follow(user_message("hello")).result().await.unwrap());
    assert_eq!((failed.status.state, &*failed.text()), (TaskState::Failed, "a"));
    // Ids restart with each connection.
    let (_stub, client) = agent(|method| match method {
        "SendStreamingMessage" => stream(&[(Some(1), task(WORKING)), (Some(2), chunk("a"))]),
        "SubscribeToTask" => stream(&[(Some(1), chunk("b")), (Some(2), status(FAILED))]),
        _ => method_not_found(),
    })
    .await;
    let failed = into_task(client.follow(user_message("hello")).result().await.unwrap());
    assert_eq!((failed.status.state, &*failed.text()), (TaskState::Failed, "a\nb"));
}

#[tokio::test]
async fn stream_ending_within_an_event_is_resumed() {
    let (stub, client) = agent(|method| match method {
        "SendStreamingMessage" => {
            let StubResponse::Close(complete) = stream(&[(None, task(WORKING))]) else {
                unreachable!()
            };
            StubResponse::Close(format!("{complete}data: {{\"jsonrpc\": \"2.0\", \"res"))
        }
        _ => stream(&[(None, task(DONE))]),
    })
    .await;
    let done = into_task(client.follow(user_message("hello")).result().await.unwrap());
    assert_eq!((done.status.state, stub.requests().len()), (TaskState::Completed, 2));
}

#[tokio::test]
async fn task_with_empty_streams_is_polled() {
    for resumed in [task(WORKING), status(WORKING)] {
        let (stub, client) = agent(move |method| match method {
            "GetTask" => result(&task(DONE)["task"]),
            "SubscribeToTask" => stream(&[(None, resumed.clone())]),
            _ => stream(&[(None, task(WORKING))]),
        })
        .await;
        let done = into_task(client.follow(user_message("hello")).result().await.unwrap());
        assert_eq!(done.status.state, TaskState::Completed);
        assert_eq!(stub.requests().len(), 3, "a message, another stream and a poll");
    }
}

#[tokio::test]
async fn task_with_repeated_short_streams_is_polled() {
    let (stub, client) = agent(|method| match method {
        "GetTask" => result(&task(DONE)["task"]),
        "SubscribeToTask" => stream(&[(None, chunk("again"))]),
        _ => stream(&[(None, task(WORKING))]),
    })
    .await;
    let done = into_task(client.follow(user_message("hello")).result().await.unwrap());
    assert_eq!(done.status.state, TaskState::Completed);
    assert!(stub.requests().len() < 12, "{}", stub.requests().len());
}

#[tokio::test]
async fn streamed_end_counts_when_polling_fails() {
    let (_stub, client) = agent(|method| match method {
        "SendStreamingMessage" => stream(&[(None, task(WORKING))]),
        "SubscribeToTask" => stream(&[(None, status(DONE))]),
        _ => method_not_found(),
    })
    .await;
    let done = into_task(client.follow(user_message("hello")).result().await.unwrap());
    assert_eq!(done.status.state, TaskState::Completed);
}

#[tokio::test]
async fn unnumbered_stream_resumes_from_a_snapshot() {
    let (_stub, client) = agent(|method| match method {
        "SendStreamingMessage" => stream(&[(None, task(WORKING)), (None, chunk("a"))]),
        _ => {
            let mut snapshot = task(WORKING);
            snapshot["task"]["artifacts"] = json!([{"artifactId": "a", "parts": [{"text": "a"}]}]);
            stream(&[(None, snapshot), (None, chunk("b")), (None, status(DONE))])
        }
    })
    .await;
    let mut emitted = String::new();
    let result = client
        .follow(user_message("hello"))
        .for_each_update(|it| emitted.push_str(it), |_| {})
        .await;
    assert_eq!((emitted.as_str(), into_task(result.unwrap()).text().as_str()), ("ab", "a\nb"));
}

#[tokio::test]
async fn events_missed_between_streams_are_fetched_at_the_end() {
    let (stub, client) = agent(|method| match method {
        "SendStreamingMessage" => stream(&[(None, task(WORKING)), (None, chunk("a"))]),
        "SubscribeToTask" => stream(&[(None, chunk("c")), (None, status(DONE))]),
        _ => {
            let parts = ["a", "b", "c"].map(|it| json!({"text": it}));
            let mut snapshot = task(DONE);
            snapshot["task"]["artifacts"] = json!([{"artifactId": "a", "parts": parts}]);
            result(&snapshot["task"])
        }
    })
    .await;
    let task = into_task(client.follow(user_message("hello")).result().await.unwrap());
    assert_eq!((task.status.state, task.text().as_str()), (TaskState::Completed, "a\nb\nc"));
    assert_eq!(stub.requests().len(), 3);
}

#[tokio::test]
async fn silent_stream_counts_as_started() {
    let (_stub, client) = agent(|_| StubResponse::Hang(StubResponse::stream(""))).await;
    drop(client.subscribe(TaskId::new("t1").unwrap(), None).await.expect("a silent stream"));
}

#[tokio::test]
async fn answered_question_does_not_end_following() {
    let (_stub, client) = agent(|_| {
        stream(&[
            (None, task("TASK_STATE_INPUT_REQUIRED")),
            (None, status(WORKING)),
            (None, status(DONE)),
        ])
    })
    .await;
    let answer = user_message("Oslo").with_task(TaskId::new("t1").unwrap());
    let task = into_task(client.follow(answer).result().await.unwrap());
    assert_eq!(task.status.state, TaskState::Completed);
    // Without an answer, following stops at the question.
    let task = into_task(client.follow(user_message("hello")).result().await.unwrap());
    assert_eq!(task.status.state, TaskState::InputRequired);
}

#[tokio::test]
async fn task_that_cannot_be_resubscribed_is_polled() {
    for code in [-32004, -32602, -32601, -32001] {
        let (stub, client) = agent(move |method| match method {
            "SendStreamingMessage" => stream(&[(None, status(WORKING)), (None, chunk("a"))]),
            "GetTask" => result(&task(DONE)["task"]),
            _ => StubResponse::json(json!({"jsonrpc": "2.0", "id": "1", "error": {"code": code}})),
        })
        .await;
        let task = into_task(client.follow(user_message("hello")).result().await.unwrap());
        assert_eq!(task.status.state, TaskState::Completed, "{code}");
        assert_eq!(stub.requests().len(), 3, "{code}");
    }
}

#[tokio::test]
async fn event_of_another_task_is_an_error() {
    let (_stub, client) = agent(|_| {
        let mut other = status(DONE);
        other["statusUpdate"]["taskId"] = json!("t2");
        stream(&[(None, task(WORKING)), (None, other)])
    })
    .await;
    let error = client.follow(user_message("hello")).result().await.unwrap_err();
    let Error::Agent(error) = error else { panic!("{error:?}") };
    assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse);
}

#[tokio::test]
async fn non_stream_reply_to_streaming_call_is_followed() {
    let (_stub, client) = agent(|method| match method {
        "SendStreamingMessage" => result(&task(WORKING)),
        "SubscribeToTask" => StubResponse::new(404, "text/plain", ""),
        _ => result(&task(DONE)["task"]),
    })
    .await;
    let task = into_task(client.follow(user_message("hello")).result().await.unwrap());
    assert_eq!(task.status.state, TaskState::Completed);
}
