//! Servers that stream in their own way are followed all the same, or found out.

use latimer_client::{Client, Error, Polling, says};
use latimer_protocol::{ErrorKind, SendMessageResponse, StreamResponse, Task, TaskId, TaskState};
use serde_json::{Value, json};

use crate::support::{Answer, Stub};

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
    let (stub, client) = agent(|method| match method {
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
    let mut following = client.follow(says("hello"));
    let mut pieces = 0;
    while let Some(event) = following.next().await.unwrap() {
        pieces += usize::from(matches!(event, StreamResponse::ArtifactUpdate(_)));
    }
    assert_eq!((pieces, following.known().unwrap().text().as_str()), (2, "a\nb"));
    assert_eq!(stub.asked()[1].header("last-event-id"), Some("2"));
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
    let answer = says("Oslo").to_task(TaskId::new("t1").unwrap());
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
