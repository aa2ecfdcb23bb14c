//! Paths of bindings, versions and agents.

use http::Method;
use latimer_protocol::Version;
use latimer_server::{Server, Settings};
use serde_json::json;

use crate::support::{
    message, send_body, send_http2, shouter_server, start_server, test_agent, v0_3_message,
};

#[tokio::test]
async fn json_rpc_is_served_at_all_its_paths() {
    let server = start_server(shouter_server(Settings::default())).await;
    for path in
        ["/a2a", "/a2a/", "/v1/rpc", "/", "/a2a/agents/shouter", "/a2a/agents/shouter/", "/a2a?x=y"]
    {
        let response = server.v1().post(path, send_body("SendMessage", "hi")).await;
        assert_eq!(response.status, 200, "{path}");
        let task = &response.json()["result"]["task"];
        assert_eq!(task["artifacts"][0]["parts"][0]["text"], "HI", "{path}");
    }
}

#[tokio::test]
async fn http2_and_http1_share_one_port() {
    let server = start_server(shouter_server(Settings::default())).await;
    let caller = server.v1().with_header("content-type", "application/json");
    let response = send_http2(&caller, Method::POST, "/a2a", &send_body("SendMessage", "hi")).await;
    assert_eq!(response.json()["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let body =
        json!({"message": serde_json::from_str::<serde_json::Value>(&message("hi")).unwrap()});
    let response = send_http2(&caller, Method::POST, "/a2a/message:send", &body.to_string()).await;
    assert_eq!(response.json()["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let response =
        send_http2(&server.client, Method::GET, "/.well-known/agent-card.json", "").await;
    assert_eq!(response.json()["name"], "shouter");
}

#[tokio::test]
async fn http_json_1_0_serves_all_routes() {
    let server = start_server(shouter_server(Settings::default())).await;
    let caller = server.v1();
    let body = format!(r#"{{"message":{}}}"#, message("ask"));
    let sent = caller.post("/a2a/message:send", body.clone()).await;
    let task = sent.json()["task"].clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let id = task["id"].as_str().unwrap();
    let got = caller.get(&format!("/a2a/tasks/{id}")).await;
    assert_eq!((got.status, &got.json()["id"]), (200, &task["id"]));
    let listed = caller.get("/a2a/tasks?pageSize=10").await;
    assert_eq!(listed.json()["totalSize"], 1);
    // A tenant segment and the path of the agent lead to the same task.
    for path in ["/a2a/shouter/tasks", "/a2a/agents/shouter/tasks"] {
        assert_eq!(caller.get(path).await.json()["totalSize"], 1, "{path}");
    }
    let canceled = caller.send(Method::POST, &format!("/a2a/tasks/{id}:cancel"), "").await;
    assert_eq!(canceled.json()["status"]["state"], "TASK_STATE_CANCELED");
    // GET reads a task whose id ends in `:cancel`; it cancels nothing.
    let fetched = caller.get(&format!("/a2a/tasks/{id}:cancel")).await;
    assert_eq!(fetched.status, 404);
    let stream = caller.post("/a2a/message:stream", body).await;
    assert_eq!(stream.header("content-type"), "text/event-stream");
    // Both methods reach the subscription, which fails because the task has ended.
    for method in [Method::GET, Method::POST] {
        let response = caller.send(method.clone(), &format!("/a2a/tasks/{id}:subscribe"), "").await;
        let reason = &response.json()["error"]["details"][0]["reason"];
        assert_eq!((response.status, reason), (400, &json!("UNSUPPORTED_OPERATION")), "{method}");
    }
}

#[tokio::test]
async fn http_json_0_3_is_served_below_v1_at_root_and_base() {
    let server = start_server(shouter_server(Settings::default())).await;
    let body = r#"{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"ask"}]},
        "configuration":{"blocking":true}}"#;
    for base in ["/a2a", "", "/a2a/agents/shouter"] {
        let body = body.replace("\"m\"", &format!("\"m{base}\""));
        let sent = server.post(&format!("{base}/v1/message:send"), body).await;
        let task = sent.json()["task"].clone();
        assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{base}");
        assert_eq!(sent.header("content-type"), "application/json", "{base}");
        let id = task["id"].as_str().unwrap();
        let got = server.get(&format!("{base}/v1/tasks/{id}?history_length=1")).await;
        assert_eq!(got.json()["history"].as_array().unwrap().len(), 1, "{base}");
        for body in ["", "null", "{}"] {
            let path = format!("{base}/v1/tasks/{id}:cancel");
            let caller = server.with_header("content-type", "application/json");
            let response = caller.send(Method::POST, &path, body).await;
            assert_eq!(response.json()["status"]["state"], "TASK_STATE_CANCELLED", "{base} {body}");
        }
    }
}

#[tokio::test]
async fn legacy_rest_returns_bare_tasks() {
    let server = start_server(shouter_server(Settings::default())).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"message":
        {"role":"user","parts":[{"type":"text","text":"ask"}]},"sessionId":"s1"}}"#;
    let sent = server.post("/a2a/tasks/send", body).await;
    let task = sent.json();
    assert_eq!((&task["status"], &task["sessionId"]), (&json!("inputRequired"), &json!("s1")));
    let id = task["id"].as_str().unwrap().to_owned();
    let got = server.get(&format!("/a2a/tasks/{id}")).await;
    assert_eq!(got.json()["status"], "inputRequired", "in the format it was created in");
    let newest = server.v1().get(&format!("/a2a/tasks/{id}")).await;
    assert_eq!(newest.json()["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let canceled = server.send(Method::POST, &format!("/a2a/tasks/{id}/cancel"), "").await;
    assert_eq!(canceled.json()["status"], "cancelled");
    let unknown = server.send(Method::POST, "/a2a/tasks/none/cancel", "").await;
    assert_eq!((unknown.status, unknown.json()["error"].is_string()), (404, true));
    // A task created in 1.0 has the 1.0 format.
    let created = server.v1().post("/a2a", send_body("SendMessage", "hi")).await;
    let id = created.json()["result"]["task"]["id"].as_str().unwrap().to_owned();
    let got = server.get(&format!("/a2a/tasks/{id}")).await;
    assert_eq!(got.json()["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn legacy_rest_cancels_only_unfinished_tasks() {
    let server = start_server(shouter_server(Settings::default())).await;
    let send_legacy = |text: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{{"message":
            {{"role":"user","parts":[{{"type":"text","text":"{text}"}}]}}}}}}"#
        )
    };
    for (text, final_state, status) in [("hi", "completed", 409), ("ask", "cancelled", 200)] {
        let task = server.post("/a2a/tasks/send", send_legacy(text)).await.json();
        let path = format!("/a2a/tasks/{}", task["id"].as_str().unwrap());
        // The result is the same with and without a body, and when repeated.
        for body in ["", "{}", ""] {
            let caller = server.with_header("content-type", "application/json");
            let response = caller.send(Method::POST, &format!("{path}/cancel"), body).await;
            assert_eq!(response.status, status, "{text}: {}", response.text());
            match status {
                200 => assert_eq!(response.json()["status"], final_state),
                _ => assert!(
                    response.json()["error"].as_str().unwrap().contains("has already ended")
                ),
            }
        }
        assert_eq!(server.get(&path).await.json()["status"], final_state, "{text}");
    }
    // 1.0 has another status for the same error.
    let created = server.post("/a2a/tasks/send", send_legacy("hi")).await.json();
    let path = format!("/a2a/tasks/{}:cancel", created["id"].as_str().unwrap());
    let newest = server.v1().send(Method::POST, &path, "").await;
    let reason = &newest.json()["error"]["details"][0]["reason"];
    assert_eq!((newest.status, reason), (400, &json!("TASK_NOT_CANCELABLE")));
}

#[tokio::test]
async fn v1_path_segment_is_a_tenant_for_declared_1_0() {
    let server = Server::new(test_agent("shouter")).with_agent(test_agent("other"));
    let server = start_server(server).await;
    let body = format!(r#"{{"message":{}}}"#, message("hi"));
    let response = server.v1().post("/a2a/v1/message:send", body.clone()).await;
    assert_eq!(response.status, 400, "no agent is named v1");
    let response = server.v1().post("/a2a/other/message:send", body).await;
    assert_eq!(response.status, 200);
}

#[tokio::test]
async fn each_agent_has_its_own_path_and_tenant() {
    let server = start_server(Server::new(test_agent("one")).with_agent(test_agent("two"))).await;
    let caller = server.v1();
    let list_body = |name: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{{"tenant":"{name}"}}}}"#)
    };
    caller.post("/a2a/agents/two", send_body("SendMessage", "hi")).await;
    for (name, want) in [("one", 0), ("two", 1)] {
        let response = caller.post("/a2a", list_body(name)).await;
        assert_eq!(response.json()["result"]["totalSize"], want, "{name}");
        let response = caller.get(&format!("/a2a/agents/{name}/tasks")).await;
        assert_eq!(response.json()["totalSize"], want, "{name}");
    }
    let rpc = caller.post("/a2a/agents/three", list_body("one")).await;
    assert_eq!((rpc.status, rpc.rpc_error_code()), (404, -32601));
    let rest = caller.get("/a2a/agents/three/tasks").await;
    assert_eq!((rest.status, rest.json()["error"]["code"].as_i64()), (404, Some(404)));
    let older = server.get("/a2a/agents/three/v1/tasks/x").await;
    assert_eq!((older.status, older.json()["code"].as_i64()), (404, Some(-32601)));
    let card = caller.get("/a2a/agents/three/.well-known/agent-card.json").await;
    assert_eq!(card.status, 404);
}

#[tokio::test]
async fn listen_path_moves_routes_and_aliases_can_be_disabled() {
    let settings =
        Settings { listen_path: "/x/y".into(), path_aliases: false, ..Settings::default() };
    let server = start_server(shouter_server(settings)).await;
    let call = || send_body("SendMessage", "hi");
    assert_eq!(server.v1().post("/x/y", call()).await.status, 200);
    assert_eq!(server.v1().get("/x/y/tasks").await.status, 200);
    assert_eq!(server.get("/.well-known/agent-card.json").await.status, 200);
    for path in ["/a2a", "/", "/v1/rpc", "/v1/message:send"] {
        assert_eq!(server.post(path, call()).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn listen_path_can_be_root() {
    let server =
        start_server(shouter_server(Settings { listen_path: "/".into(), ..Settings::default() }))
            .await;
    let older = format!(
        r#"{{"jsonrpc":"2.0","id":"x","method":"message/send","params":{{"message":{}}}}}"#,
        v0_3_message("hi")
    );
    assert_eq!(server.post("/", older).await.json()["result"]["kind"], "task");
    assert_eq!(server.v1().get("/tasks").await.json()["totalSize"], 1);
    assert_eq!(server.get("/health").await.status, 200);
    let card = server.get("/.well-known/agent-card.json").await.json();
    assert_eq!(card["url"], format!("http://{}", server.address));
    assert_eq!(card["supportedInterfaces"][0]["protocolVersion"], Version::V1_0.as_str());
}

#[tokio::test]
async fn merged_routes_take_precedence_and_router_embeds() {
    let hello = || axum::Router::new().route("/hello", axum::routing::get(|| async { "hello" }));
    let console = axum::Router::new().route("/", axum::routing::get(|| async { "console" }));
    let server = shouter_server(Settings::default()).merge_routes(hello()).merge_routes(console);
    let server = start_server(server).await;
    assert_eq!(server.get("/hello").await.text(), "hello");
    assert_eq!(server.get("/").await.text(), "console");
    assert_eq!(
        server.v1().post("/", send_body("SendMessage", "hi")).await.rpc_error_code(),
        0,
        "POST on the same path reaches the server"
    );
    assert_eq!(server.v1().post("/a2a", send_body("SendMessage", "hi")).await.status, 200);
    assert_eq!(server.get("/nothing").await.json()["error"]["code"], 404);

    let router = shouter_server(Settings::default()).router().await.unwrap().merge(hello());
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let caller = crate::support::TestClient::new(socket.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        loop {
            let (stream, _) = socket.accept().await.unwrap();
            let service = hyper_util::service::TowerToHyperService::new(router.clone());
            tokio::spawn(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(hyper_util::rt::TokioIo::new(stream), service),
            );
        }
    });
    assert_eq!(caller.get("/hello").await.text(), "hello");
    assert_eq!(caller.v1().post("/a2a", send_body("SendMessage", "hi")).await.status, 200);
    serving.abort();
}
