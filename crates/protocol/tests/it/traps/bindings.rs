//! Envelopes, addresses, headers, versions and streams.

use http::Method;
use latimer_protocol::binding::rest::{self, Ask, Outgoing, Route};
use latimer_protocol::binding::{VersionRule, jsonrpc, parameters, sse};
use latimer_protocol::{Dialect, Error, ErrorKind, Operation, Reply, Request, Timestamp, Version};
use serde_json::json;

use super::{find, made_here, parse, read, reply, write};

#[test]
fn trap_01_subscribe_is_served_by_get_and_post_and_sent_by_post() {
    for method in [Method::GET, Method::POST] {
        for path in ["/tasks/t:subscribe", "/v1/tasks/t:subscribe"] {
            let route = find(&method, path, None);
            assert_eq!(route.operation, Operation::SubscribeToTask, "{method} {path}");
        }
    }
    let request = read(Dialect::V1_0, Operation::SubscribeToTask, json!({"id": "t"})).unwrap();
    assert_eq!(Outgoing::new(Dialect::V1_0, &request).unwrap().method, Method::POST);
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
