//! What careless, old and mixed peers send is read as it is meant.

use http::Method;
use latimer_protocol::binding::rest::{Ask, Outgoing, Route};
use latimer_protocol::{
    Dialect, Event, Message, MessageId, Operation, Part, Reply, Request, StreamResponse, Task,
    TaskState, Version,
};
use serde_json::{Value, json};

fn made_here() -> MessageId {
    MessageId::new("made-here").expect("an id")
}

fn sent(dialect: Dialect, params: Value) -> Message {
    match dialect.read_request(Operation::SendMessage, &params.to_string(), &made_here) {
        Ok(Request::SendMessage(it)) => it.message,
        other => panic!("{other:?}"),
    }
}

fn told(dialect: Dialect, event: Value) -> StreamResponse {
    dialect.read_event(&event.to_string()).unwrap_or_else(|error| panic!("{event}: {error}"))
}

#[test]
fn both_names_of_one_thing_at_once_are_no_contradiction() {
    let part = json!({"kind": "text", "type": "text", "text": "hi"});
    let params = json!({"message": {"messageId": "m", "role": "user", "parts": [part]}});
    assert_eq!(sent(Dialect::V0_3, params).parts, [Part::text("hi")]);

    let text =
        json!({"id": "t", "contextId": "c", "sessionId": "s", "status": {"state": "working"}});
    let Ok(Reply::Task(task)) = Dialect::V0_3.read_reply(Operation::GetTask, &text.to_string())
    else {
        panic!("{text} is a task");
    };
    assert_eq!(task.context_id.clone().unwrap(), "c");

    let event = json!({"id": "x", "taskId": "t", "status": {"state": "working"}, "final": false});
    assert_eq!(told(Dialect::V0_3, event).task_id().unwrap(), "t");
}

#[test]
fn a_member_of_another_version_is_passed_over() {
    let message =
        json!({"messageId": "m", "taskId": "real", "role": "user", "parts": [{"text": "x"}]});
    let params = json!({"id": "stray", "sessionId": "stray", "message": message});
    let message = sent(Dialect::V0_3, params.clone());
    assert_eq!((message.task_id.unwrap().as_str(), message.context_id), ("real", None));
    assert_eq!(sent(Dialect::V0_1, params).task_id.unwrap(), "stray");
}

#[test]
fn a_tagged_file_over_http_is_base64_once() {
    for (file, want) in [
        (json!({"kind": "file", "file": {"bytes": "dGVzdA=="}}), "test"),
        (json!({"file": {"fileWithBytes": "ZEdWemRBPT0="}}), "test"),
    ] {
        let params = json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": [file]}});
        let part = &sent(Dialect::V0_3Proto, params).parts[0];
        assert_eq!(part, &Part { media_type: None, ..Part::raw(want, "") });
    }
}

#[test]
fn protobuf_leaves_out_what_is_zero() {
    let text = json!({"id": "t", "status": {}}).to_string();
    let Ok(Reply::Task(task)) = Dialect::V0_3Proto.read_reply(Operation::GetTask, &text) else {
        panic!("{text} is a task");
    };
    assert_eq!(task.status.state, TaskState::Unspecified);
    assert!(Dialect::V0_3.read_reply(Operation::GetTask, &text).is_err());
}

#[test]
fn a_stream_of_0_1_keeps_everything_the_agent_said() {
    let says = |state: &str, text: &str| {
        let message = json!({"role": "agent", "parts": [{"type": "text", "text": text}]});
        json!({"id": "t", "status": {"state": state, "message": message}, "final": state == "completed"})
    };
    let mut task = Task::new("t".parse().unwrap(), "c".parse().unwrap(), TaskState::Submitted);
    for event in [says("working", "one"), says("working", "two"), says("completed", "three")] {
        let event = Event::from_stream(told(Dialect::V0_1, event)).expect("an event");
        task.apply(event).unwrap();
    }
    let said: Vec<_> =
        task.history.iter().chain(&task.status.message).map(|it| it.text()).collect();
    assert_eq!(said, ["one", "two", "three"]);
}

#[test]
fn bare_events_of_1_0_are_read_by_their_tag() {
    let artifact = json!({"artifactId": "a", "parts": [{"text": "x"}]});
    let event = json!({"type": "TaskArtifactUpdateEvent", "taskId": "t", "artifact": artifact, "lastChunk": true});
    assert!(
        matches!(told(Dialect::V1_0, event), StreamResponse::ArtifactUpdate(it) if it.last_chunk)
    );
    let event = json!({"type": "TaskStatusUpdateEvent", "taskId": "t", "final": true,
        "status": {"state": "TASK_STATE_COMPLETED"}});
    assert_eq!(told(Dialect::V1_0, event).status().unwrap().state, TaskState::Completed);
}

#[test]
fn a_list_of_0_3_is_asked_for_in_its_own_words() {
    let params = json!({"status": "canceled", "statusTimestampAfter": "2026-01-01T00:00:00Z"});
    let request = Dialect::V1_0.read_request(Operation::ListTasks, &params.to_string(), &made_here);
    let request = request.unwrap();
    let sent = Outgoing::new(Dialect::V0_3Proto, &request).unwrap();
    assert_eq!(
        sent.path,
        "/v1/tasks?status=TASK_STATE_CANCELLED&lastUpdatedTime=2026-01-01T00%3A00%3A00.000Z"
    );
    let (path, query) = sent.path.split_once('?').unwrap();
    let ask = Ask { query, said: Some(Version::V0_3), ..Ask::new(&Method::GET, path) };
    assert_eq!(Route::find(&ask).unwrap().read_request(b"", &made_here), Ok(request));
}
