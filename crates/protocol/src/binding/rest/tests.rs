use http::Method;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::binding::VersionPolicy;
use crate::error::ErrorKind;
use crate::json;
use crate::model::{
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
};
use Operation as O;
use Version::{V0_1, V0_3, V1_0};

fn route_request<'a>(
    method: &'a Method,
    target: &'a str,
    declared: Option<Version>,
) -> RouteRequest<'a> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    RouteRequest { path, query, declared, ..RouteRequest::new(method, path) }
}

fn find_route(method: Method, target: &str, declared: Option<Version>) -> Route {
    Route::find(&route_request(&method, target, declared))
        .unwrap_or_else(|it| panic!("{method} {target} as {declared:?}: {it}"))
}

fn find_rejection(method: Method, target: &str, declared: Option<Version>) -> Rejection {
    match Route::find(&route_request(&method, target, declared)) {
        Err(rejection) => rejection,
        Ok(route) => panic!("{method} {target} as {declared:?}: {route:?}"),
    }
}

#[test]
fn every_operation_route_is_found() {
    for operation in Operation::ALL {
        for version in [V1_0, V0_3] {
            let Some((method, path)) = operation.route(version) else { continue };
            let route = find_route(method.clone(), &path, Some(version));
            assert_eq!((route.operation, route.version), (operation, version), "{path}");
        }
    }
}

#[test]
fn v1_0_paths_are_routed() {
    const GET: Method = Method::GET;
    const POST: Method = Method::POST;
    const DELETE: Method = Method::DELETE;
    for (method, path, operation, tenant, task, config) in [
        (POST, "/message:send", O::SendMessage, "", "", ""),
        (POST, "/message%3Asend", O::SendMessage, "", "", ""),
        (POST, "/message/stream", O::SendStreamingMessage, "", "", ""),
        (POST, "/acme/message:send", O::SendMessage, "acme", "", ""),
        (POST, "/a/b%20c/message:stream", O::SendStreamingMessage, "a/b c", "", ""),
        (GET, "/tasks", O::ListTasks, "", "", ""),
        (GET, "/v1/tasks", O::ListTasks, "v1", "", ""),
        (POST, "/v1/message:send", O::SendMessage, "v1", "", ""),
        (GET, "/tasks/t1", O::GetTask, "", "t1", ""),
        (GET, "/tasks/a:b", O::GetTask, "", "a:b", ""),
        (GET, "/tasks/a%2Fb", O::GetTask, "", "a/b", ""),
        (GET, "/tasks/%E2%9C%93+%20", O::GetTask, "", "✓+ ", ""),
        (GET, "/tasks/x:cancel", O::GetTask, "", "x:cancel", ""),
        (GET, "/tasks/:subscribe", O::GetTask, "", ":subscribe", ""),
        (GET, "/tasks/x%3Asubscribe", O::GetTask, "", "x:subscribe", ""),
        (GET, "/tasks/send", O::GetTask, "", "send", ""),
        (GET, "/tasks/tasks", O::GetTask, "", "tasks", ""),
        (POST, "/tasks/x:cancel", O::CancelTask, "", "x", ""),
        (POST, "/tasks/x:cancel:cancel", O::CancelTask, "", "x:cancel", ""),
        (POST, "/tasks/x%3Acancel:cancel", O::CancelTask, "", "x:cancel", ""),
        (POST, "/tasks/x/cancel", O::CancelTask, "", "x", ""),
        (POST, "/t/tasks/x/cancel", O::CancelTask, "t", "x", ""),
        (POST, "/tasks/x:cancel:subscribe", O::SubscribeToTask, "", "x:cancel", ""),
        (GET, "/tasks/x:subscribe", O::SubscribeToTask, "", "x", ""),
        (GET, "/t/tasks/x:subscribe", O::SubscribeToTask, "t", "x", ""),
        (GET, "/tasks/x/subscribe", O::SubscribeToTask, "", "x", ""),
        (
            POST,
            "/tasks/x/pushNotificationConfigs",
            O::CreateTaskPushNotificationConfig,
            "",
            "x",
            "",
        ),
        (GET, "/tasks/x/push-configs", O::ListTaskPushNotificationConfigs, "", "x", ""),
        (GET, "/t/tasks/x/push-configs/c%3A1", O::GetTaskPushNotificationConfig, "t", "x", "c:1"),
        (
            DELETE,
            "/tasks/x:cancel/pushNotificationConfigs/c",
            O::DeleteTaskPushNotificationConfig,
            "",
            "x:cancel",
            "c",
        ),
        (GET, "/extendedAgentCard", O::GetExtendedAgentCard, "", "", ""),
        (GET, "/t/agent-card/extended", O::GetExtendedAgentCard, "t", "", ""),
    ] {
        let non_empty = |text: &str| Some(text.to_owned()).filter(|it| !it.is_empty());
        let want = Route {
            tenant: non_empty(tenant),
            task_id: non_empty(task),
            config_id: non_empty(config),
            ..Route::new(operation, V1_0)
        };
        assert_eq!(find_route(method, path, Some(V1_0)), want, "{path}");
    }
}

#[test]
fn path_and_declared_version_select_version_and_format() {
    const GET: Method = Method::GET;
    const POST: Method = Method::POST;
    for (method, path, declared, operation, version, reply_format) in [
        (POST, "/message:send", None, O::SendMessage, V1_0, ReplyFormat::Versioned),
        (POST, "/v1/message:send", None, O::SendMessage, V0_3, ReplyFormat::Versioned),
        (
            POST,
            "/v1/message:stream",
            Some(V0_3),
            O::SendStreamingMessage,
            V0_3,
            ReplyFormat::Versioned,
        ),
        (GET, "/v1/tasks/x:subscribe", None, O::SubscribeToTask, V0_3, ReplyFormat::Versioned),
        (GET, "/v1/task/x", None, O::GetTask, V0_3, ReplyFormat::Versioned),
        (GET, "/v1/tasks", None, O::ListTasks, V0_3, ReplyFormat::Versioned),
        (
            POST,
            "/v1/task/x/pushNotificationConfigs",
            None,
            O::CreateTaskPushNotificationConfig,
            V0_3,
            ReplyFormat::Versioned,
        ),
        (GET, "/v1/card", None, O::GetExtendedAgentCard, V0_3, ReplyFormat::Versioned),
        (
            GET,
            "/agent/authenticatedExtendedCard",
            None,
            O::GetExtendedAgentCard,
            V0_3,
            ReplyFormat::Versioned,
        ),
        (POST, "/tasks/send", None, O::SendMessage, V0_1, ReplyFormat::Legacy),
        (POST, "/tasks/send", Some(V0_3), O::SendMessage, V0_1, ReplyFormat::Legacy),
        (POST, "/tasks/x/cancel", None, O::CancelTask, V0_1, ReplyFormat::Legacy),
        (POST, "/tasks/x/cancel", Some(V1_0), O::CancelTask, V1_0, ReplyFormat::Versioned),
        (POST, "/tasks/x:cancel", None, O::CancelTask, V1_0, ReplyFormat::Versioned),
        (GET, "/tasks/x", None, O::GetTask, V1_0, ReplyFormat::SameAsTask),
        (GET, "/tasks/x", Some(V0_1), O::GetTask, V0_1, ReplyFormat::Legacy),
        (GET, "/tasks/x", Some(V1_0), O::GetTask, V1_0, ReplyFormat::Versioned),
        (GET, "/tasks/x:cancel", None, O::GetTask, V1_0, ReplyFormat::SameAsTask),
        (GET, "/tasks/x:subscribe", None, O::SubscribeToTask, V1_0, ReplyFormat::Versioned),
        (GET, "/tasks", None, O::ListTasks, V1_0, ReplyFormat::Versioned),
    ] {
        let route = find_route(method, path, declared);
        let row = format!("{path} as {declared:?}");
        assert_eq!(
            (route.operation, route.version, route.reply_format),
            (operation, version, reply_format),
            "{row}"
        );
    }
}

#[test]
fn unroutable_request_reports_the_reason() {
    use ErrorKind::{InvalidParams, MethodNotFound, VersionNotSupported};
    let deep = format!("/{}tasks", "a/".repeat(5000));
    for (method, target, declared, kind, version, allow) in [
        (Method::GET, "", None, MethodNotFound, V1_0, None),
        (Method::GET, "/", None, MethodNotFound, V1_0, None),
        (Method::GET, "/tasks/", Some(V1_0), MethodNotFound, V1_0, None),
        (Method::GET, "//tasks", Some(V1_0), MethodNotFound, V1_0, None),
        (Method::GET, "/nothing", Some(V0_3), MethodNotFound, V0_3, None),
        (Method::GET, "/tasks/x/other", None, MethodNotFound, V1_0, None),
        (Method::GET, deep.as_str(), None, MethodNotFound, V1_0, None),
        (Method::GET, "/v1/extendedAgentCard", None, MethodNotFound, V0_3, None),
        (Method::GET, "/v1", None, MethodNotFound, V0_3, None),
        (Method::GET, "/message:send", None, MethodNotFound, V1_0, Some("POST")),
        (Method::POST, "/agent/authenticatedExtendedCard", None, MethodNotFound, V0_3, Some("GET")),
        (Method::PUT, "/tasks/x:subscribe", None, MethodNotFound, V1_0, Some("GET, POST")),
        (Method::POST, "/tasks/x", None, MethodNotFound, V1_0, Some("GET")),
        (Method::POST, "/tasks/send", Some(V1_0), MethodNotFound, V1_0, Some("GET")),
        (Method::DELETE, "/v1/tasks/x", None, MethodNotFound, V0_3, Some("GET")),
        (
            Method::POST,
            "/t/tasks/x/pushNotificationConfigs/c",
            Some(V1_0),
            MethodNotFound,
            V1_0,
            Some("GET, DELETE"),
        ),
        (Method::GET, "/tasks/%zz", None, InvalidParams, V1_0, None),
        (Method::GET, "/tasks/%4", None, InvalidParams, V1_0, None),
        (Method::GET, "/tasks/%", None, InvalidParams, V1_0, None),
        (Method::GET, "/tasks/%ff", None, InvalidParams, V1_0, None),
        (Method::GET, "/v1/tasks/%C3", None, InvalidParams, V0_3, None),
        (Method::GET, "/%ff/tasks", None, InvalidParams, V1_0, None),
        (Method::GET, "/tasks?a=%zz", None, InvalidParams, V1_0, None),
        (Method::GET, "/tasks?%ff=a", None, InvalidParams, V1_0, None),
        (Method::POST, "/message:send", Some(V0_3), VersionNotSupported, V0_3, None),
        (Method::GET, "/tasks", Some(V0_1), VersionNotSupported, V0_1, None),
        (Method::GET, "/tasks/x:subscribe", Some(V0_3), VersionNotSupported, V0_3, None),
        (Method::GET, "/v1/tasks", Some(V0_1), VersionNotSupported, V0_1, None),
    ] {
        let rejection = find_rejection(method.clone(), target, declared);
        let row = format!("{method} {:.40} as {declared:?}: {rejection}", target);
        assert_eq!(rejection.error.kind(), kind, "{row}");
        assert_eq!((rejection.version, rejection.allow), (version, allow), "{row}");
    }
    let error = find_rejection(Method::POST, "/message:send", Some(V0_3)).error;
    assert!(error.message().ends_with("send A2A-Version: 1.0, or use /v1/message:send"), "{error}");
    let error = find_rejection(Method::PUT, "/message:send", None).error;
    assert_eq!(error.message(), "/message:send supports POST, not PUT");
}

#[test]
fn strict_policy_rejects_undeclared_v1_0_requests() {
    let find = |method: Method, path: &str| {
        Route::find(&RouteRequest {
            version_policy: VersionPolicy::Strict,
            ..RouteRequest::new(&method, path)
        })
    };
    let rejection = find(Method::POST, "/message:send").unwrap_err();
    assert_eq!(rejection.error.kind(), ErrorKind::VersionNotSupported);
    assert_eq!(find(Method::POST, "/v1/message:send").unwrap().version, V0_3);
    let route = find(Method::GET, "/tasks/x").unwrap();
    assert_eq!((route.version, route.reply_format), (V0_1, ReplyFormat::Legacy));
}

#[test]
fn query_is_decoded_without_the_version_parameter() {
    for (query, want) in [
        ("", &[][..]),
        ("&&", &[]),
        ("A2A-Version=1.0&a2a-version=2", &[]),
        ("a=1&b=x+y%2Bz%20w&c&d=", &[("a", "1"), ("b", "x y+z w"), ("c", ""), ("d", "")]),
        ("a=1&a=2=3", &[("a", "1"), ("a", "2=3")]),
        ("%C3%A4=%E2%9C%93", &[("ä", "✓")]),
    ] {
        let route = find_route(Method::GET, &format!("/tasks?{query}"), Some(V1_0));
        let pairs: Vec<_> = route.query.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(pairs, want, "{query}");
    }
}

#[test]
fn route_members_deserialize_into_requests() {
    for (method, target, want) in [
        (Method::GET, "/tasks/t?historyLength=2", json!({"historyLength": "2", "id": "t"})),
        (Method::GET, "/a/tasks/t?id=x&tenant=y", json!({"id": "t", "tenant": "a"})),
        (
            Method::GET,
            "/tasks/t/pushNotificationConfigs/c?task_id=x",
            json!({"taskId": "t", "id": "c"}),
        ),
        (Method::GET, "/tasks?a=1&a=2&a=3", json!({"a": ["1", "2", "3"]})),
        (Method::POST, "/tasks/t:cancel?metadata=x", json!({"id": "t"})),
        (Method::POST, "/message:send?message=x", json!({})),
        (Method::POST, "/tasks/t/pushNotificationConfigs", json!({"taskId": "t"})),
    ] {
        let members = find_route(method, target, Some(V1_0)).members();
        assert_eq!(Value::Object(members), want, "{target}");
    }

    let members = |target: &str| find_route(Method::GET, target, Some(V1_0)).members();
    let get: GetTaskRequest =
        json::from_value(&members("/t/tasks/x?history_length=3").into()).unwrap();
    assert_eq!((get.tenant.as_deref(), get.history_length), (Some("t"), Some(3)));
    let list = "/tasks?pageSize=5&status=TASK_STATE_WORKING&includeArtifacts=true&contextId=c";
    let list: ListTasksRequest = json::from_value(&members(list).into()).unwrap();
    assert_eq!((list.page_size, list.include_artifacts), (Some(5), Some(true)));
    let config = members("/tasks/x/pushNotificationConfigs/c");
    let config: GetTaskPushNotificationConfigRequest = json::from_value(&config.into()).unwrap();
    assert_eq!(config.id.unwrap(), "c");
    let configs = members("/tasks/x/pushNotificationConfigs?pageSize=1&pageToken=p");
    let configs: ListTaskPushNotificationConfigsRequest =
        json::from_value(&configs.into()).unwrap();
    assert_eq!((configs.page_size, configs.page_token.as_deref()), (Some(1), Some("p")));

    for target in ["/tasks?pageSize=1&pageSize=2", "/tasks?pageSize=x"] {
        let error = json::from_value::<ListTasksRequest>(&members(target).into()).unwrap_err();
        assert_eq!(error.field, "pageSize", "{target}");
    }
}

#[test]
fn unencoded_plus_in_a_timestamp_is_restored() {
    for (query, want) in [
        ("statusTimestampAfter=2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00.000Z"),
        ("statusTimestampAfter=2026-01-01T01:00:00%2B01:00", "2026-01-01T00:00:00.000Z"),
        ("lastUpdatedAfter=2026-01-01T00:00:00.5+00:00", "2026-01-01T00:00:00.500Z"),
        ("status_timestamp_after=2026-01-01T01:00:00+0100", "2026-01-01T00:00:00.000Z"),
        ("statusTimestampAfter=2026-01-01+01:00:00+01:00", "2026-01-01T00:00:00.000Z"),
        ("statusTimestampAfter=2026-01-01+01:00", "2026-01-01T01:00:00.000Z"),
    ] {
        let members = find_route(Method::GET, &format!("/tasks?{query}"), Some(V1_0)).members();
        let list: ListTasksRequest = json::from_value(&members.into()).unwrap();
        assert_eq!(list.status_timestamp_after.unwrap().to_string(), want, "{query}");
    }
    let other = find_route(Method::GET, "/tasks?pageToken=1:0+10:00", Some(V1_0)).members();
    assert_eq!(other["pageToken"], "1:0 10:00");
}

#[test]
fn route_without_a_valid_path_is_an_error() {
    use ErrorKind::{InvalidParams, UnsupportedOperation};
    let route = |operation, version, id: &str| Route {
        task_id: Some(id.to_owned()),
        ..Route::new(operation, version)
    };
    for (route, kind) in [
        (Route::new(O::GetAgentCard, V1_0), UnsupportedOperation),
        (Route::new(O::ListTasks, V0_1), UnsupportedOperation),
        (Route::new(O::GetTask, V1_0), InvalidParams),
        (route(O::GetTask, V1_0, ""), InvalidParams),
        (route(O::GetTask, V1_0, ".."), InvalidParams),
        (route(O::CancelTask, V0_1, "."), InvalidParams),
        (route(O::GetTaskPushNotificationConfig, V1_0, "x"), InvalidParams),
        (
            Route { tenant: Some("a/..".to_owned()), ..Route::new(O::ListTasks, V1_0) },
            InvalidParams,
        ),
    ] {
        assert_eq!(route.request_line().unwrap_err().kind(), kind, "{route:?}");
    }
}

fn id() -> impl Strategy<Value = String> {
    const ODD: &[&str] =
        &[":cancel", "x:subscribe", "send", "tasks", "%2F", "a/b", "a%3Acancel", "+", "...", " "];
    prop_oneof![any::<String>(), prop::sample::select(ODD).prop_map(str::to_owned)]
        .prop_filter("is an id", |it| !it.is_empty() && it != "." && it != "..")
}

fn route() -> impl Strategy<Value = Route> {
    let routable: Vec<(Operation, Version)> = Operation::ALL
        .into_iter()
        .flat_map(|operation| Version::ALL.map(|version| (operation, version)))
        .filter(|(operation, version)| operation.route(*version).is_some())
        .collect();
    let segment = id().prop_filter("is a tenant", |it| {
        let reserved = ["tasks", "message", "message:send", "message:stream", "agent-card"];
        !it.contains('/') && !reserved.contains(&it.as_str())
    });
    let tenant = prop::option::of(prop::collection::vec(segment, 1..4));
    let query = prop::collection::vec((any::<String>(), any::<String>()), 0..3);
    let parts = (prop::sample::select(routable), tenant, id(), id(), query);
    parts.prop_map(|((operation, version), tenant, task, config, query)| {
        let template = operation.route(V1_0).map_or_else(String::new, |(_, path)| path);
        Route {
            tenant: tenant.filter(|_| version == V1_0).map(|it| it.join("/")),
            task_id: template.contains("{id}").then_some(task),
            config_id: template.contains("{config}").then_some(config),
            query: query.into_iter().filter(|it| it != &Default::default()).collect(),
            ..Route::new(operation, version)
        }
    })
}

proptest! {
    #[test]
    fn request_line_round_trips_to_its_route(route in route()) {
        let (method, target) = route.request_line().unwrap();
        let matched = Route::find(&route_request(&method, &target, Some(route.version)));
        prop_assert_eq!(matched, Ok(route), "{} {}", method, target);
    }

    #[test]
    fn arbitrary_request_target_never_panics_the_router(
        target in "/?(v1/)?(tasks|message)?[/:a-z%0-9?&=+\\PC]{0,40}",
        method in prop::sample::select(vec![Method::GET, Method::POST, Method::DELETE]),
        declared in prop::sample::select(vec![None, Some(V1_0), Some(V0_3), Some(V0_1)]),
    ) {
        let _ = Route::find(&route_request(&method, &target, declared)).map(|it| it.members());
    }
}
