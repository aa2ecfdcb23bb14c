//! Lenient decoding of input from old and non-conforming peers.

use http::Method;
use latimer_protocol::binding::rest::{HttpRequest, Route, RouteRequest};
use latimer_protocol::{
    Dialect, Event, Message, MessageId, Operation, Part, Reply, Request, StreamResponse, Task,
    TaskState, Version,
};
use serde_json::{Value, json};

fn new_id() -> MessageId {
    MessageId::new("generated").expect("valid id")
}

fn read_sent_message(dialect: Dialect, params: Value) -> Message {
    match dialect.read_request(Operation::SendMessage, &params.to_string(), &new_id) {
        Ok(Request::SendMessage(it)) => it.message,
        other => panic!("{other:?}"),
    }
}

fn read_event(dialect: Dialect, event: Value) -> StreamResponse {
    dialect.read_event(&event.to_string()).unwrap_or_else(|error| panic!("{event}: {error}"))
}

#[test]
fn duplicate_member_aliases_are_accepted_together() {
    let part = json!({"kind": "text", "type": "text", "text": "hi"});
    let params = json!({"message": {"messageId": "m", "role": "user", "parts": [part]}});
    assert_eq!(read_sent_message(Dialect::V0_3, params).parts, [Part::text("hi")]);

    let text =
        json!({"id": "t", "contextId": "c", "sessionId": "s", "status": {"state": "working"}});
    let Ok(Reply::Task(task)) = Dialect::V0_3.read_reply(Operation::GetTask, &text.to_string())
    else {
        panic!("{text} is not a task");
    };
    assert_eq!(task.context_id.clone().unwrap(), "c");

    let event = json!({"id": "x", "taskId": "t", "status": {"state": "working"}, "final": false});
    assert_eq!(read_event(Dialect::V0_3, event).task_id().unwrap(), "t");
}

#[test]
fn members_of_other_versions_are_ignored() {
    let message =
        json!({"messageId": "m", "taskId": "real", "role": "user", "parts": [{"text": "x"}]});
    let params = json!({"id": "stray", "sessionId": "stray", "message": message});
    let message = read_sent_message(Dialect::V0_3, params.clone());
    assert_eq!((message.task_id.unwrap().as_str(), message.context_id), ("real", None));
    assert_eq!(read_sent_message(Dialect::V0_1, params).task_id.unwrap(), "stray");
}

#[test]
fn tagged_http_file_is_base64_decoded_once() {
    for (file, want) in [
        (json!({"kind": "file", "file": {"bytes": "dGVzdA=="}}), "test"),
        (json!({"file": {"fileWithBytes": "ZEdWemRBPT0="}}), "test"),
    ] {
        let params = json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": [file]}});
        let part = &read_sent_message(Dialect::V0_3Proto, params).parts[0];
        assert_eq!(part, &Part { media_type: None, ..Part::raw(want, "") });
    }
}

#[test]
fn omitted_protobuf_enum_reads_as_zero_value() {
    let text = json!({"id": "t", "status": {}}).to_string();
    let Ok(Reply::Task(task)) = Dialect::V0_3Proto.read_reply(Operation::GetTask, &text) else {
        panic!("{text} is not a task");
    };
    assert_eq!(task.status.state, TaskState::Unspecified);
    assert!(Dialect::V0_3.read_reply(Operation::GetTask, &text).is_err());
}

#[test]
fn v0_1_stream_keeps_all_agent_messages() {
    let status_event = |state: &str, text: &str| {
        let message = json!({"role": "agent", "parts": [{"type": "text", "text": text}]});
        json!({"id": "t", "status": {"state": state, "message": message}, "final": state == "completed"})
    };
    let mut task = Task::new("t".parse().unwrap(), "c".parse().unwrap(), TaskState::Submitted);
    for event in [
        status_event("working", "one"),
        status_event("working", "two"),
        status_event("completed", "three"),
    ] {
        let event =
            Event::from_stream_response(read_event(Dialect::V0_1, event)).expect("event of a task");
        task.apply(event).unwrap();
    }
    let texts: Vec<_> =
        task.history.iter().chain(&task.status.message).map(|it| it.text()).collect();
    assert_eq!(texts, ["one", "two", "three"]);
}

#[test]
fn bare_v1_0_events_are_read_by_their_tag() {
    let artifact = json!({"artifactId": "a", "parts": [{"text": "x"}]});
    let event = json!({"type": "TaskArtifactUpdateEvent", "taskId": "t", "artifact": artifact, "lastChunk": true});
    assert!(
        matches!(read_event(Dialect::V1_0, event), StreamResponse::ArtifactUpdate(it) if it.last_chunk)
    );
    let event = json!({"type": "TaskStatusUpdateEvent", "taskId": "t", "final": true,
        "status": {"state": "TASK_STATE_COMPLETED"}});
    assert_eq!(read_event(Dialect::V1_0, event).status().unwrap().state, TaskState::Completed);
}

#[test]
fn v0_3_list_query_uses_v0_3_parameter_names() {
    let params = json!({"status": "canceled", "statusTimestampAfter": "2026-01-01T00:00:00Z"});
    let request = Dialect::V1_0.read_request(Operation::ListTasks, &params.to_string(), &new_id);
    let request = request.unwrap();
    let http_request = HttpRequest::new(Dialect::V0_3Proto, &request).unwrap();
    assert_eq!(
        http_request.path,
        "/v1/tasks?status=TASK_STATE_CANCELLED&lastUpdatedTime=2026-01-01T00%3A00%3A00.000Z"
    );
    let (path, query) = http_request.path.split_once('?').unwrap();
    let route_request = RouteRequest {
        query,
        declared: Some(Version::V0_3),
        ..RouteRequest::new(&Method::GET, path)
    };
    assert_eq!(Route::find(&route_request).unwrap().read_request(b"", &new_id), Ok(request));
}
