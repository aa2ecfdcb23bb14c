//! The REST from before the protocol had versions, as its documents show it.

use http::Method;
use latimer_protocol::binding::rest::{Ask, Outgoing, Route};
use latimer_protocol::{
    Artifact, ArtifactId, ContextId, Dialect, Message, MessageId, Operation, Part, Reply, Request,
    Role, SendMessageResponse, Task, TaskId, TaskState,
};
use serde_json::{Value, json};

fn new_id() -> MessageId {
    MessageId::new("made-here").expect("an id")
}

fn request() -> (Route, Value) {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tasks/send",
        "params": {
            "message": {"role": "user", "parts": [{"type": "text", "text": "Review this code"}]},
            "sessionId": "optional-session-id",
        },
    });
    let route =
        Route::find(&Ask::new(&Method::POST, "/tasks/send")).expect("a route of the oldest");
    (route, body)
}

#[test]
fn an_answer_is_among_the_messages_even_when_it_is_an_artifact() {
    let request = Message::user(MessageId::new("m").unwrap(), "hi");
    let (id, context) = (TaskId::new("t").unwrap(), ContextId::new("c").unwrap());
    let task = Task::completed_with_text(id, context, request.clone(), "hello");
    let asked = Request::SendMessage(request.into());
    let written = Dialect::Oldest.write_reply(&asked, &Reply::Task(task.into())).unwrap();
    let written: Value = serde_json::from_slice(&written).unwrap();
    let agent = json!({"role": "agent", "parts": [{"type": "text", "text": "hello"}]});
    assert_eq!(written["messages"][1], agent, "{written}");
}

#[test]
fn a_task_is_sent_in_an_envelope_and_answered_bare() {
    let (route, body) = request();
    assert_eq!(route.dialect(), Dialect::Oldest);
    let asked = route.read_request(body.to_string().as_bytes(), &new_id).unwrap();
    let Request::SendMessage(sent) = &asked else { panic!("asked to send") };
    assert_eq!(sent.message.text(), "Review this code");
    assert_eq!(sent.message.context_id, Some(ContextId::new("optional-session-id").unwrap()));
    assert_eq!(sent.message.message_id, "made-here");

    let again = Outgoing::new(Dialect::Oldest, &asked).unwrap();
    assert_eq!((again.method, again.path.as_str()), (Method::POST, "/tasks/send"));
    let again: Value = serde_json::from_slice(&again.body.unwrap()).unwrap();
    assert_eq!(again, body);

    let mut task = Task::new(
        TaskId::new("550e8400").unwrap(),
        sent.message.context_id.clone().unwrap(),
        TaskState::Completed,
    );
    task.history = vec![
        sent.message.clone().into(),
        Message::agent(new_id(), "I found 2 potential issues").into(),
    ];
    let reply = Reply::Sent(SendMessageResponse::Task(task.into()));
    let written = Dialect::Oldest.write_reply(&asked, &reply).unwrap();
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
fn files_data_roles_and_states_come_back() {
    let file = Part::raw("hi", "text/plain").with_filename("hi.txt");
    let data = Part::data(json!([1, {"a": null}])).with_media_type("application/json");
    for (state, word, back) in [
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
        let asked = request().0.read_request(body.to_string().as_bytes(), &new_id).unwrap();
        let written =
            Dialect::Oldest.write_reply(&asked, &Reply::Task(task.clone().into())).unwrap();
        let text = String::from_utf8(written).unwrap();
        assert!(text.contains(&format!(r#""status":"{word}""#)), "{text}");
        assert!(
            text.contains(
                r#"{"type":"file","name":"hi.txt","mime_type":"text/plain","data":"aGk="}"#
            )
        );

        let Ok(Reply::Task(read)) = Dialect::Oldest.read_reply(Operation::GetTask, &text) else {
            panic!("{text} is a task");
        };
        assert_eq!(read.status.state, back);
        assert_eq!(read.artifacts, task.artifacts);
        let roles: Vec<_> = read.history.iter().map(|it| it.role).collect();
        assert_eq!(roles, [Role::User, Role::Agent]);
    }
}

#[test]
fn other_words_for_a_status_and_an_object_are_read() {
    for status in [json!("Cancelled"), json!({"state": "canceled"}), json!("TASK_STATE_CANCELLED")]
    {
        let text = json!({"id": "t", "status": status, "messages": []}).to_string();
        let Ok(Reply::Task(task)) = Dialect::Oldest.read_reply(Operation::GetTask, &text) else {
            panic!("{text} is a task");
        };
        assert_eq!(task.status.state, TaskState::Canceled, "{text}");
    }
}

#[test]
fn a_direct_message_is_a_finished_task() {
    let (route, body) = request();
    let asked = route.read_request(body.to_string().as_bytes(), &new_id).unwrap();
    let reply = Reply::Sent(SendMessageResponse::Message(Message::agent(new_id(), "yes")));
    let written: Value =
        serde_json::from_slice(&Dialect::Oldest.write_reply(&asked, &reply).unwrap()).unwrap();
    assert_eq!(written["status"], "completed");
    assert_eq!(written.pointer("/messages/0/parts/0/text"), Some(&json!("yes")));
}

#[test]
fn removing_every_webhook_is_counted_for_callers_before_1_0() {
    for (params, want) in [
        (json!({"id": "t"}), json!({"removed": 2})),
        (json!({"id": "t", "pushNotificationConfigId": "p"}), json!(null)),
    ] {
        let operation = Operation::DeleteTaskPushNotificationConfig;
        let request = Dialect::V0_3.read_request(operation, &params.to_string(), &new_id).unwrap();
        let written = Dialect::V0_3.write_reply(&request, &Reply::Removed(2)).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), want);
    }
}
