//! Pitfalls of messages, tasks, events, lists and webhooks.

use std::sync::Arc;

use http::Method;
use latimer_pb::{v0_3, v1};
use latimer_protocol::{
    ContextId, Dialect, ErrorKind, ListTasksRequest, ListTasksResponse, Operation, Part, Reply,
    Request, StreamResponse, Task, TaskId, TaskState, TaskStatusUpdateEvent, Timestamp, Version,
    protobuf,
};
use prost::Message as _;
use serde_json::{Value, json};

use crate::finality;

use super::{event, find_route, message, new_id, parse, read, reply, send, task, utf8, write};

#[test]
fn pitfall_10_v0_3_file_bytes_are_base64_twice_except_jsonrpc() {
    let request = send(message().with_part(Part::raw("hi", "text/plain")));
    let schema = write(Dialect::V0_3, &request);
    assert_eq!(schema.pointer("/message/parts/1/file/bytes"), Some(&json!("aGk=")));
    let proto = write(Dialect::V0_3Proto, &request);
    assert_eq!(proto.pointer("/message/content/1/file/fileWithBytes"), Some(&json!("YUdrPQ==")));
    // A single base64 encoding is decoded as well.
    for encoded in ["YUdrPQ==", "aGkh"] {
        let body = json!({"message": {"messageId": "m", "role": "ROLE_USER",
            "content": [{"file": {"fileWithBytes": encoded}}]}});
        let Request::SendMessage(it) =
            read(Dialect::V0_3Proto, Operation::SendMessage, body).unwrap()
        else {
            panic!("expected SendMessage");
        };
        let want = if encoded == "aGkh" { "hi!" } else { "hi" };
        assert_eq!(it.message.parts[0], Part { media_type: None, ..Part::raw(want, "") });
    }
}

#[test]
fn pitfall_11_v0_3_over_http_is_proto_json() {
    let body = write(Dialect::V0_3Proto, &send(message()));
    assert_eq!(
        body,
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "hi"}]},
            "configuration": {"blocking": true}})
    );
    let mut canceled = task(TaskState::Canceled);
    canceled.history = vec![message().into()];
    let written = reply(Dialect::V0_3Proto, &send(message()), &Reply::Task(canceled.into()));
    assert_eq!(written.pointer("/status/state"), Some(&json!("TASK_STATE_CANCELLED")));
    assert_eq!(written.pointer("/history/0/content/0"), Some(&json!({"text": "hi"})));
    assert!(!written.to_string().contains("kind"));
}

#[test]
fn pitfall_12_snake_case_is_read_in_every_version() {
    let v0_3_body = json!({"request": {"message_id": "m", "role": "ROLE_USER", "content": [{"text": "hi"}]},
        "configuration": {"push_notification": {"url": "https://example.com"}, "history_length": 3}});
    let v1_0_body = json!({"message": {"message_id": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]},
        "configuration": {"task_push_notification_config": {"url": "https://example.com"},
            "history_length": 3}});
    for (dialect, body) in [(Dialect::V0_3Proto, v0_3_body), (Dialect::V1_0, v1_0_body)] {
        let Request::SendMessage(it) = read(dialect, Operation::SendMessage, body).unwrap() else {
            panic!("expected SendMessage");
        };
        assert_eq!(it.message, message());
        let configuration = it.configuration.unwrap();
        assert_eq!(configuration.history_length, Some(3));
        assert_eq!(configuration.task_push_notification_config.unwrap().url, "https://example.com");
    }
}

#[test]
fn pitfall_13_canceled_is_spelled_per_version() {
    let canceled = StreamResponse::Task(task(TaskState::Canceled));
    for (dialect, pointer, want) in [
        (Dialect::V1_0, "/task/status/state", "TASK_STATE_CANCELED"),
        (Dialect::V0_3Proto, "/task/status/state", "TASK_STATE_CANCELLED"),
        (Dialect::V0_3, "/status/state", "canceled"),
        (Dialect::V0_1, "/status/state", "canceled"),
    ] {
        let written = event(dialect, &canceled, true);
        assert_eq!(written.pointer(pointer), Some(&json!(want)), "{dialect:?}");
    }
    let legacy = Dialect::Legacy
        .write_reply(&send(message()), &Reply::Task(task(TaskState::Canceled).into()));
    assert_eq!(parse(&legacy)["status"], "cancelled");
}

#[test]
fn pitfall_14_protobuf_packages_number_fields_differently() {
    let mut done = task(TaskState::Completed);
    done.artifacts = Task::completed_with_text(
        TaskId::new("t").unwrap(),
        ContextId::new("c").unwrap(),
        message(),
        "ok",
    )
    .artifacts;
    Arc::make_mut(&mut done.artifacts[0]).name = Some("n".to_owned());
    // The name is field 2 in one package and field 3 in the other: length-delimited, one byte long.
    let name = |field: u8| vec![field << 3 | 2, 1, b'n'];
    let contains = |bytes: &[u8], needle: &[u8]| bytes.windows(needle.len()).any(|it| it == needle);
    let v1_bytes = v1::Task::from(&done).encode_to_vec();
    assert!(contains(&v1_bytes, &name(2)) && !contains(&v1_bytes, &name(3)));
    let v0_3_bytes = v0_3::Task::from(&done).encode_to_vec();
    assert!(contains(&v0_3_bytes, &name(3)) && !contains(&v0_3_bytes, &name(2)));
}

#[test]
fn pitfall_19_out_of_range_page_sizes_are_rejected() {
    for size in [json!(0), json!(101), json!(-1), json!("0")] {
        let error =
            read(Dialect::V1_0, Operation::ListTasks, json!({"pageSize": size})).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidParams, "{size}");
        assert_eq!(error.violations()[0].field, "pageSize");
    }
    for size in [json!(1), json!(100), json!("100"), json!(1e1)] {
        assert!(read(Dialect::V1_0, Operation::ListTasks, json!({"pageSize": size})).is_ok());
    }
}

#[test]
fn pitfall_20_task_page_has_all_members() {
    let request = Request::ListTasks(ListTasksRequest::default());
    let page = ListTasksResponse { page_size: 50, ..ListTasksResponse::default() };
    assert_eq!(
        reply(Dialect::V1_0, &request, &Reply::TaskList(page)),
        json!({"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0})
    );
}

#[test]
fn pitfall_21_artifacts_are_listed_only_on_request() {
    let page = || ListTasksResponse {
        tasks: vec![task(TaskState::Working)],
        ..ListTasksResponse::default()
    };
    for (include_artifacts, want) in
        [(None, None), (Some(false), None), (Some(true), Some(json!([])))]
    {
        let request =
            Request::ListTasks(ListTasksRequest { include_artifacts, ..Default::default() });
        let page = reply(Dialect::V1_0, &request, &Reply::TaskList(page()));
        assert_eq!(page.pointer("/tasks/0/artifacts").cloned(), want, "{include_artifacts:?}");
    }
}

#[test]
fn pitfall_22_zero_history_length_differs_from_unset() {
    let length = |params: Value| match read(Dialect::V1_0, Operation::GetTask, params).unwrap() {
        Request::GetTask(it) => it.history_length,
        other => panic!("{other:?}"),
    };
    assert_eq!(length(json!({"id": "t"})), None);
    assert_eq!(length(json!({"id": "t", "historyLength": 0})), Some(0));
    assert!(
        read(Dialect::V1_0, Operation::GetTask, json!({"id": "t", "historyLength": -1})).is_err()
    );
    // The 0.3 protobuf field has no presence.
    let v0_3_request = v0_3::GetTaskRequest { name: "tasks/t".to_owned(), history_length: 0 };
    let request: latimer_protocol::GetTaskRequest = v0_3_request.try_into().unwrap();
    assert_eq!(request.history_length, None);
}

#[test]
fn pitfall_23_blocking_is_the_default_in_every_version() {
    let returns_immediately = |dialect, configuration: Value| {
        let message = json!({"messageId": "m", "role": "user", "parts": [{"text": "hi"}]});
        let params = json!({"message": message, "configuration": configuration});
        match read(dialect, Operation::SendMessage, params).unwrap() {
            Request::SendMessage(it) => it.configuration.is_some_and(|it| it.return_immediately),
            other => panic!("{other:?}"),
        }
    };
    assert!(!returns_immediately(Dialect::V1_0, json!({})));
    assert!(returns_immediately(Dialect::V1_0, json!({"returnImmediately": true})));
    assert!(!returns_immediately(Dialect::V0_3, json!({"acceptedOutputModes": ["text"]})));
    assert!(!returns_immediately(Dialect::V0_3, json!({"blocking": true})));
    assert!(returns_immediately(Dialect::V0_3, json!({"blocking": false})));
    // ProtoJSON omits false flags, so a missing flag in a configuration means false.
    assert!(!returns_immediately(Dialect::V0_3Proto, Value::Null));
    assert!(returns_immediately(Dialect::V0_3Proto, json!({})));
    assert!(returns_immediately(Dialect::V0_3Proto, json!({"acceptedOutputModes": ["text"]})));
}

#[test]
fn pitfall_26_final_flag_exists_before_1_0_only() {
    let id = TaskId::new("t").unwrap();
    let update =
        StreamResponse::StatusUpdate(TaskStatusUpdateEvent::new(id, TaskState::InputRequired));
    for is_last in [false, true] {
        assert_eq!(event(Dialect::V0_3, &update, is_last)["final"], is_last);
        assert_eq!(event(Dialect::V0_1, &update, is_last)["final"], is_last);
        assert!(!event(Dialect::V1_0, &update, is_last).to_string().contains("final"));
        let protobuf = protobuf::v0_3_stream_response(&update, finality(is_last));
        let Some(v0_3::stream_response::Payload::StatusUpdate(update)) = protobuf.payload else {
            panic!("expected a status update");
        };
        assert_eq!(update.r#final, is_last);
    }
}

#[test]
fn pitfall_27_v0_3_objects_have_a_kind_and_v1_0_objects_none() {
    let mut task = task(TaskState::Working);
    task.history = vec![message().into()];
    task.status = task.status.with_message(message());
    let v0_3 = event(Dialect::V0_3, &StreamResponse::Task(task.clone()), false);
    for pointer in ["/kind", "/history/0/kind", "/status/message/kind", "/history/0/parts/0/kind"] {
        assert!(v0_3.pointer(pointer).is_some(), "{pointer}");
    }
    assert!(!event(Dialect::V1_0, &StreamResponse::Task(task), false).to_string().contains("kind"));
}

#[test]
fn pitfall_30_webhook_configs_differ_per_version() {
    let target = json!({"url": "https://example.com", "authentication": {"schemes": ["Bearer"]}});
    let flat = json!({"taskId": "t", "url": "https://example.com", "authentication": {"scheme": "Bearer"}});
    let nested = json!({"taskId": "t", "pushNotificationConfig": target});
    let keyed = json!({"id": "t", "pushNotificationConfig": target});
    let resource_named = json!({"parent": "tasks/t", "config": {
        "name": "tasks/t/pushNotificationConfigs/", "pushNotificationConfig": target}});
    let operation = Operation::CreateTaskPushNotificationConfig;
    let want = read(Dialect::V1_0, operation, flat.clone()).unwrap();
    for (dialect, wire) in [
        (Dialect::V1_0, flat),
        (Dialect::V0_3, nested),
        (Dialect::V0_1, keyed),
        (Dialect::V0_3Proto, resource_named),
    ] {
        assert_eq!(read(dialect, operation, wire.clone()).as_ref(), Ok(&want), "{dialect:?}");
        assert_eq!(write(dialect, &want), wire, "{dialect:?}");
    }
    // Path parameters take precedence over the body.
    let route =
        find_route(&Method::POST, "/tasks/path/pushNotificationConfigs", Some(Version::V1_0));
    for name in ["taskId", "task_id"] {
        let body = json!({ name: "body", "url": "https://example.com" }).to_string();
        let Request::CreateTaskPushNotificationConfig(it) =
            route.read_request(body.as_bytes(), &new_id).unwrap()
        else {
            panic!("expected CreateTaskPushNotificationConfig");
        };
        assert_eq!(it.task_id.unwrap(), "path", "{name}");
    }
    for name in ["id", "taskId", "name"] {
        let body = json!({ name: "body" }).to_string();
        let route = find_route(&Method::POST, "/v1/tasks/path:cancel", None);
        let request = route.read_request(body.as_bytes(), &new_id).unwrap();
        assert!(matches!(request, Request::CancelTask(it) if it.id == "path"), "{name}");
    }
}

#[test]
fn pitfall_31_webhook_event_is_bare_in_v0_3_wrapped_in_v1_0() {
    let done = StreamResponse::Task(task(TaskState::Completed));
    assert_eq!(event(Dialect::V0_3, &done, true)["kind"], "task");
    assert_eq!(event(Dialect::V1_0, &done, true)["task"]["id"], "t");
}

#[test]
fn pitfall_32_auth_scheme_keeps_caller_spelling() {
    let operation = Operation::CreateTaskPushNotificationConfig;
    let scheme = "bEaReR";
    for (dialect, params, pointer) in [
        (
            Dialect::V1_0,
            json!({"taskId": "t", "url": "https://hook", "authentication": {"scheme": scheme}}),
            "/authentication/scheme",
        ),
        (
            Dialect::V0_3,
            json!({"taskId": "t", "pushNotificationConfig":
                {"url": "https://hook", "authentication": {"schemes": [scheme]}}}),
            "/pushNotificationConfig/authentication/schemes/0",
        ),
    ] {
        let request = read(dialect, operation, params).unwrap();
        assert_eq!(write(dialect, &request).pointer(pointer), Some(&json!(scheme)), "{dialect:?}");
    }
}

#[test]
fn pitfall_33_any_json_value_round_trips_as_data() {
    for value in [json!([1]), json!("x"), json!(1), json!(false), json!(null), json!({})] {
        let request = send(message().with_part(Part::data(value.clone())));
        for dialect in [Dialect::V1_0, Dialect::V0_3, Dialect::V0_3Proto] {
            let written = dialect.write_request(&request).unwrap();
            let read = dialect.read_request(Operation::SendMessage, utf8(&written), &new_id);
            assert_eq!(read.as_ref(), Ok(&request), "{value} in {dialect:?}");
        }
    }
    let wrapped = write(Dialect::V0_3, &send(message().with_part(Part::data(json!([1])))));
    assert_eq!(
        wrapped.pointer("/message/parts/1"),
        Some(
            &json!({"kind": "data", "data": {"value": [1]}, "metadata": {"data_part_compat": true}})
        )
    );
}

#[test]
fn pitfall_34_part_with_two_contents_is_rejected() {
    let message =
        json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "a", "url": "b"}]});
    for dialect in [Dialect::V1_0, Dialect::V0_3, Dialect::V0_3Proto, Dialect::V0_1] {
        let error =
            read(dialect, Operation::SendMessage, json!({ "message": message })).unwrap_err();
        let parts = if dialect == Dialect::V0_3Proto { "content" } else { "parts" };
        assert_eq!(error.violations()[0].field, format!("message.{parts}[0]"), "{dialect:?}");
    }
}

#[test]
fn pitfall_35_protobuf_doubles_are_written_as_integers() {
    let data = Part::data(json!({"n": 3, "half": 1.5, "big": 9_007_199_254_740_993u64}));
    let part: Part = v1::Part::from(&data).try_into().unwrap();
    assert_eq!(json!(part)["data"].to_string(), r#"{"big":9007199254740992,"half":1.5,"n":3}"#);
}

#[test]
fn pitfall_36_required_members_are_written_when_empty() {
    let mut empty = message();
    empty.parts.clear();
    assert_eq!(json!(empty)["parts"], json!([]));
    assert_eq!(json!(task(TaskState::Working))["status"]["state"], "TASK_STATE_WORKING");
}

#[test]
fn pitfall_50_v0_3_resource_names_parse_to_ids() {
    let request = v0_3::GetTaskRequest { name: "tasks/a b:c".to_owned(), ..Default::default() };
    let request: latimer_protocol::GetTaskRequest = request.try_into().unwrap();
    assert_eq!(request.id, "a b:c");
    for name in ["", "tasks/", "tasks/a/b", "other/a"] {
        let request = v0_3::CancelTaskRequest { name: name.to_owned() };
        let error = latimer_protocol::CancelTaskRequest::try_from(request).unwrap_err();
        assert_eq!(error.field, "name", "{name:?}");
    }
    let name = "tasks/t/pushNotificationConfigs/p".to_owned();
    let request = v0_3::GetTaskPushNotificationConfigRequest { name };
    let request =
        latimer_protocol::GetTaskPushNotificationConfigRequest::try_from(request).unwrap();
    assert_eq!(
        (request.task_id, request.id.unwrap()),
        ("t".parse().unwrap(), "p".parse().unwrap())
    );
}

#[test]
fn pitfall_52_timestamps_use_milliseconds_compare_as_instants() {
    let times =
        ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000000Z", "2026-01-01T02:00:00.000+02:00"];
    let read = times.map(|it| it.parse::<Timestamp>().unwrap());
    assert!(read.iter().all(|it| *it == read[0]));
    assert_eq!(json!(read[0]), "2026-01-01T00:00:00.000Z");
}
