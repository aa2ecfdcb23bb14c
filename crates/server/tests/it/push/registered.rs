//! Registering webhooks, in every binding and version.

use http::Method;
use latimer_pb::{v0_3, v1};
use latimer_server::PushSettings;
use serde_json::{Value, json};
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

use super::{Receiver, at, hasty, id, send, talking};
use crate::support::{Answer, Caller, Site};

/// A task that waits for its caller.
async fn asked(site: &Site) -> String {
    id(&site.v1().post("/a2a", crate::support::send("SendMessage", "ask")).await)
}

async fn rpc(caller: &Caller, method: &str, params: Value) -> Answer {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    caller.post("/a2a", call.to_string()).await
}

#[tokio::test]
async fn json_rpc_of_1_0() {
    let site = talking(hasty()).await;
    let caller = site.v1();
    let task = asked(&site).await;
    let url = Receiver::new().await.url("/");
    let webhook = json!({"taskId": task, "id": "w1", "url": url, "token": "t",
        "authentication": {"scheme": "Bearer", "credentials": "c"}});
    let created = rpc(&caller, "CreateTaskPushNotificationConfig", webhook.clone()).await;
    assert_eq!(created.json()["result"], webhook);
    let named =
        rpc(&caller, "CreateTaskPushNotificationConfig", json!({"taskId": task, "url": url}));
    let named = named.await.json()["result"]["id"].as_str().unwrap().to_owned();
    assert!(!named.is_empty());
    let get = json!({"taskId": task, "id": "w1"});
    let got = rpc(&caller, "GetTaskPushNotificationConfig", get.clone()).await;
    assert_eq!(got.json()["result"], webhook);
    let list = rpc(&caller, "ListTaskPushNotificationConfigs", json!({"taskId": task})).await;
    let list = list.json()["result"]["configs"].clone();
    assert_eq!((&list[0]["id"], &list[1]["id"]), (&json!("w1"), &json!(named)));
    let replaced = json!({"taskId": task, "id": "w1", "url": format!("{url}other")});
    rpc(&caller, "CreateTaskPushNotificationConfig", replaced.clone()).await;
    let got = rpc(&caller, "GetTaskPushNotificationConfig", get.clone()).await;
    assert_eq!(got.json()["result"], replaced);
    for _ in 0..2 {
        let deleted = rpc(&caller, "DeleteTaskPushNotificationConfig", get.clone()).await;
        assert!(deleted.json().get("error").is_none(), "trap 43: {}", deleted.text());
    }
    let gone = rpc(&caller, "GetTaskPushNotificationConfig", get).await;
    assert_eq!(gone.code(), -32001, "trap 43: {}", gone.text());
    assert!(gone.text().contains("has no such webhook"), "the task is there: {}", gone.text());
    let unknown = json!({"taskId": "nobody's", "id": "w1", "url": url});
    for operation in ["Create", "Get", "Delete"] {
        let method = format!("{operation}TaskPushNotificationConfig");
        assert_eq!(rpc(&caller, &method, unknown.clone()).await.code(), -32001, "{method}");
    }
    let list = rpc(&caller, "ListTaskPushNotificationConfigs", json!({"taskId": "nobody's"})).await;
    assert_eq!(list.code(), -32001);
}

#[tokio::test]
async fn json_rpc_of_0_3_and_0_1() {
    let site = talking(hasty()).await;
    let task = asked(&site).await;
    let url = Receiver::new().await.url("/");
    let config = json!({"id": "w1", "url": url, "token": "t",
        "authentication": {"schemes": ["Bearer"], "credentials": "c"}});
    let set = json!({"taskId": task, "pushNotificationConfig": config});
    let answer = rpc(&site, "tasks/pushNotificationConfig/set", set.clone()).await;
    assert_eq!(answer.json()["result"], set, "trap 30");
    let other = json!({"taskId": task, "pushNotificationConfig": {"id": "w2", "url": url}});
    rpc(&site, "tasks/pushNotificationConfig/set", other.clone()).await;
    let get = json!({"id": task, "pushNotificationConfigId": "w2"});
    let answer = rpc(&site, "tasks/pushNotificationConfig/get", get).await;
    assert_eq!(answer.json()["result"], other);
    let answer = rpc(&site, "tasks/pushNotificationConfig/get", json!({"id": task})).await;
    assert_eq!(answer.json()["result"], set, "the first when none is named");
    let answer = rpc(&site, "tasks/pushNotificationConfig/list", json!({"id": task})).await;
    assert_eq!(answer.json()["result"], json!([set, other]));
    let delete = json!({"id": task, "pushNotificationConfigId": "w2"});
    let answer = rpc(&site, "tasks/pushNotificationConfig/delete", delete).await;
    assert_eq!(answer.json().get("error"), None, "{}", answer.text());
    let answer = rpc(&site, "tasks/pushNotificationConfig/list", json!({"id": task})).await;
    assert_eq!(answer.json()["result"], json!([set]));
    let oldest = json!({"id": task, "pushNotificationConfig": {"url": url, "token": "t0"}});
    let answer = rpc(&site, "tasks/pushNotification/set", oldest.clone()).await;
    assert_eq!(answer.json()["result"]["pushNotificationConfig"]["url"], url, "{}", answer.text());
    let answer = rpc(&site, "tasks/pushNotification/get", json!({"id": task})).await;
    assert_eq!(answer.json()["result"]["id"], task.as_str(), "{}", answer.text());
    rpc(&site, "tasks/pushNotificationConfig/set", other).await;
    let listed = rpc(&site, "tasks/pushNotificationConfig/list", json!({"id": task})).await;
    let listed = listed.json()["result"].as_array().unwrap().len();
    assert!(listed > 1);
    let answer = rpc(&site, "tasks/pushNotificationConfig/delete", json!({"id": task})).await;
    assert_eq!(answer.json()["result"], json!({"removed": listed}), "all when none is named");
    let answer = rpc(&site, "tasks/pushNotificationConfig/list", json!({"id": task})).await;
    assert_eq!(answer.json()["result"], json!([]));
}

#[tokio::test]
async fn http_json_of_both_versions() {
    let site = talking(hasty()).await;
    let task = asked(&site).await;
    let url = Receiver::new().await.url("/");
    let configs = format!("/a2a/tasks/{task}/pushNotificationConfigs");
    let caller = site.v1();
    // The path names the task, whatever the body says.
    let body = json!({"id": "w1", "taskId": "another", "url": url}).to_string();
    let answer = caller.post(&configs, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json(), json!({"id": "w1", "taskId": task, "url": url}));
    assert_eq!(caller.get(&format!("{configs}/w1")).await.json()["url"], url);
    assert_eq!(caller.get(&configs).await.json()["configs"][0]["id"], "w1");
    let answer = caller.ask(Method::DELETE, &format!("{configs}/w1"), "").await;
    assert!([200, 204].contains(&answer.status), "{}", answer.text());
    assert_eq!(caller.get(&format!("{configs}/w1")).await.status, 404);
    let older = format!("/a2a/v1/tasks/{task}/pushNotificationConfigs");
    let body = json!({"parent": format!("tasks/{task}"), "configId": "w2",
        "config": {"pushNotificationConfig": {"id": "w2", "url": url}}});
    let answer = site.post(&older, body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let got = site.get(&format!("{older}/w2")).await;
    assert_eq!(got.json()["pushNotificationConfig"]["url"], url, "{}", got.text());
    assert_eq!(site.get(&older).await.json()["configs"].as_array().unwrap().len(), 1);
    let answer = site.ask(Method::DELETE, &format!("{older}/w2"), "").await;
    assert!([200, 204].contains(&answer.status), "{}", answer.text());
    assert_eq!(site.get(&format!("{older}/w2")).await.status, 404);
}

async fn channel(site: &Site) -> Channel {
    Endpoint::from_shared(format!("http://{}", site.address)).unwrap().connect().await.unwrap()
}

#[tokio::test]
async fn grpc_of_1_0() {
    let site = talking(hasty()).await;
    let task = asked(&site).await;
    let url = Receiver::new().await.url("/");
    let mut client = v1::client::A2aServiceClient::new(channel(&site).await);
    let webhook = v1::TaskPushNotificationConfig {
        id: "w1".into(),
        task_id: task.clone(),
        url: url.clone(),
        token: "t".into(),
        ..Default::default()
    };
    let created = client.create_task_push_notification_config(webhook.clone()).await.unwrap();
    assert_eq!(created.into_inner(), webhook);
    let get = v1::GetTaskPushNotificationConfigRequest {
        task_id: task.clone(),
        id: "w1".into(),
        ..Default::default()
    };
    let got = client.get_task_push_notification_config(get.clone()).await.unwrap().into_inner();
    assert_eq!(got, webhook);
    let list =
        v1::ListTaskPushNotificationConfigsRequest { task_id: task.clone(), ..Default::default() };
    let listed = client.list_task_push_notification_configs(list).await.unwrap().into_inner();
    assert_eq!(listed.configs, std::slice::from_ref(&webhook));
    let delete = v1::DeleteTaskPushNotificationConfigRequest {
        task_id: task,
        id: "w1".into(),
        ..Default::default()
    };
    client.delete_task_push_notification_config(delete.clone()).await.unwrap();
    client.delete_task_push_notification_config(delete).await.unwrap();
    let gone = client.get_task_push_notification_config(get).await.unwrap_err();
    assert_eq!(gone.code(), Code::NotFound);
    let forbidden = v1::TaskPushNotificationConfig { url: "http://10.0.0.1/".into(), ..webhook };
    let refused = client.create_task_push_notification_config(forbidden).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().contains("url"), "{refused:?}");
}

#[tokio::test]
async fn grpc_of_0_3() {
    let site = talking(hasty()).await;
    let task = asked(&site).await;
    let url = Receiver::new().await.url("/");
    let mut client = v0_3::client::A2aServiceClient::new(channel(&site).await);
    let config = v0_3::PushNotificationConfig { id: "w1".into(), url, ..Default::default() };
    let name = format!("tasks/{task}/pushNotificationConfigs/w1");
    let webhook = v0_3::TaskPushNotificationConfig {
        name: name.clone(),
        push_notification_config: Some(config.clone()),
    };
    let create = v0_3::CreateTaskPushNotificationConfigRequest {
        parent: format!("tasks/{task}"),
        config_id: "w1".into(),
        config: Some(webhook.clone()),
    };
    let created = client.create_task_push_notification_config(create).await.unwrap().into_inner();
    assert_eq!(created, webhook);
    let get = v0_3::GetTaskPushNotificationConfigRequest { name: name.clone() };
    let got = client.get_task_push_notification_config(get.clone()).await.unwrap().into_inner();
    assert_eq!(got, webhook);
    let delete = v0_3::DeleteTaskPushNotificationConfigRequest { name };
    client.delete_task_push_notification_config(delete).await.unwrap();
    let gone = client.get_task_push_notification_config(get).await.unwrap_err();
    assert_eq!(gone.code(), Code::NotFound);
}

#[tokio::test]
async fn a_task_has_only_so_many() {
    let site = talking(PushSettings { per_task: 2, ..hasty() }).await;
    let task = asked(&site).await;
    let url = Receiver::new().await.url("/");
    let webhook = |name: &str| json!({"taskId": task, "id": name, "url": url});
    for name in ["a", "b", "a"] {
        let created = rpc(&site.v1(), "CreateTaskPushNotificationConfig", webhook(name)).await;
        assert_eq!(created.json()["result"]["id"], name, "{}", created.text());
    }
    let refused = rpc(&site.v1(), "CreateTaskPushNotificationConfig", webhook("c")).await;
    assert_eq!(refused.code(), -32602, "{}", refused.text());
    assert!(refused.text().contains("2 webhooks"), "{}", refused.text());
}

#[tokio::test]
async fn a_caller_has_only_so_many_at_work() {
    let site = talking(PushSettings { per_caller: 2, ..hasty() }).await;
    let receiver = Receiver::new().await;
    let send = |text: &str| send(text, &at(&receiver.url("/")), true);
    for _ in 0..2 {
        id(&site.v1().post("/a2a", send("wait")).await);
    }
    let refused = site.v1().post("/a2a", send("wait")).await;
    assert!(refused.text().contains("too many webhooks"), "{}", refused.text());
    let tasks = site.v1().get("/a2a/tasks").await.json();
    let first = tasks["tasks"][0]["id"].as_str().unwrap().to_owned();
    rpc(&site.v1(), "CancelTask", json!({"id": first})).await;
    // Once its receiver knows that it is over, there is room for another.
    receiver.until(|all| all.iter().any(|it| it.says() == "CANCELED")).await;
    while site.v1().post("/a2a", send("one")).await.json().get("error").is_some() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused() {
    let site = talking(hasty()).await;
    let url = Receiver::new().await.url("/");
    let webhook = json!({"url": url, "token": "two\nlines"});
    let answer = site.v1().post("/a2a", send("one", &webhook.to_string(), false)).await;
    assert_eq!(answer.code(), -32602, "{}", answer.text());
    assert!(!answer.text().contains("lines"), "it is not repeated: {}", answer.text());
}

#[tokio::test]
async fn whoever_is_told_by_a_webhook_reads_more_than_the_answer() {
    let receiver = Receiver::new().await;
    let site = talking(hasty()).await;
    let with = send("awaited", &at(&receiver.url("/")), false);
    let without = crate::support::send("SendMessage", "awaited");
    for (body, want) in [(with, "false"), (without, "true")] {
        let answer = site.v1().post("/a2a", body).await;
        let said = &answer.json()["result"]["task"]["status"]["message"]["parts"][0]["text"];
        assert_eq!(said, want);
    }
}
