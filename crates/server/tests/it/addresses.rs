//! Where everything is.

use http::Method;
use latimer_protocol::Version;
use latimer_server::{Server, Settings};
use serde_json::json;

use crate::support::{agent, h2, message, older_message, send, shouter, site};

#[tokio::test]
async fn json_rpc_answers_at_each_of_its_addresses() {
    let site = site(shouter(Settings::default())).await;
    for path in
        ["/a2a", "/a2a/", "/v1/rpc", "/", "/a2a/agents/shouter", "/a2a/agents/shouter/", "/a2a?x=y"]
    {
        let answer = site.v1().post(path, send("SendMessage", "hi")).await;
        assert_eq!(answer.status, 200, "{path}");
        let task = &answer.json()["result"]["task"];
        assert_eq!(task["artifacts"][0]["parts"][0]["text"], "HI", "{path}");
    }
}

#[tokio::test]
async fn every_binding_answers_over_both_protocols_on_one_port() {
    let site = site(shouter(Settings::default())).await;
    let caller = site.v1().with("content-type", "application/json");
    let answer = h2(&caller, Method::POST, "/a2a", &send("SendMessage", "hi")).await;
    assert_eq!(answer.json()["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let body =
        json!({"message": serde_json::from_str::<serde_json::Value>(&message("hi")).unwrap()});
    let answer = h2(&caller, Method::POST, "/a2a/message:send", &body.to_string()).await;
    assert_eq!(answer.json()["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let answer = h2(&site.caller, Method::GET, "/.well-known/agent-card.json", "").await;
    assert_eq!(answer.json()["name"], "shouter");
}

#[tokio::test]
async fn http_json_of_1_0_has_all_its_addresses() {
    let site = site(shouter(Settings::default())).await;
    let caller = site.v1();
    let body = format!(r#"{{"message":{}}}"#, message("ask"));
    let sent = caller.post("/a2a/message:send", body.clone()).await;
    let task = sent.json()["task"].clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let id = task["id"].as_str().unwrap();
    let got = caller.get(&format!("/a2a/tasks/{id}")).await;
    assert_eq!((got.status, &got.json()["id"]), (200, &task["id"]));
    let listed = caller.get("/a2a/tasks?pageSize=10").await;
    assert_eq!(listed.json()["totalSize"], 1);
    // A tenant before the path, and the agent's own mount, lead to the same task.
    for path in ["/a2a/shouter/tasks", "/a2a/agents/shouter/tasks"] {
        assert_eq!(caller.get(path).await.json()["totalSize"], 1, "{path}");
    }
    let canceled = caller.ask(Method::POST, &format!("/a2a/tasks/{id}:cancel"), "").await;
    assert_eq!(canceled.json()["status"]["state"], "TASK_STATE_CANCELED");
    // It is a look at a task with a strange name, and nothing is canceled by looking.
    let looked = caller.get(&format!("/a2a/tasks/{id}:cancel")).await;
    assert_eq!(looked.status, 404);
    let stream = caller.post("/a2a/message:stream", body).await;
    assert_eq!(stream.header("content-type"), "text/event-stream");
    // A subscription by either verb; the task is over, and the address is found.
    for method in [Method::GET, Method::POST] {
        let answer = caller.ask(method.clone(), &format!("/a2a/tasks/{id}:subscribe"), "").await;
        let reason = &answer.json()["error"]["details"][0]["reason"];
        assert_eq!((answer.status, reason), (400, &json!("UNSUPPORTED_OPERATION")), "{method}");
    }
}

#[tokio::test]
async fn http_json_of_0_3_is_below_v1_with_and_without_the_base() {
    let site = site(shouter(Settings::default())).await;
    let body = r#"{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"ask"}]},
        "configuration":{"blocking":true}}"#;
    for base in ["/a2a", "", "/a2a/agents/shouter"] {
        let body = body.replace("\"m\"", &format!("\"m{base}\""));
        let sent = site.post(&format!("{base}/v1/message:send"), body).await;
        let task = sent.json()["task"].clone();
        assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{base}");
        assert_eq!(sent.header("content-type"), "application/json", "{base}");
        let id = task["id"].as_str().unwrap();
        let got = site.get(&format!("{base}/v1/tasks/{id}?history_length=1")).await;
        assert_eq!(got.json()["history"].as_array().unwrap().len(), 1, "{base}");
        for body in ["", "null", "{}"] {
            let path = format!("{base}/v1/tasks/{id}:cancel");
            let caller = site.with("content-type", "application/json");
            let answer = caller.ask(Method::POST, &path, body).await;
            assert_eq!(answer.json()["status"]["state"], "TASK_STATE_CANCELLED", "{base} {body}");
        }
    }
}

#[tokio::test]
async fn the_oldest_rest_answers_bare_tasks() {
    let site = site(shouter(Settings::default())).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"message":
        {"role":"user","parts":[{"type":"text","text":"ask"}]},"sessionId":"s1"}}"#;
    let sent = site.post("/a2a/tasks/send", body).await;
    let task = sent.json();
    assert_eq!((&task["status"], &task["sessionId"]), (&json!("inputRequired"), &json!("s1")));
    let id = task["id"].as_str().unwrap().to_owned();
    let got = site.get(&format!("/a2a/tasks/{id}")).await;
    assert_eq!(got.json()["status"], "inputRequired", "in the shape it was made in");
    let newest = site.v1().get(&format!("/a2a/tasks/{id}")).await;
    assert_eq!(newest.json()["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let canceled = site.ask(Method::POST, &format!("/a2a/tasks/{id}/cancel"), "").await;
    assert_eq!(canceled.json()["status"], "cancelled");
    let unknown = site.ask(Method::POST, "/a2a/tasks/none/cancel", "").await;
    assert_eq!((unknown.status, unknown.json()["error"].is_string()), (404, true));
    // A task of 1.0 is shown as one.
    let made = site.v1().post("/a2a", send("SendMessage", "hi")).await;
    let id = made.json()["result"]["task"]["id"].as_str().unwrap().to_owned();
    let got = site.get(&format!("/a2a/tasks/{id}")).await;
    assert_eq!(got.json()["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn the_oldest_rest_cancels_what_goes_on_and_nothing_else() {
    let site = site(shouter(Settings::default())).await;
    let send = |text: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{{"message":
            {{"role":"user","parts":[{{"type":"text","text":"{text}"}}]}}}}}}"#
        )
    };
    for (text, ended, status) in [("hi", "completed", 409), ("ask", "cancelled", 200)] {
        let task = site.post("/a2a/tasks/send", send(text)).await.json();
        let path = format!("/a2a/tasks/{}", task["id"].as_str().unwrap());
        // With a body or without, once and again: the answer is the same.
        for body in ["", "{}", ""] {
            let caller = site.with("content-type", "application/json");
            let answer = caller.ask(Method::POST, &format!("{path}/cancel"), body).await;
            assert_eq!(answer.status, status, "{text}: {}", answer.text());
            match status {
                200 => assert_eq!(answer.json()["status"], ended),
                _ => assert!(answer.json()["error"].as_str().unwrap().contains("is over")),
            }
        }
        assert_eq!(site.get(&path).await.json()["status"], ended, "{text}");
    }
    // 1.0 says the same with its own status.
    let made = site.post("/a2a/tasks/send", send("hi")).await.json();
    let path = format!("/a2a/tasks/{}:cancel", made["id"].as_str().unwrap());
    let newest = site.v1().ask(Method::POST, &path, "").await;
    let reason = &newest.json()["error"]["details"][0]["reason"];
    assert_eq!((newest.status, reason), (400, &json!("TASK_NOT_CANCELABLE")));
}

#[tokio::test]
async fn v1_is_a_tenant_for_those_who_say_1_0() {
    let server = Server::new(agent("shouter")).with_agent(agent("other"));
    let site = site(server).await;
    let body = format!(r#"{{"message":{}}}"#, message("hi"));
    let answer = site.v1().post("/a2a/v1/message:send", body.clone()).await;
    assert_eq!(answer.status, 400, "there is no agent v1");
    let answer = site.v1().post("/a2a/other/message:send", body).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn agents_have_their_own_addresses_and_tenants() {
    let site = site(Server::new(agent("one")).with_agent(agent("two"))).await;
    let caller = site.v1();
    let of = |name: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{{"tenant":"{name}"}}}}"#)
    };
    caller.post("/a2a/agents/two", send("SendMessage", "hi")).await;
    for (name, want) in [("one", 0), ("two", 1)] {
        let answer = caller.post("/a2a", of(name)).await;
        assert_eq!(answer.json()["result"]["totalSize"], want, "{name}");
        let answer = caller.get(&format!("/a2a/agents/{name}/tasks")).await;
        assert_eq!(answer.json()["totalSize"], want, "{name}");
    }
    let rpc = caller.post("/a2a/agents/three", of("one")).await;
    assert_eq!((rpc.status, rpc.code()), (404, -32601));
    let rest = caller.get("/a2a/agents/three/tasks").await;
    assert_eq!((rest.status, rest.json()["error"]["code"].as_i64()), (404, Some(404)));
    let older = site.get("/a2a/agents/three/v1/tasks/x").await;
    assert_eq!((older.status, older.json()["code"].as_i64()), (404, Some(-32601)));
    let card = caller.get("/a2a/agents/three/.well-known/agent-card.json").await;
    assert_eq!(card.status, 404);
}

#[tokio::test]
async fn the_base_moves_everything_and_aliases_can_be_switched_off() {
    let settings = Settings { listen_path: "/x/y".into(), aliases: false, ..Settings::default() };
    let site = site(shouter(settings)).await;
    let call = || send("SendMessage", "hi");
    assert_eq!(site.v1().post("/x/y", call()).await.status, 200);
    assert_eq!(site.v1().get("/x/y/tasks").await.status, 200);
    assert_eq!(site.get("/.well-known/agent-card.json").await.status, 200);
    for path in ["/a2a", "/", "/v1/rpc", "/v1/message:send"] {
        assert_eq!(site.post(path, call()).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn the_root_can_be_the_base() {
    let site = site(shouter(Settings { listen_path: "/".into(), ..Settings::default() })).await;
    let older = format!(
        r#"{{"jsonrpc":"2.0","id":"x","method":"message/send","params":{{"message":{}}}}}"#,
        older_message("hi")
    );
    assert_eq!(site.post("/", older).await.json()["result"]["kind"], "task");
    assert_eq!(site.v1().get("/tasks").await.json()["totalSize"], 1);
    assert_eq!(site.get("/health").await.status, 200);
    let card = site.get("/.well-known/agent-card.json").await.json();
    assert_eq!(card["url"], format!("http://{}", site.address));
    assert_eq!(card["supportedInterfaces"][0]["protocolVersion"], Version::V1_0.as_str());
}

#[tokio::test]
async fn other_routes_go_first_and_everything_can_be_embedded() {
    let hello = || axum::Router::new().route("/hello", axum::routing::get(|| async { "hello" }));
    let console = axum::Router::new().route("/", axum::routing::get(|| async { "console" }));
    let server = shouter(Settings::default()).routes(hello()).routes(console);
    let site = site(server).await;
    assert_eq!(site.get("/hello").await.text(), "hello");
    assert_eq!(site.get("/").await.text(), "console");
    assert_eq!(
        site.v1().post("/", send("SendMessage", "hi")).await.code(),
        0,
        "one path, two uses"
    );
    assert_eq!(site.v1().post("/a2a", send("SendMessage", "hi")).await.status, 200);
    assert_eq!(site.get("/nothing").await.json()["error"]["code"], 404);

    let router = shouter(Settings::default()).router().await.unwrap().merge(hello());
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let caller = crate::support::Caller::new(socket.local_addr().unwrap());
    let served = tokio::spawn(async move {
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
    assert_eq!(caller.v1().post("/a2a", send("SendMessage", "hi")).await.status, 200);
    served.abort();
}
