use http::Method;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::binding::VersionRule;
use crate::error::ErrorKind;
use crate::json;
use crate::model::{
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
};
use Operation as O;
use Version::{V0_1, V0_3, V1_0};

fn ask<'a>(method: &'a Method, address: &'a str, said: Option<Version>) -> Ask<'a> {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    Ask { path, query, said, ..Ask::new(method, path) }
}

fn found(method: Method, address: &str, said: Option<Version>) -> Route {
    Route::find(&ask(&method, address, said))
        .unwrap_or_else(|it| panic!("{method} {address} as {said:?}: {it}"))
}

fn refused(method: Method, address: &str, said: Option<Version>) -> Refused {
    match Route::find(&ask(&method, address, said)) {
        Err(refused) => refused,
        Ok(route) => panic!("{method} {address} as {said:?}: {route:?}"),
    }
}

#[test]
fn every_address_of_the_operations_leads_to_them() {
    for operation in Operation::ALL {
        for version in [V1_0, V0_3] {
            let Some((method, path)) = operation.route(version) else { continue };
            let route = found(method.clone(), &path, Some(version));
            assert_eq!((route.operation, route.version), (operation, version), "{path}");
        }
    }
}

#[test]
fn addresses_of_1_0_are_found() {
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
        let some = |text: &str| Some(text.to_owned()).filter(|it| !it.is_empty());
        let want = Route {
            tenant: some(tenant),
            task_id: some(task),
            config_id: some(config),
            ..Route::new(operation, V1_0)
        };
        assert_eq!(found(method, path, Some(V1_0)), want, "{path}");
    }
}

#[test]
fn the_path_and_what_is_said_decide_the_version_and_shape() {
    const GET: Method = Method::GET;
    const POST: Method = Method::POST;
    for (method, path, said, operation, version, shape) in [
        (POST, "/message:send", None, O::SendMessage, V1_0, Shape::Plain),
        (POST, "/v1/message:send", None, O::SendMessage, V0_3, Shape::Plain),
        (POST, "/v1/message:stream", Some(V0_3), O::SendStreamingMessage, V0_3, Shape::Plain),
        (GET, "/v1/tasks/x:subscribe", None, O::SubscribeToTask, V0_3, Shape::Plain),
        (GET, "/v1/task/x", None, O::GetTask, V0_3, Shape::Plain),
        (GET, "/v1/tasks", None, O::ListTasks, V0_3, Shape::Plain),
        (
            POST,
            "/v1/task/x/pushNotificationConfigs",
            None,
            O::CreateTaskPushNotificationConfig,
            V0_3,
            Shape::Plain,
        ),
        (GET, "/v1/card", None, O::GetExtendedAgentCard, V0_3, Shape::Plain),
        (
            GET,
            "/agent/authenticatedExtendedCard",
            None,
            O::GetExtendedAgentCard,
            V0_3,
            Shape::Plain,
        ),
        (POST, "/tasks/send", None, O::SendMessage, V0_1, Shape::Oldest),
        (POST, "/tasks/send", Some(V0_3), O::SendMessage, V0_1, Shape::Oldest),
        (POST, "/tasks/x/cancel", None, O::CancelTask, V0_1, Shape::Oldest),
        (POST, "/tasks/x/cancel", Some(V1_0), O::CancelTask, V1_0, Shape::Plain),
        (POST, "/tasks/x:cancel", None, O::CancelTask, V1_0, Shape::Plain),
        (GET, "/tasks/x", None, O::GetTask, V1_0, Shape::AsMade),
        (GET, "/tasks/x", Some(V0_1), O::GetTask, V0_1, Shape::Oldest),
        (GET, "/tasks/x", Some(V1_0), O::GetTask, V1_0, Shape::Plain),
        (GET, "/tasks/x:cancel", None, O::GetTask, V1_0, Shape::AsMade),
        (GET, "/tasks/x:subscribe", None, O::SubscribeToTask, V1_0, Shape::Plain),
        (GET, "/tasks", None, O::ListTasks, V1_0, Shape::Plain),
    ] {
        let route = found(method, path, said);
        let row = format!("{path} as {said:?}");
        assert_eq!(
            (route.operation, route.version, route.shape),
            (operation, version, shape),
            "{row}"
        );
    }
}

#[test]
fn addresses_that_cannot_be_served_say_why() {
    use ErrorKind::{InvalidParams, MethodNotFound, VersionNotSupported};
    let deep = format!("/{}tasks", "a/".repeat(5000));
    for (method, address, said, kind, version, allow) in [
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
        let refused = refused(method.clone(), address, said);
        let row = format!("{method} {:.40} as {said:?}: {refused}", address);
        assert_eq!(refused.error.kind(), kind, "{row}");
        assert_eq!((refused.version, refused.allow), (version, allow), "{row}");
    }
    let error = refused(Method::POST, "/message:send", Some(V0_3)).error;
    assert!(error.message().ends_with("say A2A-Version: 1.0, or use /v1/message:send"), "{error}");
    let error = refused(Method::PUT, "/message:send", None).error;
    assert_eq!(error.message(), "/message:send takes POST and not PUT");
}

#[test]
fn a_strict_rule_refuses_what_only_1_0_can_mean() {
    let find = |method: Method, path: &str| {
        Route::find(&Ask { rule: VersionRule::Strict, ..Ask::new(&method, path) })
    };
    let refused = find(Method::POST, "/message:send").unwrap_err();
    assert_eq!(refused.error.kind(), ErrorKind::VersionNotSupported);
    assert_eq!(find(Method::POST, "/v1/message:send").unwrap().version, V0_3);
    let route = find(Method::GET, "/tasks/x").unwrap();
    assert_eq!((route.version, route.shape), (V0_1, Shape::Oldest));
}

#[test]
fn the_query_is_decoded_and_the_version_left_out() {
    for (query, want) in [
        ("", &[][..]),
        ("&&", &[]),
        ("A2A-Version=1.0&a2a-version=2", &[]),
        ("a=1&b=x+y%2Bz%20w&c&d=", &[("a", "1"), ("b", "x y+z w"), ("c", ""), ("d", "")]),
        ("a=1&a=2=3", &[("a", "1"), ("a", "2=3")]),
        ("%C3%A4=%E2%9C%93", &[("ä", "✓")]),
    ] {
        let route = found(Method::GET, &format!("/tasks?{query}"), Some(V1_0));
        let pairs: Vec<_> = route.query.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(pairs, want, "{query}");
    }
}

#[test]
fn members_are_what_the_requests_read() {
    for (method, address, want) in [
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
        let members = found(method, address, Some(V1_0)).members();
        assert_eq!(Value::Object(members), want, "{address}");
    }

    let members = |address: &str| found(Method::GET, address, Some(V1_0)).members();
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

    for address in ["/tasks?pageSize=1&pageSize=2", "/tasks?pageSize=x"] {
        let error = json::from_value::<ListTasksRequest>(&members(address).into()).unwrap_err();
        assert_eq!(error.field, "pageSize", "{address}");
    }
}

#[test]
fn a_plus_in_a_time_may_come_unencoded() {
    for (query, want) in [
        ("statusTimestampAfter=2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00.000Z"),
        ("statusTimestampAfter=2026-01-01T01:00:00%2B01:00", "2026-01-01T00:00:00.000Z"),
        ("lastUpdatedAfter=2026-01-01T00:00:00.5+00:00", "2026-01-01T00:00:00.500Z"),
        ("status_timestamp_after=2026-01-01T01:00:00+0100", "2026-01-01T00:00:00.000Z"),
        ("statusTimestampAfter=2026-01-01+01:00:00+01:00", "2026-01-01T00:00:00.000Z"),
        ("statusTimestampAfter=2026-01-01+01:00", "2026-01-01T01:00:00.000Z"),
    ] {
        let members = found(Method::GET, &format!("/tasks?{query}"), Some(V1_0)).members();
        let list: ListTasksRequest = json::from_value(&members.into()).unwrap();
        assert_eq!(list.status_timestamp_after.unwrap().to_string(), want, "{query}");
    }
    let other = found(Method::GET, "/tasks?pageToken=1:0+10:00", Some(V1_0)).members();
    assert_eq!(other["pageToken"], "1:0 10:00");
}

#[test]
fn what_has_no_address_is_not_sent() {
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
        assert_eq!(route.address().unwrap_err().kind(), kind, "{route:?}");
    }
}

fn id() -> impl Strategy<Value = String> {
    const ODD: &[&str] =
        &[":cancel", "x:subscribe", "send", "tasks", "%2F", "a/b", "a%3Acancel", "+", "...", " "];
    prop_oneof![any::<String>(), prop::sample::select(ODD).prop_map(str::to_owned)]
        .prop_filter("is an id", |it| !it.is_empty() && it != "." && it != "..")
}

fn route() -> impl Strategy<Value = Route> {
    let addressed: Vec<(Operation, Version)> = Operation::ALL
        .into_iter()
        .flat_map(|operation| Version::ALL.map(|version| (operation, version)))
        .filter(|(operation, version)| operation.route(*version).is_some())
        .collect();
    let segment = id().prop_filter("is a tenant", |it| {
        let taken = ["tasks", "message", "message:send", "message:stream", "agent-card"];
        !it.contains('/') && !taken.contains(&it.as_str())
    });
    let tenant = prop::option::of(prop::collection::vec(segment, 1..4));
    let query = prop::collection::vec((any::<String>(), any::<String>()), 0..3);
    let parts = (prop::sample::select(addressed), tenant, id(), id(), query);
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
    fn an_address_leads_back_to_its_route(route in route()) {
        let (method, address) = route.address().unwrap();
        let found = Route::find(&ask(&method, &address, Some(route.version)));
        prop_assert_eq!(found, Ok(route), "{} {}", method, address);
    }

    #[test]
    fn no_address_makes_the_finder_panic(
        address in "/?(v1/)?(tasks|message)?[/:a-z%0-9?&=+\\PC]{0,40}",
        method in prop::sample::select(vec![Method::GET, Method::POST, Method::DELETE]),
        said in prop::sample::select(vec![None, Some(V1_0), Some(V0_3), Some(V0_1)]),
    ) {
        let _ = Route::find(&ask(&method, &address, said)).map(|it| it.members());
    }
}
