//! Registration of webhooks in every binding and version.

use http::Method;
use latimer_pb::{v0_3, v1};
use latimer_server::PushSettings;
use serde_json::{Value, json};
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

use super::{
    Receiver, send_with_webhook, short_timeouts, start_chatty_server, task_id, webhook_at,
};
use crate::support::{TestClient, TestResponse, TestServer, wait_until};

/// Creates an interrupted task and returns its id.
async fn create_waiting_task(server: &TestServer) -> String {
    task_id(&server.v1().post("/a2a", crate::support::send_body("SendMessage", "ask")).await)
}

async fn rpc(caller: &TestClient, method: &str, params: Value) -> TestResponse {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    caller.post("/a2a", call.to_string()).await
}

#[tokio::test]
async fn webhook_config_operations_over_json_rpc_1_0() {
    let server = start_chatty_server(short_timeouts()).await;
    let caller = server.v1();
    let task = create_waiting_task(&server).await;
    let url = Receiver::new().await.url("/");
    let webhook = json!({"taskId": task, "id": "w1", "url": url, "token": "t",
        "authentication": {"scheme": "Bearer", "credentials": "c"}});
    let created = rpc(&caller, "CreateTaskPushNotificationConfig", webhook.clone()).await;
    assert_eq!(created.json()["result"], webhook);
    let generated_id =
        rpc(&caller, "CreateTaskPushNotificationConfig", json!({"taskId": task, "url": url}));
    let generated_id = generated_id.await.json()["result"]["id"].as_str().unwrap().to_owned();
    assert!(!generated_id.is_empty());
    let get = json!({"taskId": task, "id": "w1"});
    let got = rpc(&caller, "GetTaskPushNotificationConfig", get.clone()).await;
    assert_eq!(got.json()["result"], webhook);
    let list = rpc(&caller, "ListTaskPushNotificationConfigs", json!({"taskId": task})).await;
    let list = list.json()["result"]["configs"].clone();
    assert_eq!((&list[0]["id"], &list[1]["id"]), (&json!("w1"), &json!(generated_id)));
    let replaced = json!({"taskId": task, "id": "w1", "url": format!("{url}other")});
    rpc(&caller, "CreateTaskPushNotificationConfig", replaced.clone()).await;
    let got = rpc(&caller, "GetTaskPushNotificationConfig", get.clone()).await;
    assert_eq!(got.json()["result"], replaced);
    for _ in 0..2 {
        let deleted = rpc(&caller, "DeleteTaskPushNotificationConfig", get.clone()).await;
        assert!(deleted.json().get("error").is_none(), "pitfall 43: {}", deleted.text());
    }
    let deleted = rpc(&caller, "GetTaskPushNotificationConfig", get).await;
    assert_eq!(deleted.rpc_error_code(), -32001, "pitfall 43: {}", deleted.text());
    assert!(deleted.text().contains("has no such webhook"), "the task exists: {}", deleted.text());
    let unknown = json!({"taskId": "unknown", "id": "w1", "url": url});
    for operation in ["Create", "Get", "Delete"] {
        let method = format!("{operation}TaskPushNotificationConfig");
        assert_eq!(
            rpc(&caller, &method, unknown.clone()).await.rpc_error_code(),
            -32001,
            "{method}"
        );
    }
    let list = rpc(&caller, "ListTaskPushNotificationConfigs", json!({"taskId": "unknown"})).await;
    assert_eq!(list.rpc_error_code(), -32001);
}

#[tokio::test]
async fn webhook_config_operations_over_json_rpc_0_3_and_0_1() {
    let server = start_chatty_server(short_timeouts()).await;
    let task = create_waiting_task(&server).await;
    let url = Receiver::new().await.url("/");
    let config = json!({"id": "w1", "url": url, "token": "t",
        "authentication": {"schemes": ["Bearer"], "credentials": "c"}});
    let set = json!({"taskId": task, "pushNotificationConfig": config});
    let response = rpc(&server, "tasks/pushNotificationConfig/set", set.clone()).await;
    assert_eq!(response.json()["result"], set, "pitfall 30");
    let other = json!({"taskId": task, "pushNotificationConfig": {"id": "w2", "url": url}});
    rpc(&server, "tasks/pushNotificationConfig/set", other.clone()).await;
    let get = json!({"id": task, "pushNotificationConfigId": "w2"});
    let response = rpc(&server, "tasks/pushNotificationConfig/get", get).await;
    assert_eq!(response.json()["result"], other);
    let response = rpc(&server, "tasks/pushNotificationConfig/get", json!({"id": task})).await;
    assert_eq!(response.json()["result"], set, "without an id: the first webhook");
    let response = rpc(&server, "tasks/pushNotificationConfig/list", json!({"id": task})).await;
    assert_eq!(response.json()["result"], json!([set, other]));
    let delete = json!({"id": task, "pushNotificationConfigId": "w2"});
    let response = rpc(&server, "tasks/pushNotificationConfig/delete", delete).await;
    assert_eq!(response.json().get("error"), None, "{}", response.text());
    let response = rpc(&server, "tasks/pushNotificationConfig/list", json!({"id": task})).await;
    assert_eq!(response.json()["result"], json!([set]));
    let oldest = json!({"id": task, "pushNotificationConfig": {"url": url, "token": "t0"}});
    let response = rpc(&server, "tasks/pushNotification/set", oldest.clone()).await;
    assert_eq!(
        response.json()["result"]["pushNotificationConfig"]["url"],
        url,
        "{}",
        response.text()
    );
    let response = rpc(&server, "tasks/pushNotification/get", json!({"id": task})).await;
    assert_eq!(response.json()["result"]["id"], task.as_str(), "{}", response.text());
    rpc(&server, "tasks/pushNotificationConfig/set", other).await;
    let listed = rpc(&server, "tasks/pushNotificationConfig/list", json!({"id": task})).await;
    let listed = listed.json()["result"].as_array().unwrap().len();
    assert!(listed > 1);
    let response = rpc(&server, "tasks/pushNotificationConfig/delete", json!({"id": task})).await;
    assert_eq!(
        response.json()["result"],
        json!({"removed": listed}),
        "without an id: all webhooks"
    );
    let response = rpc(&server, "tasks/pushNotificationConfig/list", json!({"id": task})).await;
    assert_eq!(response.json()["result"], json!([]));
}

#[tokio::test]
async fn webhook_config_operations_over_http_json() {
    let server = start_chatty_server(short_timeouts()).await;
    let task = create_waiting_task(&server).await;
    let url = Receiver::new().await.url("/");
    let configs = format!("/a2a/tasks/{task}/pushNotificationConfigs");
    let caller = server.v1();
    // The path selects the task; `taskId` in the body is ignored.
    let body = json!({"id": "w1", "taskId": "another", "url": url}).to_string();
    let response = caller.post(&configs, body).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(response.json(), json!({"id": "w1", "taskId": task, "url": url}));
    assert_eq!(caller.get(&format!("{configs}/w1")).await.json()["url"], url);
    assert_eq!(caller.get(&configs).await.json()["configs"][0]["id"], "w1");
    let response = caller.send(Method::DELETE, &format!("{configs}/w1"), "").await;
    assert!([200, 204].contains(&response.status), "{}", response.text());
    assert_eq!(caller.get(&format!("{configs}/w1")).await.status, 404);
    let older = format!("/a2a/v1/tasks/{task}/pushNotificationConfigs");
    let body = json!({"parent": format!("tasks/{task}"), "configId": "w2",
        "config": {"pushNotificationConfig": {"id": "w2", "url": url}}});
    let response = server.post(&older, body.to_string()).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let got = server.get(&format!("{older}/w2")).await;
    assert_eq!(got.json()["pushNotificationConfig"]["url"], url, "{}", got.text());
    assert_eq!(server.get(&older).await.json()["configs"].as_array().unwrap().len(), 1);
    let response = server.send(Method::DELETE, &format!("{older}/w2"), "").await;
    assert!([200, 204].contains(&response.status), "{}", response.text());
    assert_eq!(server.get(&format!("{older}/w2")).await.status, 404);
}

async fn channel(server: &TestServer) -> Channel {
    Endpoint::from_shared(format!("http://{}", server.address)).unwrap().connect().await.unwrap()
}

#[tokio::test]
async fn webhook_config_operations_over_grpc_1_0() {
    let server = start_chatty_server(short_timeouts()).await;
    let task = create_waiting_task(&server).await;
    let url = Receiver::new().await.url("/");
    let mut client = v1::client::A2aServiceClient::new(channel(&server).await);
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
    let deleted = client.get_task_push_notification_config(get).await.unwrap_err();
    assert_eq!(deleted.code(), Code::NotFound);
    let forbidden = v1::TaskPushNotificationConfig { url: "http://10.0.0.1/".into(), ..webhook };
    let refused = client.create_task_push_notification_config(forbidden).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().contains("url"), "{refused:?}");
}

#[tokio::test]
async fn webhook_config_operations_over_grpc_0_3() {
    let server = start_chatty_server(short_timeouts()).await;
    let task = create_waiting_task(&server).await;
    let url = Receiver::new().await.url("/");
    let mut client = v0_3::client::A2aServiceClient::new(channel(&server).await);
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
    let deleted = client.get_task_push_notification_config(get).await.unwrap_err();
    assert_eq!(deleted.code(), Code::NotFound);
}

/// Registers five webhooks of one task, not in the order of their ids.
async fn create_five_webhooks(server: &TestServer) -> String {
    let task = create_waiting_task(server).await;
    let url = Receiver::new().await.url("/");
    for id in ["w3", "w1", "w5", "w2", "w4"] {
        let webhook = json!({"taskId": task, "id": id, "url": url});
        let created = rpc(&server.v1(), "CreateTaskPushNotificationConfig", webhook).await.json();
        assert_eq!(created["result"]["id"], id, "{created}");
    }
    task
}

fn webhook_ids(page: &Value) -> Vec<&str> {
    page["configs"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn webhooks_are_listed_in_pages_over_json_rpc_and_http_json() {
    let server = start_chatty_server(short_timeouts()).await;
    let (task, caller) = (create_five_webhooks(&server).await, server.v1());
    let list = async |over_rest: bool, size: Option<u32>, token: &str| {
        if over_rest {
            let size = size.map(|it| format!("pageSize={it}&")).unwrap_or_default();
            let path = format!("/a2a/tasks/{task}/pushNotificationConfigs?{size}pageToken={token}");
            return caller.get(&path).await.json();
        }
        let params = json!({"taskId": task, "pageSize": size, "pageToken": token});
        let response = rpc(&caller, "ListTaskPushNotificationConfigs", params).await.json();
        response.get("result").unwrap_or(&response).clone()
    };
    for over_rest in [false, true] {
        let first = list(over_rest, Some(2), "").await;
        assert_eq!(webhook_ids(&first), ["w1", "w2"]);
        let token = first["nextPageToken"].as_str().unwrap();
        let second = list(over_rest, Some(2), token).await;
        assert_eq!(webhook_ids(&second), ["w3", "w4"]);
        let rest = list(over_rest, None, token).await;
        assert_eq!(webhook_ids(&rest), ["w3", "w4", "w5"], "without a size: all the others");
        let last = list(over_rest, Some(2), second["nextPageToken"].as_str().unwrap()).await;
        assert_eq!(webhook_ids(&last), ["w5"]);
        for (size, what) in [(Some(5), "exactly one page"), (Some(0), "0 is absent"), (None, "")] {
            let all = list(over_rest, size, "").await;
            assert_eq!(webhook_ids(&all).len(), 5, "{what}");
            for page in [&all, &last] {
                assert!(page["nextPageToken"].as_str().is_none_or(str::is_empty), "{page}");
            }
        }
        let unknown = list(over_rest, Some(2), "nonsense").await;
        assert!(unknown.to_string().contains("is not a page token"), "{unknown}");
    }
    // A page token stays valid after its last webhook is deleted.
    let first = list(false, Some(2), "").await;
    let delete = json!({"taskId": task, "id": "w2"});
    rpc(&caller, "DeleteTaskPushNotificationConfig", delete).await;
    let second = list(false, Some(2), first["nextPageToken"].as_str().unwrap()).await;
    assert_eq!(webhook_ids(&second), ["w3", "w4"]);
    let other = create_waiting_task(&server).await;
    let foreign = json!({"taskId": other, "pageToken": first["nextPageToken"]});
    let refused = rpc(&caller, "ListTaskPushNotificationConfigs", foreign).await;
    assert_eq!(refused.rpc_error_code(), -32602, "{}", refused.text());
}

#[tokio::test]
async fn webhooks_are_listed_in_pages_over_grpc_and_0_3() {
    let server = start_chatty_server(short_timeouts()).await;
    let task = create_five_webhooks(&server).await;
    let mut newer = v1::client::A2aServiceClient::new(channel(&server).await);
    let mut older = v0_3::client::A2aServiceClient::new(channel(&server).await);
    let (mut newer_token, mut older_token) = (String::new(), String::new());
    let mut rest_token = String::new();
    for want in [&["w1", "w2"][..], &["w3", "w4"], &["w5"]] {
        let request = v1::ListTaskPushNotificationConfigsRequest {
            task_id: task.clone(),
            page_size: 2,
            page_token: newer_token,
            ..Default::default()
        };
        let page = newer.list_task_push_notification_configs(request).await.unwrap().into_inner();
        assert_eq!(page.configs.iter().map(|it| &*it.id).collect::<Vec<_>>(), want);
        newer_token = page.next_page_token;
        let request = v0_3::ListTaskPushNotificationConfigRequest {
            parent: format!("tasks/{task}"),
            page_size: 2,
            page_token: older_token,
        };
        let page = older.list_task_push_notification_config(request).await.unwrap().into_inner();
        let configs = page.configs.iter().map(|it| it.push_notification_config.as_ref().unwrap());
        assert_eq!(configs.map(|it| &*it.id).collect::<Vec<_>>(), want);
        older_token = page.next_page_token;
        let path = format!(
            "/a2a/v1/tasks/{task}/pushNotificationConfigs?pageSize=2&pageToken={rest_token}"
        );
        let page = server.get(&path).await.json();
        let configs = page["configs"].as_array().unwrap().iter();
        let ids: Vec<_> = configs.map(|it| &it["pushNotificationConfig"]["id"]).collect();
        assert_eq!(ids, want, "{page}");
        rest_token = page["nextPageToken"].as_str().unwrap_or_default().to_owned();
    }
    assert_eq!((&*newer_token, &*older_token, &*rest_token), ("", "", ""));
}

#[tokio::test]
async fn webhook_limit_per_task_is_enforced() {
    let server = start_chatty_server(PushSettings { max_per_task: 2, ..short_timeouts() }).await;
    let task = create_waiting_task(&server).await;
    let url = Receiver::new().await.url("/");
    let webhook = |name: &str| json!({"taskId": task, "id": name, "url": url});
    for name in ["a", "b", "a"] {
        let created = rpc(&server.v1(), "CreateTaskPushNotificationConfig", webhook(name)).await;
        assert_eq!(created.json()["result"]["id"], name, "{}", created.text());
    }
    let refused = rpc(&server.v1(), "CreateTaskPushNotificationConfig", webhook("c")).await;
    assert_eq!(refused.rpc_error_code(), -32602, "{}", refused.text());
    assert!(refused.text().contains("2 webhooks"), "{}", refused.text());
}

#[tokio::test]
async fn active_webhook_limit_per_caller_is_enforced() {
    let server = start_chatty_server(PushSettings { max_per_caller: 2, ..short_timeouts() }).await;
    let receiver = Receiver::new().await;
    let send_immediate =
        |text: &str| send_with_webhook(text, &webhook_at(&receiver.url("/")), true);
    for _ in 0..2 {
        task_id(&server.v1().post("/a2a", send_immediate("wait")).await);
    }
    let refused = server.v1().post("/a2a", send_immediate("wait")).await;
    assert!(refused.text().contains("too many active webhooks"), "{}", refused.text());
    let tasks = server.v1().get("/a2a/tasks").await.json();
    let first = tasks["tasks"][0]["id"].as_str().unwrap().to_owned();
    rpc(&server.v1(), "CancelTask", json!({"id": first})).await;
    // A webhook is no longer active once its last event is delivered.
    receiver.wait_until(|all| all.iter().any(|it| it.summary() == "CANCELED")).await;
    wait_until("another webhook is accepted", async || {
        server.v1().post("/a2a", send_immediate("one")).await.json().get("error").is_none()
    })
    .await;
}

#[tokio::test]
async fn webhook_token_with_a_newline_is_rejected() {
    let server = start_chatty_server(short_timeouts()).await;
    let url = Receiver::new().await.url("/");
    let webhook = json!({"url": url, "token": "two\nlines"});
    let response =
        server.v1().post("/a2a", send_with_webhook("one", &webhook.to_string(), false)).await;
    assert_eq!(response.rpc_error_code(), -32602, "{}", response.text());
    assert!(
        !response.text().contains("lines"),
        "the error does not repeat the token: {}",
        response.text()
    );
}

#[tokio::test]
async fn turn_with_a_webhook_is_not_result_only() {
    let receiver = Receiver::new().await;
    let server = start_chatty_server(short_timeouts()).await;
    let with_webhook = send_with_webhook("awaited", &webhook_at(&receiver.url("/")), false);
    let without_webhook = crate::support::send_body("SendMessage", "awaited");
    for (body, want) in [(with_webhook, "false"), (without_webhook, "true")] {
        let response = server.v1().post("/a2a", body).await;
        let text = &response.json()["result"]["task"]["status"]["message"]["parts"][0]["text"];
        assert_eq!(text, want);
    }
}
