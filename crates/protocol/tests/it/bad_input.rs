//! Errors of invalid requests, which must name the field in the sender's spelling.

use latimer_pb::{v0_3, v1};
use latimer_protocol::binding::VersionPolicy;
use latimer_protocol::binding::jsonrpc::Call;
use latimer_protocol::card::AgentCard;
use latimer_protocol::{
    CancelTaskRequest, Dialect, Error, ErrorKind, GetTaskRequest, MessageId, Operation, ParseError,
    SendMessageRequest, TaskPushNotificationConfig,
};
use serde_json::{Value, json};

fn read(dialect: Dialect, operation: Operation, params: &Value) -> Result<(), Error> {
    let new_id = || MessageId::new("generated").expect("valid id");
    dialect.read_request(operation, &params.to_string(), &new_id).map(drop)
}

/// Asserts that a request is rejected because of `field`.
fn assert_rejected(dialect: Dialect, operation: Operation, params: &Value, field: &str) {
    let row = format!("{dialect:?} {operation:?} {params}");
    let error = read(dialect, operation, params).expect_err(&row);
    assert_eq!(error.kind(), ErrorKind::InvalidParams, "{row}");
    assert_eq!(error.violations()[0].field, field, "{row}: {error}");
    assert!(error.message().contains(field), "{row}: {error}");
}

fn without_member_at(mut params: Value, pointer: &str) -> Value {
    let (parent, name) = pointer.rsplit_once('/').expect("pointer has a parent");
    let parent =
        params.pointer_mut(parent).and_then(Value::as_object_mut).expect("parent is an object");
    parent.remove(name).unwrap_or_else(|| panic!("{pointer} does not exist"));
    params
}

fn with_value_at(mut params: Value, pointer: &str, value: Value) -> Value {
    *params.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} does not exist")) = value;
    params
}

fn v1_0_send_params() -> Value {
    json!({
        "tenant": "acme",
        "message": {
            "messageId": "m", "contextId": "c", "taskId": "t", "role": "ROLE_USER",
            "parts": [{"text": "hi", "mediaType": "text/plain"}, {"raw": "aGk="}, {"url": "https://a"}],
            "metadata": {}, "extensions": ["e"], "referenceTaskIds": ["r"],
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 1, "returnImmediately": false,
            "taskPushNotificationConfig": {
                "url": "https://hook", "id": "p", "authentication": {"scheme": "Bearer"},
            },
        },
        "metadata": {},
    })
}

fn v0_3_send_params() -> Value {
    json!({
        "message": {
            "kind": "message", "messageId": "m", "contextId": "c", "taskId": "t", "role": "user",
            "parts": [
                {"kind": "text", "text": "hi"},
                {"kind": "file", "file": {"bytes": "aGk=", "name": "n"}},
                {"kind": "data", "data": {}},
            ],
            "metadata": {}, "extensions": ["e"], "referenceTaskIds": ["r"],
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 1, "blocking": true,
            "pushNotificationConfig": {"url": "https://hook", "authentication": {"schemes": ["Bearer"]}},
        },
        "metadata": {},
    })
}

#[test]
fn missing_required_field_is_named_in_error() {
    let (send, v0_3) = (Operation::SendMessage, Dialect::V0_3);
    for (pointer, field) in [
        ("/message", "message"),
        ("/message/messageId", "message.messageId"),
        ("/message/role", "message.role"),
        ("/message/parts", "message.parts"),
        ("/message/parts/0/text", "message.parts[0]"),
        (
            "/configuration/taskPushNotificationConfig/url",
            "configuration.taskPushNotificationConfig.url",
        ),
        (
            "/configuration/taskPushNotificationConfig/authentication/scheme",
            "configuration.taskPushNotificationConfig.authentication.scheme",
        ),
    ] {
        assert_rejected(
            Dialect::V1_0,
            send,
            &without_member_at(v1_0_send_params(), pointer),
            field,
        );
        assert_rejected(
            Dialect::V1_0,
            Operation::SendStreamingMessage,
            &without_member_at(v1_0_send_params(), pointer),
            field,
        );
    }
    for (pointer, field) in [
        ("/message", "message"),
        ("/message/messageId", "message.messageId"),
        ("/message/role", "message.role"),
        ("/message/parts", "message.parts"),
        ("/message/parts/0/text", "message.parts[0].text"),
        ("/message/parts/1/file/bytes", "message.parts[1].file"),
        ("/message/parts/2/data", "message.parts[2].data"),
        ("/configuration/pushNotificationConfig/url", "configuration.pushNotificationConfig.url"),
    ] {
        assert_rejected(v0_3, send, &without_member_at(v0_3_send_params(), pointer), field);
    }
    for (dialect, operation, params, field) in [
        (Dialect::V1_0, Operation::GetTask, json!({}), "id"),
        (Dialect::V1_0, Operation::CancelTask, json!({}), "id"),
        (Dialect::V1_0, Operation::SubscribeToTask, json!({}), "id"),
        (Dialect::V1_0, Operation::CreateTaskPushNotificationConfig, json!({"taskId": "t"}), "url"),
        (Dialect::V1_0, Operation::CreateTaskPushNotificationConfig, json!({"url": "u"}), "taskId"),
        (Dialect::V1_0, Operation::GetTaskPushNotificationConfig, json!({"id": "p"}), "taskId"),
        (Dialect::V1_0, Operation::GetTaskPushNotificationConfig, json!({"taskId": "t"}), "id"),
        (Dialect::V1_0, Operation::DeleteTaskPushNotificationConfig, json!({"taskId": "t"}), "id"),
        (Dialect::V1_0, Operation::ListTaskPushNotificationConfigs, json!({}), "taskId"),
        (v0_3, Operation::GetTask, json!({}), "id"),
        (v0_3, Operation::CancelTask, json!({}), "id"),
        (
            v0_3,
            Operation::CreateTaskPushNotificationConfig,
            json!({"taskId": "t"}),
            "pushNotificationConfig",
        ),
        (
            v0_3,
            Operation::CreateTaskPushNotificationConfig,
            json!({"taskId": "t", "pushNotificationConfig": {}}),
            "pushNotificationConfig.url",
        ),
        (v0_3, Operation::DeleteTaskPushNotificationConfig, json!({}), "id"),
        (
            v0_3,
            Operation::CreateTaskPushNotificationConfig,
            json!({"taskId": "t", "pushNotificationConfig": {"url": ""}}),
            "pushNotificationConfig.url",
        ),
        (
            Dialect::V0_1,
            Operation::CreateTaskPushNotificationConfig,
            json!({"pushNotificationConfig": {"url": "https://hook"}}),
            "id",
        ),
        (
            Dialect::V0_1,
            send,
            json!({"id": "t", "message": {"role": "user", "parts": [{"type": "text", "text": "x"}]},
                "pushNotification": {"url": ""}}),
            "pushNotification.url",
        ),
        (
            Dialect::V0_3Proto,
            send,
            json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": []}}),
            "message.content",
        ),
        (Dialect::V0_1, send, json!({"id": "t"}), "message"),
        (Dialect::V0_1, send, json!({"id": "t", "message": {"role": "user"}}), "message.parts"),
        (
            Dialect::V0_3Proto,
            send,
            json!({"message": {"messageId": "m", "content": []}}),
            "message.role",
        ),
    ] {
        assert_rejected(dialect, operation, &params, field);
    }
}

#[test]
fn field_of_wrong_type_is_named_in_error() {
    // A value whose type is wrong for every member.
    for (pointer, wrong, field) in [
        ("/message", json!("x"), "message"),
        ("/message", json!(["m", null, null, "ROLE_USER", [["hi"]]]), "message"),
        ("/configuration", json!([["text/plain"]]), "configuration"),
        ("/message/parts/0", json!(["hi"]), "message.parts[0]"),
        ("/message/messageId", json!(5), "message.messageId"),
        ("/message/contextId", json!({}), "message.contextId"),
        ("/message/taskId", json!([]), "message.taskId"),
        ("/message/role", json!(true), "message.role"),
        ("/message/parts", json!("x"), "message.parts"),
        ("/message/parts/0", json!("x"), "message.parts[0]"),
        ("/message/parts/0/text", json!(1), "message.parts[0].text"),
        ("/message/metadata", json!([1]), "message.metadata"),
        ("/message/extensions", json!({}), "message.extensions"),
        ("/message/extensions/0", json!(1), "message.extensions[0]"),
        ("/message/referenceTaskIds/0", json!(1), "message.referenceTaskIds[0]"),
        ("/configuration", json!(1), "configuration"),
        ("/configuration/acceptedOutputModes", json!("x"), "configuration.acceptedOutputModes"),
        ("/configuration/historyLength", json!("x"), "configuration.historyLength"),
        ("/configuration/historyLength", json!(-1), "configuration.historyLength"),
        ("/configuration/historyLength", json!(1.5), "configuration.historyLength"),
        ("/configuration/historyLength", json!(3_000_000_000u32), "configuration.historyLength"),
        ("/metadata", json!("x"), "metadata"),
    ] {
        assert_rejected(
            Dialect::V1_0,
            Operation::SendMessage,
            &with_value_at(v1_0_send_params(), pointer, wrong.clone()),
            field,
        );
        assert_rejected(
            Dialect::V0_3,
            Operation::SendMessage,
            &with_value_at(v0_3_send_params(), pointer, wrong),
            field,
        );
    }
    for (pointer, wrong, field) in [
        ("/tenant", json!(1), "tenant"),
        ("/configuration/returnImmediately", json!("maybe"), "configuration.returnImmediately"),
        (
            "/configuration/taskPushNotificationConfig/url",
            json!(1),
            "configuration.taskPushNotificationConfig.url",
        ),
        ("/message/parts/0/mediaType", json!(1), "message.parts[0].mediaType"),
    ] {
        assert_rejected(
            Dialect::V1_0,
            Operation::SendMessage,
            &with_value_at(v1_0_send_params(), pointer, wrong),
            field,
        );
    }
    for (pointer, wrong, field) in [
        ("/configuration/blocking", json!("maybe"), "configuration.blocking"),
        ("/message/parts/1/file", json!("x"), "message.parts[1].file"),
        ("/message/parts/1/file/name", json!(1), "message.parts[1].file.name"),
    ] {
        assert_rejected(
            Dialect::V0_3,
            Operation::SendMessage,
            &with_value_at(v0_3_send_params(), pointer, wrong),
            field,
        );
    }
    for (params, field) in [
        (json!({"pageSize": "many"}), "pageSize"),
        (json!({"status": "paused"}), "status"),
        (json!({"statusTimestampAfter": "yesterday"}), "statusTimestampAfter"),
        (json!({"includeArtifacts": 1}), "includeArtifacts"),
        (json!({"contextId": "a\u{0}b"}), "contextId"),
    ] {
        assert_rejected(Dialect::V1_0, Operation::ListTasks, &params, field);
    }
}

#[test]
fn invalid_parts_roles_and_base64_are_named_in_error() {
    let part = |part: Value| with_value_at(v1_0_send_params(), "/message/parts/0", part);
    for (params, field) in [
        (part(json!({"text": "a", "url": "b"})), "message.parts[0]"),
        (part(json!({"text": "a", "data": null})), "message.parts[0]"),
        (part(json!({})), "message.parts[0]"),
        (part(json!({"raw": "*"})), "message.parts[0].raw"),
        (part(json!({"raw": "a"})), "message.parts[0].raw"),
        (with_value_at(v1_0_send_params(), "/message/role", json!("ROLE_KING")), "message.role"),
        (with_value_at(v1_0_send_params(), "/message/role", json!(7)), "message.role"),
        (
            with_value_at(v1_0_send_params(), "/message/role", json!("ROLE_UNSPECIFIED")),
            "message.role",
        ),
        (with_value_at(v1_0_send_params(), "/message/messageId", json!("")), "message.messageId"),
        (with_value_at(v1_0_send_params(), "/message/parts", json!([])), "message.parts"),
    ] {
        assert_rejected(Dialect::V1_0, Operation::SendMessage, &params, field);
    }
    let part = |part: Value| with_value_at(v0_3_send_params(), "/message/parts/0", part);
    for (params, field) in [
        (part(json!({"kind": "file", "file": {"bytes": "*"}})), "message.parts[0].file.bytes"),
        (part(json!({"kind": "file", "file": {"bytes": "", "uri": "u"}})), "message.parts[0]"),
        (part(json!({"kind": "video"})), "message.parts[0].kind"),
        (with_value_at(v0_3_send_params(), "/message/role", json!("king")), "message.role"),
    ] {
        assert_rejected(Dialect::V0_3, Operation::SendMessage, &params, field);
    }
}

#[test]
fn deep_nesting_is_rejected_except_in_unknown_members() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let new_id = || MessageId::new("generated").expect("valid id");
    let text = v1_0_send_params().to_string();
    for (placeholder, field) in [
        (r#"{"url":"https://a"}"#, "message.parts[2].data"),
        (r#""metadata":{},"extensions""#, "message.metadata"),
    ] {
        let nested = match placeholder.starts_with('{') {
            true => text.replace(placeholder, &format!(r#"{{"data":{deep}}}"#)),
            false => {
                text.replace(placeholder, &format!(r#""metadata":{{"x":{deep}}},"extensions""#))
            }
        };
        let error =
            Dialect::V1_0.read_request(Operation::SendMessage, &nested, &new_id).unwrap_err();
        let violation = &error.violations()[0];
        assert!(violation.field.starts_with(field), "{violation}");
        assert!(violation.field.len() < 200 && violation.problem.contains("127"), "{violation}");
    }
    let unknown = text.replacen('{', &format!(r#"{{"surprise":{deep},"#), 1);
    assert!(Dialect::V1_0.read_request(Operation::SendMessage, &unknown, &new_id).is_ok());
}

#[test]
fn errors_never_contain_the_field_value() {
    for params in [
        with_value_at(v1_0_send_params(), "/message/role", json!("hunter2")),
        with_value_at(v1_0_send_params(), "/message/parts", json!("hunter2")),
        with_value_at(v1_0_send_params(), "/configuration/historyLength", json!("hunter2")),
        with_value_at(v1_0_send_params(), "/message/parts/1/raw", json!("hunter2*")),
    ] {
        let error = read(Dialect::V1_0, Operation::SendMessage, &params).unwrap_err();
        assert!(!format!("{error:?}").contains("hunter2"), "{error}");
    }
}

#[test]
fn invalid_protobuf_messages_name_the_field() {
    let part =
        v1::Part { content: Some(v1::part::Content::Text("hi".into())), ..Default::default() };
    let message =
        v1::Message { message_id: "m".into(), role: 1, parts: vec![part], ..Default::default() };
    let request = |message| v1::SendMessageRequest { message, ..Default::default() };
    for (request, field) in [
        (request(None), "message"),
        (
            request(Some(v1::Message { message_id: String::new(), ..message.clone() })),
            "message.messageId",
        ),
        (request(Some(v1::Message { role: 9, ..message.clone() })), "message.role"),
        (
            request(Some(v1::Message { parts: vec![v1::Part::default()], ..message.clone() })),
            "message.parts[0]",
        ),
    ] {
        assert_eq!(SendMessageRequest::try_from(request).unwrap_err().field, field);
    }
    assert_eq!(GetTaskRequest::try_from(v1::GetTaskRequest::default()).unwrap_err().field, "id");
    let negative =
        v1::GetTaskRequest { id: "t".into(), history_length: Some(-1), ..Default::default() };
    assert_eq!(GetTaskRequest::try_from(negative).unwrap_err().field, "historyLength");
    let without_name = v0_3::CancelTaskRequest::default();
    assert_eq!(CancelTaskRequest::try_from(without_name).unwrap_err().field, "name");
    let without_config = v0_3::CreateTaskPushNotificationConfigRequest {
        parent: "tasks/t".into(),
        ..Default::default()
    };
    assert_eq!(TaskPushNotificationConfig::try_from(without_config).unwrap_err().field, "config");
}

#[test]
fn invalid_calls_replies_and_cards_report_error_kind() {
    let new_id = || MessageId::new("generated").expect("valid id");
    for (body, kind) in [
        ("", ErrorKind::Parse),
        ("{", ErrorKind::Parse),
        ("\u{1}", ErrorKind::Parse),
        ("[]", ErrorKind::InvalidRequest),
        ("{}", ErrorKind::InvalidRequest),
        (r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#, ErrorKind::InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":1,"method":"Nothing"}"#, ErrorKind::MethodNotFound),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}"#, ErrorKind::InvalidParams),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":["ten","t1",3]}"#,
            ErrorKind::InvalidParams,
        ),
        (
            r#"{"jsonrpc":"1.0","jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}"#,
            ErrorKind::InvalidRequest,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}"#, ErrorKind::InvalidParams),
    ] {
        let rejection =
            Call::read(body.as_bytes(), None, VersionPolicy::Lenient, &new_id).unwrap_err();
        assert_eq!(rejection.error.kind(), kind, "{body}");
    }
    let replies =
        [("{}", "id"), (r#"{"id":"t"}"#, "status"), (r#"{"id":"t","status":{}}"#, "status.state")];
    for (text, field) in replies {
        for dialect in [Dialect::V1_0, Dialect::V0_3] {
            let Err(ParseError::Invalid(invalid)) = dialect.read_reply(Operation::GetTask, text)
            else {
                panic!("{text} is a valid task");
            };
            assert_eq!(invalid.field, field, "{text} in {dialect:?}");
        }
    }
    assert!(matches!(AgentCard::read(b"<html>"), Err(ParseError::Malformed(_))));
    assert!(matches!(AgentCard::read(b"{}"), Err(ParseError::Invalid(_))));
}
