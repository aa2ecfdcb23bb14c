//! Calls that need a capability that the agent's card disables are rejected in each binding and
//! version.

use http::Method;
use latimer_pb::{v0_3, v1};
use latimer_protocol::Secret;
use latimer_protocol::card::{AgentCapabilities, AgentCard};
use latimer_server::{Agent, ApiKeys, Server};
use serde_json::json;
use tonic::Code;
use tonic::transport::Endpoint;

use crate::support::{TestServer, message, send_body, start_server, test_agent, v0_3_message};

const CARD: &str = "/.well-known/agent-card.json";

/// Creates an agent whose card disables streaming.
fn non_streaming_agent(name: &str) -> Agent {
    let capabilities = AgentCapabilities { streaming: Some(false), ..Default::default() };
    let card = AgentCard { name: name.into(), capabilities, ..AgentCard::default() };
    let extended = AgentCard { name: format!("{name} extended"), ..AgentCard::default() };
    test_agent(name).with_card(card).with_extended_card(extended)
}

fn rpc_body(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// Creates an interrupted task, which can be subscribed to unless the agent forbids it.
async fn create_waiting_task(server: &TestServer, path: &str) -> String {
    let response = server.v1().post(path, send_body("SendMessage", "ask")).await;
    response.json()["result"]["task"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn card_reports_missing_streaming_in_every_format() {
    let server = start_server(Server::new(non_streaming_agent("shouter"))).await;
    for path in [CARD, "/.well-known/agent.json"] {
        let card = server.get(path).await.json();
        assert_eq!(card["capabilities"]["streaming"], false, "{path}: {card}");
    }
    let keys = ApiKeys::default().with_operator_key(&Secret::new("sesame"));
    let keyed = Server::new(non_streaming_agent("shouter")).authenticate(keys);
    let keyed = start_server(keyed).await;
    let caller = keyed.with_header("x-api-key", "sesame");
    for (caller, path) in [(caller.v1(), "/a2a/extendedAgentCard"), (caller, "/a2a/v1/card")] {
        let card = caller.get(path).await.json();
        assert_eq!(card["capabilities"]["streaming"], false, "{path}: {card}");
    }
    let all = server.get("/a2a/agents").await.json();
    assert_eq!(all["agents"][0]["capabilities"]["streaming"], false, "{all}");
}

#[tokio::test]
async fn json_rpc_rejects_streams_of_non_streaming_agent() {
    let server = start_server(Server::new(non_streaming_agent("shouter"))).await;
    let id = create_waiting_task(&server, "/a2a").await;
    let newest = format!(r#"{{"message":{}}}"#, message("hi"));
    let older = format!(r#"{{"message":{}}}"#, v0_3_message("hi"));
    let oldest = r#"{"id":"t0","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}"#;
    let task = format!(r#"{{"id":"{id}"}}"#);
    for (method, params) in [
        ("SendStreamingMessage", newest.as_str()),
        ("SubscribeToTask", &task),
        ("message/stream", &older),
        ("message/sendStreaming", &older),
        ("tasks/resubscribe", &task),
        ("tasks/subscribe", &task),
        ("tasks/sendSubscribe", oldest),
        // The capability is checked before the task.
        ("SubscribeToTask", r#"{"id":"none"}"#),
    ] {
        let response = server.post("/a2a", rpc_body(method, params)).await;
        assert_eq!((response.status, response.rpc_error_code()), (200, -32004), "{method}");
        let caller = server.with_header("accept", "text/event-stream");
        let response = caller.post("/a2a", rpc_body(method, params)).await;
        let [event] = response.events().try_into().expect("one event");
        assert_eq!(event["error"]["code"], -32004, "{method}: {event}");
    }
    // The rejected calls created no tasks.
    let listed = server.v1().get("/a2a/tasks").await.json();
    assert_eq!(listed["totalSize"], 1, "{listed}");
    let response = server.v1().post("/a2a", send_body("SendMessage", "hi")).await;
    assert_eq!(response.json()["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn http_json_rejects_streams_of_non_streaming_agent() {
    let server = start_server(Server::new(non_streaming_agent("shouter"))).await;
    let id = create_waiting_task(&server, "/a2a").await;
    let newest = format!(r#"{{"message":{}}}"#, message("hi"));
    let subscribe = format!("/a2a/tasks/{id}:subscribe");
    for (method, path, body) in [
        (Method::POST, "/a2a/message:stream", newest.as_str()),
        (Method::POST, "/a2a/shouter/message:stream", &newest),
        (Method::POST, &*subscribe, ""),
        (Method::GET, &*subscribe, ""),
    ] {
        let caller = server.v1().with_header("content-type", "application/json");
        let response = caller.send(method.clone(), path, body).await;
        let reason = &response.json()["error"]["details"][0]["reason"];
        let want = (400, &json!("UNSUPPORTED_OPERATION"));
        assert_eq!((response.status, reason), want, "{method} {path}");
    }
    let older = r#"{"message":{"messageId":"r","role":"ROLE_USER","content":[{"text":"hi"}]}}"#;
    let subscribe = format!("/v1/tasks/{id}:subscribe");
    for (path, body) in [("/v1/message:stream", older), (&*subscribe, "")] {
        let caller = server.with_header("content-type", "application/json");
        let response = caller.send(Method::POST, path, body).await;
        let want = (501, &json!(-32004));
        assert_eq!((response.status, &response.json()["code"]), want, "{path}");
    }
}

#[tokio::test]
async fn grpc_rejects_streams_of_non_streaming_agent() {
    let server = start_server(Server::new(non_streaming_agent("shouter"))).await;
    let id = create_waiting_task(&server, "/a2a").await;
    let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).unwrap();
    let channel = endpoint.connect().await.unwrap();
    let mut newest = v1::client::A2aServiceClient::new(channel.clone());
    let content = Some(v1::part::Content::Text("hi".into()));
    let message = v1::Message {
        message_id: "m".into(),
        role: v1::Role::User.into(),
        parts: vec![v1::Part { content, ..Default::default() }],
        ..Default::default()
    };
    let request = v1::SendMessageRequest { message: Some(message), ..Default::default() };
    let sent = newest.send_streaming_message(request).await.unwrap_err();
    assert_eq!(sent.code(), Code::FailedPrecondition, "{sent}");
    let request = v1::SubscribeToTaskRequest { id: id.clone(), ..Default::default() };
    let subscribed = newest.subscribe_to_task(request).await.unwrap_err();
    assert_eq!(subscribed.code(), Code::FailedPrecondition, "{subscribed}");
    let mut older = v0_3::client::A2aServiceClient::new(channel);
    let part = Some(v0_3::part::Part::Text("hi".into()));
    let message = v0_3::Message {
        message_id: "m".into(),
        role: v0_3::Role::User.into(),
        content: vec![v0_3::Part { part, ..Default::default() }],
        ..Default::default()
    };
    let request = v0_3::SendMessageRequest { request: Some(message), ..Default::default() };
    let sent = older.send_streaming_message(request).await.unwrap_err();
    assert_eq!(sent.code(), Code::Unimplemented, "{sent}");
    let request = v0_3::TaskSubscriptionRequest { name: format!("tasks/{id}") };
    let subscribed = older.task_subscription(request).await.unwrap_err();
    assert_eq!(subscribed.code(), Code::Unimplemented, "{subscribed}");
}

#[tokio::test]
async fn streaming_capability_is_per_agent() {
    let server =
        start_server(Server::new(test_agent("loud")).with_agent(non_streaming_agent("quiet")))
            .await;
    let tenant = format!(r#"{{"tenant":"quiet","message":{}}}"#, message("hi"));
    for (path, body, want) in [
        ("/a2a", send_body("SendStreamingMessage", "hi"), None),
        ("/a2a/agents/loud", send_body("SendStreamingMessage", "hi"), None),
        ("/a2a/agents/quiet", send_body("SendStreamingMessage", "hi"), Some(-32004)),
        ("/a2a", rpc_body("SendStreamingMessage", &tenant), Some(-32004)),
        ("/a2a", rpc_body("SubscribeToTask", r#"{"tenant":"unknown","id":"t"}"#), Some(-32602)),
    ] {
        let caller = server.v1().with_header("accept", "text/event-stream");
        let events = caller.post(path, body.clone()).await.events();
        assert_eq!(events[0]["error"]["code"].as_i64(), want, "{path} {body}");
    }
}

#[tokio::test]
async fn resolved_agent_decides_whether_streaming_is_allowed() {
    let server =
        start_server(Server::new(test_agent("loud")).with_agent(non_streaming_agent("quiet")))
            .await;
    let task = create_waiting_task(&server, "/a2a/agents/quiet").await;
    let by_metadata = format!(r#"{{"message":{},"metadata":{{"agent":"quiet"}}}}"#, message("hi"));
    let body = message("hi").replacen('{', &format!(r#"{{"taskId":"{task}","#), 1);
    let follow_up = format!(r#"{{"message":{body}}}"#);
    let task = format!(r#"{{"id":"{task}"}}"#);
    for (method, params, want) in [
        ("SendStreamingMessage", &by_metadata, Some(-32004)),
        ("SendStreamingMessage", &follow_up, Some(-32004)),
        ("SubscribeToTask", &task, Some(-32004)),
        ("tasks/resubscribe", &task, Some(-32004)),
        ("SubscribeToTask", &r#"{"id":"none"}"#.to_owned(), Some(-32001)),
    ] {
        let caller = server.with_header("accept", "text/event-stream");
        let events = caller.post("/a2a", rpc_body(method, params)).await.events();
        assert_eq!(events[0]["error"]["code"].as_i64(), want, "{method} {params}");
    }
    let response = server.v1().post("/a2a", rpc_body("SendMessage", &by_metadata)).await;
    assert_eq!(response.rpc_error_code(), 0, "the agent accepts calls without a stream");

    // The primary agent does not stream, but the agent of the task does.
    let server = crate::support::start_server(
        Server::new(non_streaming_agent("quiet")).with_agent(test_agent("loud")),
    )
    .await;
    let task = create_waiting_task(&server, "/a2a/agents/loud").await;
    let subscribed = r#"{"id":"none"}"#;
    let response = server.v1().post("/a2a", rpc_body("SubscribeToTask", subscribed)).await;
    assert_eq!(response.rpc_error_code(), -32004, "the capability is checked before the task");
    let body = message("hi").replacen('{', &format!(r#"{{"taskId":"{task}","#), 1);
    let follow_up = format!(r#"{{"message":{body}}}"#);
    let caller = server.v1().with_header("accept", "text/event-stream");
    let events = caller.post("/a2a", rpc_body("SendStreamingMessage", &follow_up)).await.events();
    assert!(events[0]["error"].is_null(), "{events:?}");
}

#[tokio::test]
async fn stream_rejection_is_json_unless_events_are_accepted() {
    let server =
        start_server(Server::new(test_agent("loud")).with_agent(non_streaming_agent("quiet")))
            .await;
    let tenant = format!(r#"{{"tenant":"quiet","message":{}}}"#, message("hi"));
    let json = "application/json";
    let events = "text/event-stream";
    for (path, accept, body, want) in [
        ("/a2a/agents/quiet", "*/*", send_body("SendStreamingMessage", "hi"), json),
        ("/a2a/agents/quiet", "text/event-stream", send_body("SendStreamingMessage", "hi"), events),
        ("/a2a/agents/quiet", "*/*", rpc_body("SendStreamingMessage", "{}"), json),
        ("/a2a", "*/*", rpc_body("SendStreamingMessage", &tenant), json),
        (
            "/a2a",
            "application/json, text/event-stream",
            rpc_body("SendStreamingMessage", &tenant),
            events,
        ),
        // The primary agent streams, so its errors are events.
        ("/a2a", "*/*", rpc_body("SendStreamingMessage", "{}"), events),
        ("/a2a", "*/*", rpc_body("SubscribeToTask", r#"{"id":"none"}"#), events),
    ] {
        let response = server.with_header("accept", accept).post(path, body.clone()).await;
        let kind = response.header("content-type");
        assert_eq!((response.status, kind), (200, want), "{path} {accept} {body}");
        assert!(response.text().contains(r#""error":{"code":-32"#), "{path} {accept} {body}");
    }
}
