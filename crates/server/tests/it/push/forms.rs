//! What a receiver is sent, in the version in which it was registered.

use latimer_server::{OlderBody, PushSettings};
use serde_json::{Value, json};

use super::{Receiver, at, hasty, id, send, talking};
use crate::support::{Site, older_message};

#[tokio::test]
async fn every_event_of_a_task_arrives_in_order() {
    let (site, receiver) = (talking(hasty()).await, Receiver::new().await);
    let answer =
        site.v1().post("/a2a", send("one two", &at(&receiver.url("/hook?x=1")), false)).await;
    let task = id(&answer);
    let taken = receiver.taken(5).await;
    let said: Vec<_> = taken.iter().map(|it| it.says()).collect();
    assert_eq!(said, ["task SUBMITTED", "WORKING", "artifact one", "artifact two", "COMPLETED"]);
    for delivery in &taken {
        assert_eq!(delivery.header("content-type"), "application/a2a+json");
        let name = concat!("Latimer/", env!("CARGO_PKG_VERSION"), " A2A");
        assert_eq!(delivery.header("user-agent"), name);
        assert_eq!(delivery.path, "/hook");
    }
    assert_eq!(taken[0].json()["task"]["id"], task.as_str());
    let mut ids: Vec<_> = taken.iter().map(|it| it.header("webhook-id")).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5, "each delivery has a name of its own");
}

#[tokio::test]
async fn a_server_goes_by_the_name_it_is_given() {
    let user_agent = Some("Example/1.0".parse().unwrap());
    let (site, receiver) =
        (talking(PushSettings { user_agent, ..hasty() }).await, Receiver::new().await);
    site.v1().post("/a2a", send("one", &at(&receiver.url("/")), false)).await;
    assert_eq!(receiver.taken(1).await[0].header("user-agent"), "Example/1.0");
}

#[tokio::test]
async fn a_webhook_that_comes_later_is_told_what_happens_from_then_on() {
    let (site, receiver) = (talking(hasty()).await, Receiver::new().await);
    let first = site.v1().post("/a2a", crate::support::send("SendMessage", "ask")).await;
    let task = id(&first);
    let params = json!({"taskId": task, "url": receiver.url("/")});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "CreateTaskPushNotificationConfig", "params": params});
    let created = site.v1().post("/a2a", call.to_string()).await;
    assert_eq!(created.json()["result"]["taskId"], task.as_str(), "{}", created.text());
    let message =
        json!({"messageId": "a", "role": "ROLE_USER", "taskId": task, "parts": [{"text": "one"}]});
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    site.v1().post("/a2a", call.to_string()).await;
    let said: Vec<_> = receiver.taken(3).await.iter().map(|it| it.says()).collect();
    assert_eq!(said, ["WORKING", "artifact one", "COMPLETED"]);
}

#[tokio::test]
async fn a_direct_answer_is_no_task_and_nobody_is_told() {
    let (site, receiver) = (talking(hasty()).await, Receiver::new().await);
    let answer = site.v1().post("/a2a", send("say", &at(&receiver.url("/")), false)).await;
    assert!(answer.json()["result"]["message"].is_object(), "{}", answer.text());
    let answer = site.v1().post("/a2a", send("one", &at(&receiver.url("/other")), false)).await;
    id(&answer);
    let taken = receiver.taken(4).await;
    assert!(taken.iter().all(|it| it.path == "/other"), "{taken:?}");
}

/// A message of 0.3 with a webhook, in JSON-RPC.
async fn older(site: &Site, text: &str, webhook: Value) {
    let message: Value = serde_json::from_str(&older_message(text)).unwrap();
    let params = json!({"message": message, "configuration": {"pushNotificationConfig": webhook}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params});
    let answer = site.post("/a2a", call.to_string()).await;
    assert_eq!(answer.json()["result"]["kind"], "task", "{}", answer.text());
}

#[tokio::test]
async fn trap_31_a_receiver_of_0_3_is_sent_the_task_as_it_was() {
    let (site, receiver) = (talking(hasty()).await, Receiver::new().await);
    older(&site, "one two", json!({"url": receiver.url("/")})).await;
    let taken = receiver.taken(5).await;
    let seen = |it: &Value| {
        let artifacts = it["artifacts"].as_array().map_or(0, Vec::len);
        (it["kind"].clone(), it["status"]["state"].clone(), artifacts)
    };
    let seen: Vec<_> = taken.iter().map(|it| seen(&it.json())).collect();
    let task = |state: &str, artifacts| (json!("task"), json!(state), artifacts);
    let want = [
        task("submitted", 0),
        task("working", 0),
        task("working", 1),
        task("working", 2),
        task("completed", 2),
    ];
    assert_eq!(seen, want);
    assert!(taken.iter().all(|it| it.header("content-type") == "application/json"));
}

#[tokio::test]
async fn a_receiver_of_0_3_may_be_sent_what_a_stream_has() {
    let push = PushSettings { older_body: OlderBody::Envelope, ..hasty() };
    let (site, receiver) = (talking(push).await, Receiver::new().await);
    older(&site, "one", json!({"url": receiver.url("/")})).await;
    let taken = receiver.taken(4).await;
    let kinds: Vec<_> = taken.iter().map(|it| it.json()["result"]["kind"].clone()).collect();
    assert_eq!(kinds, ["task", "status-update", "artifact-update", "status-update"]);
    assert_eq!(taken[3].json()["result"]["final"], true);
    assert_eq!(taken[3].json()["jsonrpc"], "2.0");
}

#[tokio::test]
async fn a_receiver_of_0_1_is_sent_the_task_in_0_1() {
    let (site, receiver) = (talking(hasty()).await, Receiver::new().await);
    let message = json!({"role": "user", "parts": [{"type": "text", "text": "one"}]});
    let params =
        json!({"id": "t1", "message": message, "pushNotification": {"url": receiver.url("/")}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": params});
    site.post("/a2a", call.to_string()).await;
    let taken = receiver.taken(4).await;
    let last = taken.last().unwrap().json();
    assert_eq!((&last["id"], &last["status"]["state"]), (&json!("t1"), &json!("completed")));
    assert_eq!(last["artifacts"][0]["parts"][0]["type"], "text");
}

#[tokio::test]
async fn trap_32_a_sender_shows_what_it_was_given() {
    let (site, receiver) = (talking(hasty()).await, Receiver::new().await);
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
        site.v1().post("/a2a", send("one", &webhook.to_string(), false)).await;
    }
    let taken = receiver.taken(16).await;
    for (path, authorization, token) in [
        ("/token", "Bearer t0", "t0"),
        ("/both", "bearer c0", "t0"),
        ("/basic", "Basic dTpw", ""),
        ("/none", "", ""),
    ] {
        let of_it: Vec<_> = taken.iter().filter(|it| it.path == path).collect();
        assert_eq!(of_it.len(), 4, "{path}");
        for delivery in of_it {
            assert_eq!(delivery.header("authorization"), authorization, "{path}");
            assert_eq!(delivery.header("x-a2a-notification-token"), token, "{path}");
            assert_eq!(delivery.header("a2a-notification-token"), token, "{path}");
        }
    }
}
