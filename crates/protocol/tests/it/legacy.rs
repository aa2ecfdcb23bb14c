//! The legacy REST API, as documented.

use http::Method;
use latimer_protocol::binding::rest::{HttpRequest, Route, RouteRequest};
use latimer_protocol::{
    Artifact, ArtifactId, ContextId, Dialect, Message, MessageId, Operation, Part, Reply, Request,
    Role, SendMessageResponse, Task, TaskId, TaskState,
};
use serde_json::{Value, json};

fn new_id() -> MessageId {
    MessageId::new("generated").expect("valid id")
}

fn request() -> (Route, Value) {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tasks/send",
        "params": {
            "message": {"role": "user", "parts": [{"type": "text", "text": "Review this code"}]},
            "sessionId": "optional-session-id",
        },
    });
    let route = Route::find(&RouteRequest::new(&Method::POST, "/tasks/send"))
        .expect("route of the legacy API");
    (route, body)
}

#[test]
fn artifact_output_is_also_written_as_message() {
    let request = Message::user(MessageId::new("m").unwrap(), "hi");
    let (id, context) = (TaskId::new("t").unwrap(), ContextId::new("c").unwrap());
    let task = Task::completed_with_text(id, context, request.clone(), "hello");
    let send_request = Request::SendMessage(request.into());
    let written = Dialect::Legacy.write_reply(&send_request, &Reply::Task(task.into()));
    let written: Value = serde_json::from_slice(&written).unwrap();
    let agent = json!({"role": "agent", "parts": [{"type": "text", "text": "hello"}]});
    assert_eq!(written["messages"][1], agent, "{written}");
}

#[test]
fn request_is_enveloped_and_reply_is_bare_task() {
    let (route, body) = request();
    assert_eq!(route.dialect(), Dialect::Legacy);
    let send_request = route.read_request(body.to_string().as_bytes(), &new_id).unwrap();
    let Request::SendMessage(params) = &send_request else { panic!("expected SendMessage") };
    assert_eq!(params.message.text(), "Review this code");
    assert_eq!(params.message.context_id, Some(ContextId::new("optional-session-id").unwrap()));
    assert_eq!(params.message.message_id, "generated");

    let rewritten = HttpRequest::new(Dialect::Legacy, &send_request).unwrap();
    assert_eq!((rewritten.method, rewritten.path.as_str()), (Method::POST, "/tasks/send"));
    let rewritten_body: Value = serde_json::from_slice(&rewritten.body.unwrap()).unwrap();
    assert_eq!(rewritten_body, body);

    let mut task = Task::new(
        TaskId::new("550e8400").unwrap(),
        params.message.context_id.clone().unwrap(),
        TaskState::Completed,
    );
    task.history = vec![
        params.message.clone().into(),
        Message::agent(new_id(), "I found 2 potential issues").into(),
    ];
    let reply = Reply::SendMessage(SendMessageResponse::Task(task.into()));
    let written = Dialect::Legacy.write_reply(&send_request, &reply);
    assert_eq!(
        serde_json::from_slice::<Value>(&written).unwrap(),
        json!({
            "id": "550e8400",
            "sessionId": "optional-session-id",
            "status": "completed",
            "messages": [
                {"role": "user", "parts": [{"type": "text", "text": "Review this code"}]},
                {"role": "agent", "parts": [{"type": "text", "text": "I found 2 potential issues"}]},
            ],
            "artifacts": [],
        })
    );
}

#[test]
fn files_data_roles_and_states_round_trip() {
    let file = Part::raw("hi", "text/plain").with_filename("hi.txt");
    let data = Part::data(json!([1, {"a": null}])).with_media_type("application/json");
    for (state, spelling, expected) in [
        (TaskState::Submitted, "submitted", TaskState::Submitted),
        (TaskState::Working, "working", TaskState::Working),
        (TaskState::InputRequired, "inputRequired", TaskState::InputRequired),
        (TaskState::AuthRequired, "inputRequired", TaskState::InputRequired),
        (TaskState::Completed, "completed", TaskState::Completed),
        (TaskState::Canceled, "cancelled", TaskState::Canceled),
        (TaskState::Failed, "failed", TaskState::Failed),
        (TaskState::Rejected, "failed", TaskState::Failed),
    ] {
        let mut task = Task::new(TaskId::new("t").unwrap(), ContextId::new("s").unwrap(), state);
        task.artifacts = vec![
            Artifact {
                name: Some("report".to_owned()),
                parts: vec![file.clone(), data.clone()],
                ..Artifact::new(ArtifactId::first(), Part::text(""))
            }
            .into(),
        ];
        task.history =
            vec![Message::user(new_id(), "q").into(), Message::agent(new_id(), "a").into()];
        let (_, body) = request();
        let send_request = request().0.read_request(body.to_string().as_bytes(), &new_id).unwrap();
        let written = Dialect::Legacy.write_reply(&send_request, &Reply::Task(task.clone().into()));
        let text = String::from_utf8(written).unwrap();
        assert!(text.contains(&format!(r#""status":"{spelling}""#)), "{text}");
        assert!(
            text.contains(
                r#"{"type":"file","name":"hi.txt","mime_type":"text/plain","data":"aGk="}"#
            )
        );

        let Ok(Reply::Task(read)) = Dialect::Legacy.read_reply(Operation::GetTask, &text) else {
            panic!("{text} is not a task");
        };
        assert_eq!(read.status.state, expected);
        assert_eq!(read.artifacts, task.artifacts);
        let roles: Vec<_> = read.history.iter().map(|it| it.role).collect();
        assert_eq!(roles, [Role::User, Role::Agent]);
    }
}

#[test]
fn status_spelling_variants_and_objects_are_read() {
    for status in [json!("Cancelled"), json!({"state": "canceled"}), json!("TASK_STATE_CANCELLED")]
    {
        let text = json!({"id": "t", "status": status, "messages": []}).to_string();
        let Ok(Reply::Task(task)) = Dialect::Legacy.read_reply(Operation::GetTask, &text) else {
            panic!("{text} is not a task");
        };
        assert_eq!(task.status.state, TaskState::Canceled, "{text}");
    }
}

#[test]
fn direct_message_is_written_as_completed_task() {
    let (route, body) = request();
    let send_request = route.read_request(body.to_string().as_bytes(), &new_id).unwrap();
    let reply = Reply::SendMessage(SendMessageResponse::Message(Message::agent(new_id(), "yes")));
    let written: Value =
        serde_json::from_slice(&Dialect::Legacy.write_reply(&send_request, &reply)).unwrap();
    assert_eq!(written["status"], "completed");
    assert_eq!(written.pointer("/messages/0/parts/0/text"), Some(&json!("yes")));
}

#[test]
fn deleting_all_webhooks_reports_count_before_v1_0() {
    for (params, want) in [
        (json!({"id": "t"}), json!({"removed": 2})),
        (json!({"id": "t", "pushNotificationConfigId": "p"}), json!(null)),
    ] {
        let operation = Operation::DeleteTaskPushNotificationConfig;
        let request = Dialect::V0_3.read_request(operation, &params.to_string(), &new_id).unwrap();
        let written = Dialect::V0_3.write_reply(&request, &Reply::PushConfigsDeleted(2));
        assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), want);
    }
}
