//! Pitfalls of envelopes, URLs, headers, versions and streams.

use http::Method;
use latimer_protocol::binding::rest::{self, HttpRequest, Route, RouteRequest};
use latimer_protocol::binding::{VersionPolicy, jsonrpc, parameters, sse};
use latimer_protocol::{Dialect, Error, ErrorKind, Operation, Reply, Request, Timestamp, Version};
use serde_json::json;

use super::{find_route, new_id, parse, read, reply, write};

#[test]
fn pitfall_01_subscribe_accepts_get_and_post_but_sends_post() {
    for method in [Method::GET, Method::POST] {
        for path in ["/tasks/t:subscribe", "/v1/tasks/t:subscribe"] {
            let route = find_route(&method, path, None);
            assert_eq!(route.operation, Operation::SubscribeToTask, "{method} {path}");
        }
    }
    let request = read(Dialect::V1_0, Operation::SubscribeToTask, json!({"id": "t"})).unwrap();
    assert_eq!(HttpRequest::new(Dialect::V1_0, &request).unwrap().method, Method::POST);
}

#[test]
fn pitfall_02_last_verb_is_split_before_decoding() {
    let declared = Some(Version::V1_0);
    for (method, path, operation, id) in [
        (Method::POST, "/tasks/a:cancel:cancel", Operation::CancelTask, "a:cancel"),
        (Method::POST, "/tasks/a%3Acancel:cancel", Operation::CancelTask, "a:cancel"),
        (Method::GET, "/tasks/a:cancel", Operation::GetTask, "a:cancel"),
        (Method::GET, "/tasks/a%2Fb", Operation::GetTask, "a/b"),
        (Method::POST, "/tasks/a:b:subscribe", Operation::SubscribeToTask, "a:b"),
    ] {
        let route = find_route(&method, path, declared);
        assert_eq!((route.operation, route.task_id.as_deref()), (operation, Some(id)), "{path}");
    }
}

#[test]
fn pitfall_04_error_content_type_follows_accept_header() {
    for (accept, want) in [
        (None, "application/json"),
        (Some("*/*"), "application/json"),
        (Some("application/json"), "application/json"),
        (Some("application/a2a+json, application/json"), "application/a2a+json"),
    ] {
        assert_eq!(rest::negotiate_media_type(accept), want, "{accept:?}");
    }
    for content_type in
        ["application/json; charset=utf-8", "application/a2a+json", "APPLICATION/JSON"]
    {
        assert!(rest::is_json(content_type), "{content_type}");
    }
}

#[test]
fn pitfall_05_deletion_reply_is_an_empty_object() {
    let params = json!({"taskId": "t", "id": "p"});
    let request = read(Dialect::V1_0, Operation::DeleteTaskPushNotificationConfig, params).unwrap();
    assert_eq!(reply(Dialect::V1_0, &request, &Reply::PushConfigsDeleted(1)), json!({}));
    for body in ["", "{}", "null"] {
        let read = Dialect::V1_0.read_reply(request.operation(), body);
        assert!(matches!(read, Ok(Reply::PushConfigsDeleted(_))), "{body:?}");
    }
}

#[test]
fn pitfall_07_early_stream_failure_is_a_single_error_event() {
    let id = jsonrpc::Id::from(7);
    let error = jsonrpc::write_error(Version::V1_0, &id, &Error::task_not_found("t"));
    let mut stream = Vec::new();
    sse::write_frame(&mut stream, sse::FrameHead::default(), &[&error]);
    assert!(stream.starts_with(br#"data: {"jsonrpc":"2.0","id":7,"error":{"code":-32001"#));
    assert!(stream.ends_with(b"\n\n"));
}

#[test]
fn pitfall_08_jsonrpc_ids_are_echoed_verbatim() {
    for id in ["1", "1.0", "\"1\"", "1e0", "null", "-5", "\"\\u0041\""] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"GetTask"}}"#);
        let request = jsonrpc::Request::read(text.as_bytes()).unwrap();
        let reply =
            String::from_utf8(jsonrpc::Envelope::new(&request.id).wrap(b"{}").concat()).unwrap();
        assert!(reply.contains(&format!(r#""id":{id},"#)), "{reply}");
    }
    for id in ["{}", "[]", "true"] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"GetTask"}}"#);
        let rejection = jsonrpc::Request::read(text.as_bytes()).unwrap_err();
        assert!(
            rejection.id.is_null() && rejection.error.kind() == ErrorKind::InvalidRequest,
            "{id}"
        );
    }
}

#[test]
fn pitfall_09_missing_result_without_error_is_null() {
    let response = jsonrpc::Response::read(br#"{"jsonrpc":"2.0","id":"1"}"#).unwrap();
    assert_eq!(response.result(Version::V1_0), Ok("null"));
    let envelope = jsonrpc::Envelope::new(&jsonrpc::Id::from("1")).wrap(b"null").concat();
    assert_eq!(parse(&envelope), json!({"jsonrpc": "2.0", "id": "1", "result": null}));
}

#[test]
fn pitfall_15_version_may_be_missing_and_patch_is_ignored() {
    assert_eq!(Version::declared(None, None), Ok(None));
    assert_eq!(Version::declared(Some(""), None), Ok(None));
    assert_eq!(Version::declared(Some("1.0.3"), None), Ok(Some(Version::V1_0)));
    for declared in ["0.5", "2.0", "abc"] {
        let error = Version::declared(Some(declared), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::VersionNotSupported, "{declared}");
    }
    let lenient = jsonrpc::resolve_method("GetTask", None, VersionPolicy::Lenient);
    assert_eq!(lenient, Ok((Operation::GetTask, Version::V1_0)));
    let strict = jsonrpc::resolve_method("GetTask", None, VersionPolicy::Strict).unwrap_err();
    assert_eq!(strict.kind().codes(Version::V1_0).jsonrpc, -32009);
}

#[test]
fn pitfall_16_version_may_be_a_query_parameter() {
    let query = "pageSize=5&A2A-Version=1.0";
    assert_eq!(parameters::version_from_query(query).as_deref(), Some("1.0"));
    let route_request = RouteRequest {
        query,
        declared: Some(Version::V1_0),
        ..RouteRequest::new(&Method::GET, "/tasks")
    };
    let route = Route::find(&route_request).unwrap();
    assert_eq!(route.query, [("pageSize".to_owned(), "5".to_owned())]);
}

#[test]
fn pitfall_17_unknown_version_error_lists_supported_versions() {
    let error = Version::declared(Some("1.1"), None).unwrap_err();
    assert_eq!(error.metadata()["supportedVersions"], "1.0, 0.3, 0.1");
}

#[test]
fn pitfall_18_time_filter_accepts_alias_and_unescaped_plus() {
    let want: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    for query in [
        "statusTimestampAfter=2026-01-01T00:00:00.000Z",
        "lastUpdatedAfter=2026-01-01T00%3A00%3A00Z",
        "statusTimestampAfter=2026-01-01T00:00:00+00:00",
        "status_timestamp_after=2026-01-01T01:00:00%2B01:00",
    ] {
        let route_request = RouteRequest {
            query,
            declared: Some(Version::V1_0),
            ..RouteRequest::new(&Method::GET, "/tasks")
        };
        let request = Route::find(&route_request).unwrap().read_request(b"", &new_id).unwrap();
        let Request::ListTasks(request) = request else { panic!("expected ListTasks") };
        assert_eq!(request.status_timestamp_after, Some(want), "{query}");
    }
    let query = "statusTimestampAfter=yesterday";
    let route_request = RouteRequest {
        query,
        declared: Some(Version::V1_0),
        ..RouteRequest::new(&Method::GET, "/tasks")
    };
    assert!(Route::find(&route_request).unwrap().read_request(b"", &new_id).is_err());
}

#[test]
fn pitfall_41_extensions_parse_and_header_depends_on_version() {
    let uris = parameters::parse_extensions(["a, b", " c ", "b"]).unwrap();
    assert_eq!(uris, ["a", "b", "c"]);
    assert_eq!(parameters::extensions_header(Version::V1_0), "a2a-extensions");
    assert_eq!(parameters::extensions_header(Version::V0_3), "x-a2a-extensions");
}

#[test]
fn pitfall_44_empty_bodies_are_valid() {
    for path in ["/tasks/t:cancel", "/v1/tasks/t:cancel", "/tasks/t:subscribe"] {
        let route = find_route(&Method::POST, path, None);
        for body in ["", "{}", "null", " "] {
            let request = route.read_request(body.as_bytes(), &new_id);
            assert!(request.is_ok(), "{path} {body:?}: {request:?}");
        }
    }
    assert!(rest::is_readable(None, b""));
}

#[test]
fn pitfall_45_extended_card_request_needs_no_parameters() {
    for params in ["", "{}", "null"] {
        let request = Dialect::V1_0.read_request(Operation::GetExtendedAgentCard, params, &new_id);
        assert!(request.is_ok(), "{params:?}");
    }
    let request = read(Dialect::V1_0, Operation::GetExtendedAgentCard, json!({})).unwrap();
    assert_eq!(write(Dialect::V1_0, &request), json!({}));
}

#[test]
fn pitfall_46_v1_path_is_a_tenant_when_1_0_is_declared() {
    let v0_3 = find_route(&Method::POST, "/v1/message:send", None);
    assert_eq!((v0_3.version, v0_3.tenant), (Version::V0_3, None));
    let v1_0 = find_route(&Method::POST, "/v1/message:send", Some(Version::V1_0));
    assert_eq!((v1_0.version, v1_0.tenant.as_deref()), (Version::V1_0, Some("v1")));
}

#[test]
fn pitfall_48_streams_decode_with_any_chunk_size() {
    let stream = "\u{feff}: hello\r\nid: 1\r\ndata: {\"a\":\r\ndata: \"ü\"}\r\n\r\ndata:x\n\nevent: e\ndata: last";
    for size in 1..stream.len() {
        let mut decoder = sse::Decoder::new();
        let mut data = Vec::new();
        for mut chunk in stream.as_bytes().chunks(size) {
            while let Some(frame) = decoder.read(&mut chunk).unwrap() {
                data.push(String::from_utf8(frame.data).unwrap());
            }
        }
        data.extend(
            std::iter::from_fn(|| decoder.finish()).map(|it| String::from_utf8(it.data).unwrap()),
        );
        assert_eq!(data, ["{\"a\":\n\"ü\"}", "x", "last"], "chunks of {size}");
    }
}
