//! The traps of the protocol that concern encoding, by their numbers in the protocol's reference.

use http::Method;
use latimer_pb::{v0_3, v1};
use latimer_protocol::binding::rest::{self, Ask, Outgoing, Route};
use latimer_protocol::binding::{VersionRule, grpc, jsonrpc, parameters, sse};
use latimer_protocol::{
    ContextId, Dialect, Error, ErrorKind, EventWriter, ListTasksRequest, ListTasksResponse,
    Message, MessageId, Operation, Part, Reply, Request, SendMessageRequest, StreamResponse, Task,
    TaskId, TaskState, TaskStatusUpdateEvent, Timestamp, Version, protobuf,
};
use prost::Message as _;
use serde_json::{Value, json};

use crate::then;

fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("we write JSON")
}

fn text(written: &[u8]) -> &str {
    std::str::from_utf8(written).expect("we write UTF-8")
}

fn made_here() -> MessageId {
    MessageId::new("made-here").unwrap()
}

fn message() -> Message {
    Message::user(MessageId::new("m").unwrap(), "hi")
}

fn send(message: Message) -> Request {
    Request::SendMessage(SendMessageRequest::from(message))
}

fn task(state: TaskState) -> Task {
    Task::new(TaskId::new("t").unwrap(), ContextId::new("c").unwrap(), state)
}

fn read(dialect: Dialect, operation: Operation, params: Value) -> Result<Request, Error> {
    dialect.read_request(operation, &params.to_string(), &made_here)
}

fn write(dialect: Dialect, request: &Request) -> Value {
    parse(&dialect.write_request(request).unwrap())
}

fn reply(dialect: Dialect, request: &Request, reply: &Reply) -> Value {
    parse(&dialect.write_reply(request, reply).unwrap())
}

fn event(dialect: Dialect, event: &StreamResponse, closes: bool) -> Value {
    let mut writer = EventWriter::new(dialect, &send(message()), None);
    parse(&writer.write(event, then(closes)).unwrap()[0])
}

fn find(method: &Method, path: &str, said: Option<Version>) -> Route {
    Route::find(&Ask { said, ..Ask::new(method, path) })
        .unwrap_or_else(|it| panic!("{path}: {it:?}"))
}

#[test]
fn trap_01_subscribe_is_served_by_get_and_post_and_sent_by_post() {
    for method in [Method::GET, Method::POST] {
        for path in ["/tasks/t:subscribe", "/v1/tasks/t:subscribe"] {
            let route = find(&method, path, None);
            assert_eq!(route.operation, Operation::SubscribeToTask, "{method} {path}");
        }
    }
    let request = read(Dialect::V1_0, Operation::SubscribeToTask, json!({"id": "t"})).unwrap();
    assert_eq!(Outgoing::new(&request, Dialect::V1_0).unwrap().method, Method::POST);
}

#[test]
fn trap_02_the_last_verb_counts_and_is_split_before_decoding() {
    let said = Some(Version::V1_0);
    for (method, path, operation, id) in [
        (Method::POST, "/tasks/a:cancel:cancel", Operation::CancelTask, "a:cancel"),
        (Method::POST, "/tasks/a%3Acancel:cancel", Operation::CancelTask, "a:cancel"),
        (Method::GET, "/tasks/a:cancel", Operation::GetTask, "a:cancel"),
        (Method::GET, "/tasks/a%2Fb", Operation::GetTask, "a/b"),
        (Method::POST, "/tasks/a:b:subscribe", Operation::SubscribeToTask, "a:b"),
    ] {
        let route = find(&method, path, said);
        assert_eq!((route.operation, route.task_id.as_deref()), (operation, Some(id)), "{path}");
    }
}

#[test]
fn trap_03_errors_go_out_as_in_1_0_1_and_are_read_by_their_reason() {
    for (kind, http, grpc) in [
        (ErrorKind::TaskNotCancelable, 400, 9),
        (ErrorKind::ContentTypeNotSupported, 400, 3),
        (ErrorKind::InvalidAgentResponse, 500, 13),
        (ErrorKind::PushNotificationNotSupported, 400, 9),
        (ErrorKind::VersionNotSupported, 400, 9),
    ] {
        let code = kind.code(Version::V1_0);
        assert_eq!((code.http, code.grpc), (http, grpc), "{kind:?}");
        // 1.0.0 had other statuses: the reason decides.
        let body = Error::from(kind).to_http(Version::V1_0).body.to_string();
        let read = Error::from_http(409, body.as_bytes(), Version::V1_0);
        assert_eq!(read.kind(), kind);
    }
}

#[test]
fn trap_04_the_content_type_of_errors_follows_the_accept_header() {
    for (accept, want) in [
        (None, "application/json"),
        (Some("*/*"), "application/json"),
        (Some("application/json"), "application/json"),
        (Some("application/a2a+json, application/json"), "application/a2a+json"),
    ] {
        assert_eq!(rest::negotiate(accept), want, "{accept:?}");
    }
    for content_type in
        ["application/json; charset=utf-8", "application/a2a+json", "APPLICATION/JSON"]
    {
        assert!(rest::is_json(content_type), "{content_type}");
    }
}

#[test]
fn trap_05_a_deletion_answers_with_an_empty_object() {
    let params = json!({"taskId": "t", "id": "p"});
    let request = read(Dialect::V1_0, Operation::DeleteTaskPushNotificationConfig, params).unwrap();
    assert_eq!(reply(Dialect::V1_0, &request, &Reply::Removed(1)), json!({}));
    for body in ["", "{}", "null"] {
        let read = Dialect::V1_0.read_reply(request.operation(), body);
        assert!(matches!(read, Ok(Reply::Removed(_))), "{body:?}");
    }
}

#[test]
fn trap_07_an_early_failure_of_a_stream_is_one_event_with_the_error() {
    let id = jsonrpc::Id::from(7);
    let error = jsonrpc::write_error(Version::V1_0, &id, &Error::task_not_found("t"));
    let mut stream = Vec::new();
    sse::write(&mut stream, sse::Head::default(), &[&error]);
    assert!(stream.starts_with(br#"data: {"jsonrpc":"2.0","id":7,"error":{"code":-32001"#));
    assert!(stream.ends_with(b"\n\n"));
}

#[test]
fn trap_08_ids_are_echoed_as_they_were_written() {
    for id in ["1", "1.0", "\"1\"", "1e0", "null", "-5", "\"\\u0041\""] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"GetTask"}}"#);
        let request = jsonrpc::Request::read(text.as_bytes()).unwrap();
        let reply =
            String::from_utf8(jsonrpc::Envelope::new(&request.id).around(b"{}").concat()).unwrap();
        assert!(reply.contains(&format!(r#""id":{id},"#)), "{reply}");
    }
    for id in ["{}", "[]", "true"] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"GetTask"}}"#);
        let refused = jsonrpc::Request::read(text.as_bytes()).unwrap_err();
        assert!(refused.id.is_null() && refused.error.kind() == ErrorKind::InvalidRequest, "{id}");
    }
}

#[test]
fn trap_09_a_missing_result_is_null_when_there_is_no_error() {
    let response = jsonrpc::Response::read(br#"{"jsonrpc":"2.0","id":"1"}"#).unwrap();
    assert_eq!(response.payload(Version::V1_0), Ok("null"));
    let ours = jsonrpc::Envelope::new(&jsonrpc::Id::from("1")).around(b"null").concat();
    assert_eq!(parse(&ours), json!({"jsonrpc": "2.0", "id": "1", "result": null}));
}

#[test]
fn trap_10_file_bytes_of_0_3_are_base64_twice_but_over_json_rpc() {
    let request = send(message().with_part(Part::raw("hi", "text/plain")));
    let schema = write(Dialect::V0_3, &request);
    assert_eq!(schema.pointer("/message/parts/1/file/bytes"), Some(&json!("aGk=")));
    let proto = write(Dialect::V0_3Proto, &request);
    assert_eq!(proto.pointer("/message/content/1/file/fileWithBytes"), Some(&json!("YUdrPQ==")));
    // A peer that encodes once is understood as well.
    for once_or_twice in ["YUdrPQ==", "aGkh"] {
        let body = json!({"message": {"messageId": "m", "role": "ROLE_USER",
            "content": [{"file": {"fileWithBytes": once_or_twice}}]}});
        let Request::SendMessage(it) =
            read(Dialect::V0_3Proto, Operation::SendMessage, body).unwrap()
        else {
            panic!("asked to send");
        };
        let want = if once_or_twice == "aGkh" { "hi!" } else { "hi" };
        assert_eq!(it.message.parts[0], Part { media_type: None, ..Part::raw(want, "") });
    }
}

#[test]
fn trap_11_0_3_over_http_is_proto_json() {
    let body = write(Dialect::V0_3Proto, &send(message()));
    assert_eq!(
        body,
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "hi"}]},
            "configuration": {"blocking": true}})
    );
    let mut canceled = task(TaskState::Canceled);
    canceled.history = vec![message()];
    let answer = reply(Dialect::V0_3Proto, &send(message()), &Reply::Task(canceled));
    assert_eq!(answer.pointer("/status/state"), Some(&json!("TASK_STATE_CANCELLED")));
    assert_eq!(answer.pointer("/history/0/content/0"), Some(&json!({"text": "hi"})));
    assert!(!answer.to_string().contains("kind"));
}

#[test]
fn trap_12_snake_case_is_read_in_every_version() {
    let older = json!({"request": {"message_id": "m", "role": "ROLE_USER", "content": [{"text": "hi"}]},
        "configuration": {"push_notification": {"url": "https://example.com"}, "history_length": 3}});
    let newer = json!({"message": {"message_id": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]},
        "configuration": {"task_push_notification_config": {"url": "https://example.com"},
            "history_length": 3}});
    for (dialect, body) in [(Dialect::V0_3Proto, older), (Dialect::V1_0, newer)] {
        let Request::SendMessage(it) = read(dialect, Operation::SendMessage, body).unwrap() else {
            panic!("asked to send");
        };
        assert_eq!(it.message, message());
        let configuration = it.configuration.unwrap();
        assert_eq!(configuration.history_length, Some(3));
        assert_eq!(configuration.task_push_notification_config.unwrap().url, "https://example.com");
    }
}

#[test]
fn trap_13_canceled_has_as_many_ls_as_the_version_says() {
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
    let oldest =
        Dialect::Oldest.write_reply(&send(message()), &Reply::Task(task(TaskState::Canceled)));
    assert_eq!(parse(&oldest.unwrap())["status"], "cancelled");
}

#[test]
fn trap_14_the_two_protobuf_packages_number_their_fields_apart() {
    let mut done = task(TaskState::Completed);
    done.artifacts = Task::completed_with_text(
        TaskId::new("t").unwrap(),
        ContextId::new("c").unwrap(),
        message(),
        "ok",
    )
    .artifacts;
    done.artifacts[0].name = Some("n".to_owned());
    // Field 2 in one package, field 3 in the other: length-delimited, of one byte.
    let name = |field: u8| vec![field << 3 | 2, 1, b'n'];
    let contains = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).any(|it| it == what);
    let newer = v1::Task::from(&done).encode_to_vec();
    assert!(contains(&newer, &name(2)) && !contains(&newer, &name(3)));
    let older = v0_3::Task::from(&done).encode_to_vec();
    assert!(contains(&older, &name(3)) && !contains(&older, &name(2)));
}

#[test]
fn trap_15_no_version_is_0_3_and_a_patch_is_nothing() {
    assert_eq!(Version::said(None, None), Ok(None));
    assert_eq!(Version::said(Some(""), None), Ok(None));
    assert_eq!(Version::said(Some("1.0.3"), None), Ok(Some(Version::V1_0)));
    for said in ["0.5", "2.0", "abc"] {
        let error = Version::said(Some(said), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::VersionNotSupported, "{said}");
    }
    let lenient = jsonrpc::resolve("GetTask", None, VersionRule::Lenient);
    assert_eq!(lenient, Ok((Operation::GetTask, Version::V1_0)));
    let strict = jsonrpc::resolve("GetTask", None, VersionRule::Strict).unwrap_err();
    assert_eq!(strict.kind().code(Version::V1_0).jsonrpc, -32009);
}

#[test]
fn trap_16_the_version_may_be_a_query_parameter() {
    let query = "pageSize=5&A2A-Version=1.0";
    assert_eq!(parameters::version_in(query).as_deref(), Some("1.0"));
    let ask = Ask { query, said: Some(Version::V1_0), ..Ask::new(&Method::GET, "/tasks") };
    let route = Route::find(&ask).unwrap();
    assert_eq!(route.query, [("pageSize".to_owned(), "5".to_owned())]);
}

#[test]
fn trap_17_a_minor_version_we_do_not_know_is_refused_with_those_we_do() {
    let error = Version::said(Some("1.1"), None).unwrap_err();
    assert_eq!(error.metadata()["supportedVersions"], "1.0, 0.3, 0.1");
}

#[test]
fn trap_18_the_time_filter_has_an_alias_and_survives_a_lost_plus() {
    let want: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    for query in [
        "statusTimestampAfter=2026-01-01T00:00:00.000Z",
        "lastUpdatedAfter=2026-01-01T00%3A00%3A00Z",
        "statusTimestampAfter=2026-01-01T00:00:00+00:00",
        "status_timestamp_after=2026-01-01T01:00:00%2B01:00",
    ] {
        let ask = Ask { query, said: Some(Version::V1_0), ..Ask::new(&Method::GET, "/tasks") };
        let request = Route::find(&ask).unwrap().read_request(b"", &made_here).unwrap();
        let Request::ListTasks(request) = request else { panic!("asked to list") };
        assert_eq!(request.status_timestamp_after, Some(want), "{query}");
    }
    let query = "statusTimestampAfter=yesterday";
    let ask = Ask { query, said: Some(Version::V1_0), ..Ask::new(&Method::GET, "/tasks") };
    assert!(Route::find(&ask).unwrap().read_request(b"", &made_here).is_err());
}

#[test]
fn trap_19_page_sizes_out_of_range_are_refused() {
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
fn trap_20_a_page_always_has_all_its_members() {
    let request = Request::ListTasks(ListTasksRequest::default());
    let page = ListTasksResponse { page_size: 50, ..ListTasksResponse::default() };
    assert_eq!(
        reply(Dialect::V1_0, &request, &Reply::Tasks(page)),
        json!({"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0})
    );
}

#[test]
fn trap_21_artifacts_are_listed_only_for_those_who_ask() {
    let page = || ListTasksResponse {
        tasks: vec![task(TaskState::Working)],
        ..ListTasksResponse::default()
    };
    for (include_artifacts, want) in
        [(None, None), (Some(false), None), (Some(true), Some(json!([])))]
    {
        let request =
            Request::ListTasks(ListTasksRequest { include_artifacts, ..Default::default() });
        let page = reply(Dialect::V1_0, &request, &Reply::Tasks(page()));
        assert_eq!(page.pointer("/tasks/0/artifacts").cloned(), want, "{include_artifacts:?}");
    }
}

#[test]
fn trap_22_a_history_of_zero_is_not_a_history_of_any_length() {
    let length = |params: Value| match read(Dialect::V1_0, Operation::GetTask, params).unwrap() {
        Request::GetTask(it) => it.history_length,
        other => panic!("{other:?}"),
    };
    assert_eq!(length(json!({"id": "t"})), None);
    assert_eq!(length(json!({"id": "t", "historyLength": 0})), Some(0));
    assert!(
        read(Dialect::V1_0, Operation::GetTask, json!({"id": "t", "historyLength": -1})).is_err()
    );

    let mut task = task(TaskState::Working);
    task.history =
        (0..3).map(|it| Message::user(MessageId::new(format!("m{it}")).unwrap(), "x")).collect();
    for (length, want) in [(None, "m0 m1 m2"), (Some(2), "m1 m2"), (Some(0), "")] {
        let mut task = task.clone();
        task.trim_history(length);
        let ids: Vec<_> = task.history.iter().map(|it| it.message_id.to_string()).collect();
        assert_eq!(ids.join(" "), want);
        assert_eq!(json!(task).get("history").is_some(), !want.is_empty());
    }
    // gRPC 0.3 has no presence.
    let older = v0_3::GetTaskRequest { name: "tasks/t".to_owned(), history_length: 0 };
    let request: latimer_protocol::GetTaskRequest = older.try_into().unwrap();
    assert_eq!(request.history_length, None);
}

#[test]
fn trap_23_waiting_is_the_default_in_every_version() {
    let at_once = |dialect, configuration: Value| {
        let message = json!({"messageId": "m", "role": "user", "parts": [{"text": "hi"}]});
        let params = json!({"message": message, "configuration": configuration});
        match read(dialect, Operation::SendMessage, params).unwrap() {
            Request::SendMessage(it) => it.configuration.is_some_and(|it| it.return_immediately),
            other => panic!("{other:?}"),
        }
    };
    assert!(!at_once(Dialect::V1_0, json!({})));
    assert!(at_once(Dialect::V1_0, json!({"returnImmediately": true})));
    assert!(!at_once(Dialect::V0_3, json!({"acceptedOutputModes": ["text"]})));
    assert!(!at_once(Dialect::V0_3, json!({"blocking": true})));
    assert!(at_once(Dialect::V0_3, json!({"blocking": false})));
    // Protobuf cannot write a flag that is off: beside another setting its absence is meant.
    assert!(!at_once(Dialect::V0_3Proto, json!({})));
    assert!(at_once(Dialect::V0_3Proto, json!({"acceptedOutputModes": ["text"]})));
}

#[test]
fn trap_26_final_says_in_0_3_whether_the_stream_ends_and_is_nowhere_in_1_0() {
    let id = TaskId::new("t").unwrap();
    let update =
        StreamResponse::StatusUpdate(TaskStatusUpdateEvent::new(id, TaskState::InputRequired));
    for closes in [false, true] {
        assert_eq!(event(Dialect::V0_3, &update, closes)["final"], closes);
        assert_eq!(event(Dialect::V0_1, &update, closes)["final"], closes);
        assert!(!event(Dialect::V1_0, &update, closes).to_string().contains("final"));
        let protobuf = protobuf::v0_3_stream_response(&update, then(closes));
        let Some(v0_3::stream_response::Payload::StatusUpdate(update)) = protobuf.payload else {
            panic!("a status update");
        };
        assert_eq!(update.r#final, closes);
    }
}

#[test]
fn trap_27_every_object_of_0_3_has_a_kind_and_none_of_1_0() {
    let mut task = task(TaskState::Working);
    task.history = vec![message()];
    task.status = task.status.with_message(message());
    let older = event(Dialect::V0_3, &StreamResponse::Task(task.clone()), false);
    for pointer in ["/kind", "/history/0/kind", "/status/message/kind", "/history/0/parts/0/kind"] {
        assert!(older.pointer(pointer).is_some(), "{pointer}");
    }
    assert!(!event(Dialect::V1_0, &StreamResponse::Task(task), false).to_string().contains("kind"));
}

#[test]
fn trap_30_each_version_has_its_shape_of_a_webhook() {
    let target = json!({"url": "https://example.com", "authentication": {"schemes": ["Bearer"]}});
    let flat = json!({"taskId": "t", "url": "https://example.com", "authentication": {"scheme": "Bearer"}});
    let nested = json!({"taskId": "t", "pushNotificationConfig": target});
    let keyed = json!({"id": "t", "pushNotificationConfig": target});
    let named = json!({"parent": "tasks/t", "config": {
        "name": "tasks/t/pushNotificationConfigs/", "pushNotificationConfig": target}});
    let operation = Operation::CreateTaskPushNotificationConfig;
    let want = read(Dialect::V1_0, operation, flat.clone()).unwrap();
    for (dialect, wire) in [
        (Dialect::V1_0, flat),
        (Dialect::V0_3, nested),
        (Dialect::V0_1, keyed),
        (Dialect::V0_3Proto, named),
    ] {
        assert_eq!(read(dialect, operation, wire.clone()).as_ref(), Ok(&want), "{dialect:?}");
        assert_eq!(write(dialect, &want), wire, "{dialect:?}");
    }
    // What the path says goes over what the body says.
    let route = find(&Method::POST, "/tasks/path/pushNotificationConfigs", Some(Version::V1_0));
    for name in ["taskId", "task_id"] {
        let body = json!({ name: "body", "url": "https://example.com" }).to_string();
        let Request::CreateTaskPushNotificationConfig(it) =
            route.read_request(body.as_bytes(), &made_here).unwrap()
        else {
            panic!("asked to create");
        };
        assert_eq!(it.task_id.unwrap(), "path", "{name}");
    }
    for name in ["id", "taskId", "name"] {
        let body = json!({ name: "body" }).to_string();
        let route = find(&Method::POST, "/v1/tasks/path:cancel", None);
        let request = route.read_request(body.as_bytes(), &made_here).unwrap();
        assert!(matches!(request, Request::CancelTask(it) if it.id == "path"), "{name}");
    }
}

#[test]
fn trap_31_a_webhook_of_0_3_gets_a_bare_task_and_one_of_1_0_an_event() {
    let done = StreamResponse::Task(task(TaskState::Completed));
    assert_eq!(event(Dialect::V0_3, &done, true)["kind"], "task");
    assert_eq!(event(Dialect::V1_0, &done, true)["task"]["id"], "t");
}

#[test]
fn trap_33_any_json_value_is_data() {
    for value in [json!([1]), json!("x"), json!(1), json!(false), json!(null), json!({})] {
        let request = send(message().with_part(Part::data(value.clone())));
        for dialect in [Dialect::V1_0, Dialect::V0_3, Dialect::V0_3Proto] {
            let written = dialect.write_request(&request).unwrap();
            let read = dialect.read_request(Operation::SendMessage, text(&written), &made_here);
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
fn trap_34_two_contents_are_refused() {
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
fn trap_35_numbers_are_doubles_over_protobuf_and_lose_no_zero() {
    let data = Part::data(json!({"n": 3, "half": 1.5, "big": 9_007_199_254_740_993u64}));
    let part: Part = v1::Part::from(&data).try_into().unwrap();
    assert_eq!(json!(part)["data"].to_string(), r#"{"big":9007199254740992,"half":1.5,"n":3}"#);
}

#[test]
fn trap_36_required_members_are_written_even_when_empty() {
    let mut empty = message();
    empty.parts.clear();
    assert_eq!(json!(empty)["parts"], json!([]));
    assert_eq!(json!(task(TaskState::Working))["status"]["state"], "TASK_STATE_WORKING");
}

#[test]
fn trap_40_the_errors_of_extended_cards() {
    for (kind, version, code) in [
        (ErrorKind::UnsupportedOperation, Version::V1_0, -32004),
        (ErrorKind::ExtendedAgentCardNotConfigured, Version::V1_0, -32007),
        (ErrorKind::ExtendedAgentCardNotConfigured, Version::V0_3, -32007),
    ] {
        assert_eq!(kind.code(version).jsonrpc, code, "{kind:?} in {version}");
    }
    assert_eq!(ErrorKind::Unauthenticated.code(Version::V1_0).http, 401);
}

#[test]
fn trap_41_extensions_come_as_lists_and_repeated_and_go_back_in_the_spelling_of_the_version() {
    let uris = parameters::extensions(["a, b", " c ", "b"]).unwrap();
    assert_eq!(uris, ["a", "b", "c"]);
    assert_eq!(parameters::extensions_header(Version::V1_0), "a2a-extensions");
    assert_eq!(parameters::extensions_header(Version::V0_3), "x-a2a-extensions");
}

#[test]
fn trap_44_empty_bodies_are_valid() {
    for path in ["/tasks/t:cancel", "/v1/tasks/t:cancel", "/tasks/t:subscribe"] {
        let route = find(&Method::POST, path, None);
        for body in ["", "{}", "null", " "] {
            let request = route.read_request(body.as_bytes(), &made_here);
            assert!(request.is_ok(), "{path} {body:?}: {request:?}");
        }
    }
    assert!(rest::readable(None, b""));
}

#[test]
fn trap_45_an_extended_card_is_asked_for_without_parameters() {
    for params in ["", "{}", "null"] {
        let request =
            Dialect::V1_0.read_request(Operation::GetExtendedAgentCard, params, &made_here);
        assert!(request.is_ok(), "{params:?}");
    }
    let request = read(Dialect::V1_0, Operation::GetExtendedAgentCard, json!({})).unwrap();
    assert_eq!(write(Dialect::V1_0, &request), json!({}));
}

#[test]
fn trap_46_v1_is_a_tenant_for_those_who_say_1_0() {
    let older = find(&Method::POST, "/v1/message:send", None);
    assert_eq!((older.version, older.tenant), (Version::V0_3, None));
    let newer = find(&Method::POST, "/v1/message:send", Some(Version::V1_0));
    assert_eq!((newer.version, newer.tenant.as_deref()), (Version::V1_0, Some("v1")));
}

#[test]
fn trap_47_errors_over_grpc_carry_their_reason_and_the_code_that_goes_with_it() {
    let status = Error::from(ErrorKind::UnsupportedOperation).to_grpc(Version::V1_0);
    assert_eq!(status.code, 9);
    let details = latimer_pb::rpc::Status::decode(status.details.as_slice()).unwrap();
    assert_eq!(details.code, 9);
    let info: latimer_pb::rpc::ErrorInfo = details.details[0].to_msg().unwrap();
    assert_eq!(
        (info.reason.as_str(), info.domain.as_str()),
        ("UNSUPPORTED_OPERATION", "a2a-protocol.org")
    );
    assert_eq!(
        grpc::path(Operation::GetTask, Version::V1_0).unwrap(),
        "/lf.a2a.v1.A2AService/GetTask"
    );
}

#[test]
fn trap_48_streams_are_read_whatever_they_are_cut_into() {
    let stream = "\u{feff}: hello\r\nid: 1\r\ndata: {\"a\":\r\ndata: \"ü\"}\r\n\r\ndata:x\n\nevent: e\ndata: last";
    for size in 1..stream.len() {
        let mut decoder = sse::Decoder::new();
        let mut data = Vec::new();
        for mut piece in stream.as_bytes().chunks(size) {
            while let Some(frame) = decoder.read(&mut piece).unwrap() {
                data.push(String::from_utf8(frame.data).unwrap());
            }
        }
        data.extend(
            std::iter::from_fn(|| decoder.finish()).map(|it| String::from_utf8(it.data).unwrap()),
        );
        assert_eq!(data, ["{\"a\":\n\"ü\"}", "x", "last"], "pieces of {size}");
    }
}

#[test]
fn trap_49_the_codes_of_0_1_mean_something_else() {
    for (code, older, newer) in [
        (-32006, ErrorKind::StreamingNotSupported, ErrorKind::InvalidAgentResponse),
        (-32007, ErrorKind::Unauthenticated, ErrorKind::ExtendedAgentCardNotConfigured),
        (-32008, ErrorKind::PermissionDenied, ErrorKind::ExtensionSupportRequired),
        (-32009, ErrorKind::TaskFinished, ErrorKind::VersionNotSupported),
    ] {
        let object = json!({"code": code, "message": "m"});
        assert_eq!(Error::from_jsonrpc(&object, Version::V0_1).kind(), older);
        assert_eq!(Error::from_jsonrpc(&object, Version::V1_0).kind(), newer);
    }
}

#[test]
fn trap_50_resource_names_of_0_3_lead_to_ids() {
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
fn trap_52_times_are_written_with_milliseconds_and_compared_as_instants() {
    let times =
        ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000000Z", "2026-01-01T02:00:00.000+02:00"];
    let read = times.map(|it| it.parse::<Timestamp>().unwrap());
    assert!(read.iter().all(|it| *it == read[0]));
    assert_eq!(json!(read[0]), "2026-01-01T00:00:00.000Z");
}
