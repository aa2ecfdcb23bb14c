//! All versions are served on one path.

use latimer_protocol::binding::VersionPolicy;
use latimer_protocol::{CallResponse, Dialect, Reply};
use latimer_server::{Server, Settings};
use serde_json::json;

use crate::support::{ScriptedService, send_body, shouter_server, start_server, v0_3_message};

fn rpc_body(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"r","method":"{method}","params":{params}}}"#)
}

#[tokio::test]
async fn json_rpc_method_selects_the_version() {
    let server = start_server(shouter_server(Settings::default())).await;
    let newest = server.post("/a2a", send_body("SendMessage", "hi")).await.json();
    assert_eq!(newest["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let params = format!(r#"{{"message":{}}}"#, v0_3_message("hi"));
    let older = server.post("/a2a", rpc_body("message/send", &params)).await.json();
    assert_eq!(older["result"]["kind"], "task");
    assert_eq!(older["result"]["status"]["state"], "completed");
    let params = r#"{"id":"mine","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}"#;
    let oldest = server.post("/a2a", rpc_body("tasks/send", params)).await.json();
    assert_eq!(oldest["result"]["id"], "mine");
    assert_eq!(oldest["result"]["artifacts"][0]["index"], 0);
    assert_eq!(oldest["id"], "r");
}

#[tokio::test]
async fn v0_1_task_keeps_its_format_in_shared_methods() {
    let server = start_server(shouter_server(Settings::default())).await;
    let params = r#"{"id":"t1","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}"#;
    server.post("/a2a", rpc_body("tasks/send", params)).await;
    let got = server.post("/a2a", rpc_body("tasks/get", r#"{"id":"t1"}"#)).await.json();
    assert!(got["result"].get("kind").is_none(), "{got}");
    assert!(got["result"].get("history").is_none(), "0.1 returns no history by default: {got}");
    let got =
        server.post("/a2a", rpc_body("tasks/get", r#"{"id":"t1","historyLength":5}"#)).await.json();
    assert!(!got["result"]["history"].as_array().unwrap().is_empty());
    // A declared version selects the format.
    let older = server.with_header("a2a-version", "0.3");
    let got = older.post("/a2a", rpc_body("tasks/get", r#"{"id":"t1"}"#)).await.json();
    assert_eq!(got["result"]["kind"], "task");
    // A task created in 0.3 has the 0.3 format by default.
    let params = format!(r#"{{"message":{}}}"#, v0_3_message("hi"));
    let sent = server.post("/a2a", rpc_body("message/send", &params)).await.json();
    let params = json!({"id": sent["result"]["id"]}).to_string();
    let got = server.post("/a2a", rpc_body("tasks/get", &params)).await.json();
    assert_eq!(got["result"]["kind"], "task");
    assert!(got["result"].get("history").is_some());
}

#[tokio::test]
async fn declared_version_is_always_checked() {
    let server = start_server(shouter_server(Settings::default())).await;
    for (declared, method, code) in [
        ("1.0", "GetTask", -32001),
        ("1.0.3", "GetTask", -32001),
        ("", "GetTask", -32001),
        ("99.0", "GetTask", -32009),
        ("1.1", "GetTask", -32009),
        ("abc", "GetTask", -32009),
        ("0.3", "GetTask", -32009),
        ("0.3", "tasks/get", -32001),
        ("0.2.5", "tasks/get", -32001),
    ] {
        let caller = server.with_header("a2a-version", declared);
        let response = caller.post("/a2a", rpc_body(method, r#"{"id":"none"}"#)).await;
        assert_eq!(
            (response.status, response.rpc_error_code()),
            (200, code),
            "{declared} {method}"
        );
        assert_eq!(response.json()["id"], "r", "{declared} {method}");
    }
    let query = server.post("/a2a?A2A-Version=99.0", rpc_body("GetTask", r#"{"id":"none"}"#)).await;
    assert_eq!(query.rpc_error_code(), -32009);
    let rest = server.with_header("a2a-version", "99.0").get("/a2a/tasks/none").await;
    assert_eq!(rest.status, 400);
    assert_eq!(rest.json()["error"]["details"][0]["reason"], "VERSION_NOT_SUPPORTED");
    let rest = server.get("/a2a/tasks/none?A2A-Version=1.0").await;
    assert_eq!(rest.json()["error"]["details"][0]["reason"], "TASK_NOT_FOUND");
}

#[tokio::test]
async fn strict_policy_requires_declared_1_0() {
    let settings = Settings { version_policy: VersionPolicy::Strict, ..Settings::default() };
    let server = start_server(shouter_server(settings)).await;
    assert_eq!(server.post("/a2a", send_body("SendMessage", "hi")).await.rpc_error_code(), -32009);
    assert_eq!(server.get("/a2a/tasks").await.status, 400);
    assert_eq!(server.v1().get("/a2a/tasks").await.status, 200);
    assert_eq!(
        server.get("/.well-known/agent-card.json").await.status,
        200,
        "cards need no declared version"
    );
}

#[tokio::test]
async fn extensions_are_echoed_in_the_version_specific_header() {
    let script = ScriptedService::new(|call| {
        let reply = Reply::PushConfigsDeleted(1);
        let extensions = call.context.extensions.clone();
        Ok(CallResponse { extensions, ..CallResponse::from(reply) })
    });
    let server = Server::empty().with_service(script.clone());
    let server = start_server(server).await;
    let caller = server
        .v1()
        .with_header("a2a-extensions", "urn:a, urn:b")
        .with_header("x-a2a-extensions", "urn:c");
    let params = r#"{"taskId":"t","id":"c"}"#;
    let response = caller.post("/a2a", rpc_body("DeleteTaskPushNotificationConfig", params)).await;
    assert_eq!(response.header("a2a-extensions"), "urn:a, urn:b, urn:c");
    assert_eq!(script.last_call().context.dialect, Dialect::V1_0);
    let caller = server.with_header("x-a2a-extensions", "urn:c");
    let params = r#"{"id":"t","pushNotificationConfigId":"c"}"#;
    let response =
        caller.post("/a2a", rpc_body("tasks/pushNotificationConfig/delete", params)).await;
    assert_eq!(response.header("x-a2a-extensions"), "urn:c");
    assert_eq!(response.json().get("result"), Some(&json!(null)), "the result is present");
    let path = "/a2a/tasks/t/pushNotificationConfigs/c";
    let deleted = server.v1().send(http::Method::DELETE, path, "").await;
    assert_eq!((deleted.status, deleted.text()), (200, "{}"));
}
