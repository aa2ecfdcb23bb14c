//! One address, every version.

use latimer_protocol::binding::VersionPolicy;
use latimer_protocol::{CallResponse, Dialect, Reply};
use latimer_server::{Server, Settings};
use serde_json::json;

use crate::support::{Script, older_message, send, shouter, site};

fn rpc(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"r","method":"{method}","params":{params}}}"#)
}

#[tokio::test]
async fn the_method_says_which_version_is_spoken() {
    let site = site(shouter(Settings::default())).await;
    let newest = site.post("/a2a", send("SendMessage", "hi")).await.json();
    assert_eq!(newest["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let params = format!(r#"{{"message":{}}}"#, older_message("hi"));
    let older = site.post("/a2a", rpc("message/send", &params)).await.json();
    assert_eq!(older["result"]["kind"], "task");
    assert_eq!(older["result"]["status"]["state"], "completed");
    let params = r#"{"id":"mine","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}"#;
    let oldest = site.post("/a2a", rpc("tasks/send", params)).await.json();
    assert_eq!(oldest["result"]["id"], "mine");
    assert_eq!(oldest["result"]["artifacts"][0]["index"], 0);
    assert_eq!(oldest["id"], "r");
}

#[tokio::test]
async fn a_task_of_0_1_is_shown_in_0_1_by_the_methods_it_shares_with_0_3() {
    let site = site(shouter(Settings::default())).await;
    let params = r#"{"id":"t1","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}"#;
    site.post("/a2a", rpc("tasks/send", params)).await;
    let got = site.post("/a2a", rpc("tasks/get", r#"{"id":"t1"}"#)).await.json();
    assert!(got["result"].get("kind").is_none(), "{got}");
    assert!(got["result"].get("history").is_none(), "nobody asked for it: {got}");
    let got = site.post("/a2a", rpc("tasks/get", r#"{"id":"t1","historyLength":5}"#)).await.json();
    assert!(!got["result"]["history"].as_array().unwrap().is_empty());
    // Whoever says 0.3 gets 0.3.
    let older = site.with("a2a-version", "0.3");
    let got = older.post("/a2a", rpc("tasks/get", r#"{"id":"t1"}"#)).await.json();
    assert_eq!(got["result"]["kind"], "task");
    // A task of 0.3 is one of 0.3.
    let params = format!(r#"{{"message":{}}}"#, older_message("hi"));
    let sent = site.post("/a2a", rpc("message/send", &params)).await.json();
    let params = json!({"id": sent["result"]["id"]}).to_string();
    let got = site.post("/a2a", rpc("tasks/get", &params)).await.json();
    assert_eq!(got["result"]["kind"], "task");
    assert!(got["result"].get("history").is_some());
}

#[tokio::test]
async fn what_is_said_is_checked_and_never_ignored() {
    let site = site(shouter(Settings::default())).await;
    for (said, method, code) in [
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
        let caller = site.with("a2a-version", said);
        let answer = caller.post("/a2a", rpc(method, r#"{"id":"none"}"#)).await;
        assert_eq!((answer.status, answer.code()), (200, code), "{said} {method}");
        assert_eq!(answer.json()["id"], "r", "{said} {method}");
    }
    let query = site.post("/a2a?A2A-Version=99.0", rpc("GetTask", r#"{"id":"none"}"#)).await;
    assert_eq!(query.code(), -32009);
    let rest = site.with("a2a-version", "99.0").get("/a2a/tasks/none").await;
    assert_eq!(rest.status, 400);
    assert_eq!(rest.json()["error"]["details"][0]["reason"], "VERSION_NOT_SUPPORTED");
    let rest = site.get("/a2a/tasks/none?A2A-Version=1.0").await;
    assert_eq!(rest.json()["error"]["details"][0]["reason"], "TASK_NOT_FOUND");
}

#[tokio::test]
async fn strict_servers_want_1_0_to_be_said() {
    let settings = Settings { version_rule: VersionPolicy::Strict, ..Settings::default() };
    let site = site(shouter(settings)).await;
    assert_eq!(site.post("/a2a", send("SendMessage", "hi")).await.code(), -32009);
    assert_eq!(site.get("/a2a/tasks").await.status, 400);
    assert_eq!(site.v1().get("/a2a/tasks").await.status, 200);
    assert_eq!(site.get("/.well-known/agent-card.json").await.status, 200, "for everybody");
}

#[tokio::test]
async fn extensions_are_read_and_echoed_in_the_spelling_of_the_version() {
    let script = Script::new(|call| {
        let reply = Reply::PushConfigsDeleted(1);
        Ok(CallResponse { extensions: call.extensions.clone(), ..CallResponse::from(reply) })
    });
    let server = Server::empty().answered_by(script.clone());
    let site = site(server).await;
    let caller = site.v1().with("a2a-extensions", "urn:a, urn:b").with("x-a2a-extensions", "urn:c");
    let params = r#"{"taskId":"t","id":"c"}"#;
    let answer = caller.post("/a2a", rpc("DeleteTaskPushNotificationConfig", params)).await;
    assert_eq!(answer.header("a2a-extensions"), "urn:a, urn:b, urn:c");
    assert_eq!(script.last().dialect, Dialect::V1_0);
    let caller = site.with("x-a2a-extensions", "urn:c");
    let params = r#"{"id":"t","pushNotificationConfigId":"c"}"#;
    let answer = caller.post("/a2a", rpc("tasks/pushNotificationConfig/delete", params)).await;
    assert_eq!(answer.header("x-a2a-extensions"), "urn:c");
    assert_eq!(answer.json().get("result"), Some(&json!(null)), "a result there must be");
    let path = "/a2a/tasks/t/pushNotificationConfigs/c";
    let deleted = site.v1().ask(http::Method::DELETE, path, "").await;
    assert_eq!((deleted.status, deleted.text()), (200, "{}"));
}
