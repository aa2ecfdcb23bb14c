//! Content of deliveries in the version that the webhook was registered with.

use latimer_server::{PushSettings, V0_3Body};
use serde_json::{Value, json};

use super::{
    Receiver, send_with_webhook, short_timeouts, start_chatty_server, task_id, webhook_at,
};
use crate::support::{TestServer, v0_3_message};

#[tokio::test]
async fn every_event_is_delivered_in_order() {
    let (server, receiver) = (start_chatty_server(short_timeouts()).await, Receiver::new().await);
    let response = server
        .v1()
        .post("/a2a", send_with_webhook("one two", &webhook_at(&receiver.url("/hook?x=1")), false))
        .await;
    let task = task_id(&response);
    let deliveries = receiver.wait_accepted(5).await;
    let events: Vec<_> = deliveries.iter().map(|it| it.summary()).collect();
    assert_eq!(events, ["task SUBMITTED", "WORKING", "artifact one", "artifact two", "COMPLETED"]);
    for delivery in &deliveries {
        assert_eq!(delivery.header("content-type"), "application/a2a+json");
        let name = concat!("Latimer/", env!("CARGO_PKG_VERSION"), " A2A");
        assert_eq!(delivery.header("user-agent"), name);
        assert_eq!(delivery.path, "/hook");
    }
    assert_eq!(deliveries[0].json()["task"]["id"], task.as_str());
    let mut ids: Vec<_> = deliveries.iter().map(|it| it.header("webhook-id")).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5, "each delivery has its own id");
}

#[tokio::test]
async fn configured_user_agent_is_sent() {
    let user_agent = Some("Example/1.0".parse().unwrap());
    let (server, receiver) = (
        start_chatty_server(PushSettings { user_agent, ..short_timeouts() }).await,
        Receiver::new().await,
    );
    server
        .v1()
        .post("/a2a", send_with_webhook("one", &webhook_at(&receiver.url("/")), false))
        .await;
    assert_eq!(receiver.wait_accepted(1).await[0].header("user-agent"), "Example/1.0");
}

#[tokio::test]
async fn late_webhook_receives_only_later_events() {
    let (server, receiver) = (start_chatty_server(short_timeouts()).await, Receiver::new().await);
    let first = server.v1().post("/a2a", crate::support::send_body("SendMessage", "ask")).await;
    let task = task_id(&first);
    let params = json!({"taskId": task, "url": receiver.url("/")});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "CreateTaskPushNotificationConfig", "params": params});
    let created = server.v1().post("/a2a", call.to_string()).await;
    assert_eq!(created.json()["result"]["taskId"], task.as_str(), "{}", created.text());
    let message =
        json!({"messageId": "a", "role": "ROLE_USER", "taskId": task, "parts": [{"text": "one"}]});
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    server.v1().post("/a2a", call.to_string()).await;
    let events: Vec<_> = receiver.wait_accepted(3).await.iter().map(|it| it.summary()).collect();
    assert_eq!(events, ["WORKING", "artifact one", "COMPLETED"]);
}

#[tokio::test]
async fn webhook_of_held_task_waits_until_the_task_is_visible() {
    let (server, receiver) = (start_chatty_server(short_timeouts()).await, Receiver::new().await);
    let hook = webhook_at(&receiver.url("/"));
    let response = server.v1().post("/a2a", send_with_webhook("say later", &hook, false)).await;
    assert!(response.json()["result"]["message"].is_object(), "{}", response.text());
    let response = server.v1().post("/a2a", send_with_webhook("work later", &hook, false)).await;
    let task = task_id(&response);
    // The retracted task has no events before those of the visible one.
    let deliveries = receiver.wait_accepted(4).await;
    assert_eq!(deliveries[0].json()["task"]["id"], task.as_str());
    assert_eq!(deliveries[3].summary(), "COMPLETED");
}

#[tokio::test]
async fn direct_reply_triggers_no_delivery() {
    let (server, receiver) = (start_chatty_server(short_timeouts()).await, Receiver::new().await);
    let response = server
        .v1()
        .post("/a2a", send_with_webhook("say", &webhook_at(&receiver.url("/")), false))
        .await;
    assert!(response.json()["result"]["message"].is_object(), "{}", response.text());
    let response = server
        .v1()
        .post("/a2a", send_with_webhook("one", &webhook_at(&receiver.url("/other")), false))
        .await;
    task_id(&response);
    let deliveries = receiver.wait_accepted(4).await;
    assert!(deliveries.iter().all(|it| it.path == "/other"), "{deliveries:?}");
}

/// Sends a 0.3 message with a webhook over JSON-RPC.
async fn send_v0_3(server: &TestServer, text: &str, webhook: Value) {
    let message: Value = serde_json::from_str(&v0_3_message(text)).unwrap();
    let params = json!({"message": message, "configuration": {"pushNotificationConfig": webhook}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params});
    let response = server.post("/a2a", call.to_string()).await;
    assert_eq!(response.json()["result"]["kind"], "task", "{}", response.text());
}

#[tokio::test]
async fn pitfall_31_v0_3_receiver_gets_a_snapshot_per_event() {
    let (server, receiver) = (start_chatty_server(short_timeouts()).await, Receiver::new().await);
    send_v0_3(&server, "one two", json!({"url": receiver.url("/")})).await;
    let deliveries = receiver.wait_accepted(5).await;
    let summary = |it: &Value| {
        let artifacts = it["artifacts"].as_array().map_or(0, Vec::len);
        (it["kind"].clone(), it["status"]["state"].clone(), artifacts)
    };
    let summaries: Vec<_> = deliveries.iter().map(|it| summary(&it.json())).collect();
    let task = |state: &str, artifacts| (json!("task"), json!(state), artifacts);
    let want = [
        task("submitted", 0),
        task("working", 0),
        task("working", 1),
        task("working", 2),
        task("completed", 2),
    ];
    assert_eq!(summaries, want);
    assert!(deliveries.iter().all(|it| it.header("content-type") == "application/json"));
}

#[tokio::test]
async fn v0_3_receiver_can_get_stream_envelopes() {
    let push = PushSettings { v0_3_body: V0_3Body::Envelope, ..short_timeouts() };
    let (server, receiver) = (start_chatty_server(push).await, Receiver::new().await);
    send_v0_3(&server, "one", json!({"url": receiver.url("/")})).await;
    let deliveries = receiver.wait_accepted(4).await;
    let kinds: Vec<_> = deliveries.iter().map(|it| it.json()["result"]["kind"].clone()).collect();
    assert_eq!(kinds, ["task", "status-update", "artifact-update", "status-update"]);
    assert_eq!(deliveries[3].json()["result"]["final"], true);
    assert_eq!(deliveries[3].json()["jsonrpc"], "2.0");
}

#[tokio::test]
async fn v0_1_receiver_gets_tasks_in_v0_1_format() {
    let (server, receiver) = (start_chatty_server(short_timeouts()).await, Receiver::new().await);
    let message = json!({"role": "user", "parts": [{"type": "text", "text": "one"}]});
    let params =
        json!({"id": "t1", "message": message, "pushNotification": {"url": receiver.url("/")}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": params});
    server.post("/a2a", call.to_string()).await;
    let deliveries = receiver.wait_accepted(4).await;
    let last = deliveries.last().unwrap().json();
    assert_eq!((&last["id"], &last["status"]["state"]), (&json!("t1"), &json!("completed")));
    assert_eq!(last["artifacts"][0]["parts"][0]["type"], "text");
}

#[tokio::test]
async fn pitfall_32_delivery_sends_configured_credentials() {
    let (server, receiver) = (start_chatty_server(short_timeouts()).await, Receiver::new().await);
    let url = |path: &str| receiver.url(path);
    for (path, webhook) in [
        ("/token", json!({"token": "t0"})),
        (
            "/both",
            json!({"token": "t0", "authentication": {"scheme": "bearer", "credentials": "c0"}}),
        ),
        ("/basic", json!({"authentication": {"scheme": "Basic", "credentials": "dTpw"}})),
        ("/none", json!({})),
    ] {
        let mut webhook = webhook;
        webhook["url"] = url(path).into();
        server.v1().post("/a2a", send_with_webhook("one", &webhook.to_string(), false)).await;
    }
    let deliveries = receiver.wait_accepted(16).await;
    for (path, authorization, token) in [
        ("/token", "Bearer t0", "t0"),
        ("/both", "bearer c0", "t0"),
        ("/basic", "Basic dTpw", ""),
        ("/none", "", ""),
    ] {
        let of_path: Vec<_> = deliveries.iter().filter(|it| it.path == path).collect();
        assert_eq!(of_path.len(), 4, "{path}");
        for delivery in of_path {
            assert_eq!(delivery.header("authorization"), authorization, "{path}");
            assert_eq!(delivery.header("x-a2a-notification-token"), token, "{path}");
            assert_eq!(delivery.header("a2a-notification-token"), token, "{path}");
        }
    }
}
