//! What a card does not offer is refused, in the words of each binding and version.

use http::Method;
use latimer_pb::{v0_3, v1};
use latimer_protocol::card::{AgentCapabilities, AgentCard};
use latimer_server::{Agent, Server};
use serde_json::json;
use tonic::Code;
use tonic::transport::Endpoint;

use crate::support::{Site, agent, message, older_message, send, site};

const CARD: &str = "/.well-known/agent-card.json";

/// An agent that does not stream.
fn silent(name: &str) -> Agent {
    let capabilities = AgentCapabilities { streaming: Some(false), ..Default::default() };
    let card = AgentCard { name: name.into(), capabilities, ..AgentCard::default() };
    let extended = AgentCard { name: format!("{name} for friends"), ..AgentCard::default() };
    agent(name).with_card(card).with_extended_card(extended)
}

fn call(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// A task that waits for an answer, so that nothing but the agent forbids a subscription.
async fn asked(site: &Site, path: &str) -> String {
    let answer = site.v1().post(path, send("SendMessage", "ask")).await;
    answer.json()["result"]["task"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_card_that_says_no_to_streams_says_so_in_every_form() {
    let site = site(Server::new(silent("shouter"))).await;
    for path in [CARD, "/.well-known/agent.json", "/a2a/v1/card"] {
        let card = site.get(path).await.json();
        assert_eq!(card["capabilities"]["streaming"], false, "{path}: {card}");
    }
    let card = site.v1().get("/a2a/extendedAgentCard").await.json();
    assert_eq!(card["capabilities"]["streaming"], false, "{card}");
    let all = site.get("/a2a/agents").await.json();
    assert_eq!(all["agents"][0]["capabilities"]["streaming"], false, "{all}");
}

#[tokio::test]
async fn json_rpc_of_every_version_refuses_streams_of_an_agent_without() {
    let site = site(Server::new(silent("shouter"))).await;
    let id = asked(&site, "/a2a").await;
    let newest = format!(r#"{{"message":{}}}"#, message("hi"));
    let older = format!(r#"{{"message":{}}}"#, older_message("hi"));
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
        // Before any look at the task.
        ("SubscribeToTask", r#"{"id":"none"}"#),
    ] {
        let answer = site.post("/a2a", call(method, params)).await;
        assert_eq!((answer.status, answer.code()), (200, -32004), "{method}");
        let caller = site.with("accept", "text/event-stream");
        let answer = caller.post("/a2a", call(method, params)).await;
        let [event] = answer.events().try_into().expect("one event");
        assert_eq!(event["error"]["code"], -32004, "{method}: {event}");
    }
    // Nothing came of them.
    let listed = site.v1().get("/a2a/tasks").await.json();
    assert_eq!(listed["totalSize"], 1, "{listed}");
    let answer = site.v1().post("/a2a", send("SendMessage", "hi")).await;
    assert_eq!(answer.json()["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn http_json_of_every_version_refuses_streams_of_an_agent_without() {
    let site = site(Server::new(silent("shouter"))).await;
    let id = asked(&site, "/a2a").await;
    let newest = format!(r#"{{"message":{}}}"#, message("hi"));
    let subscribe = format!("/a2a/tasks/{id}:subscribe");
    for (method, path, body) in [
        (Method::POST, "/a2a/message:stream", newest.as_str()),
        (Method::POST, "/a2a/shouter/message:stream", &newest),
        (Method::POST, &*subscribe, ""),
        (Method::GET, &*subscribe, ""),
    ] {
        let caller = site.v1().with("content-type", "application/json");
        let answer = caller.ask(method.clone(), path, body).await;
        let reason = &answer.json()["error"]["details"][0]["reason"];
        let want = (400, &json!("UNSUPPORTED_OPERATION"));
        assert_eq!((answer.status, reason), want, "{method} {path}");
    }
    let older = r#"{"message":{"messageId":"r","role":"ROLE_USER","content":[{"text":"hi"}]}}"#;
    let subscribe = format!("/v1/tasks/{id}:subscribe");
    for (path, body) in [("/v1/message:stream", older), (&*subscribe, "")] {
        let caller = site.with("content-type", "application/json");
        let answer = caller.ask(Method::POST, path, body).await;
        let want = (501, &json!(-32004));
        assert_eq!((answer.status, &answer.json()["code"]), want, "{path}");
    }
}

#[tokio::test]
async fn grpc_of_both_versions_refuses_streams_of_an_agent_without() {
    let site = site(Server::new(silent("shouter"))).await;
    let id = asked(&site, "/a2a").await;
    let endpoint = Endpoint::from_shared(format!("http://{}", site.address)).unwrap();
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
async fn each_of_several_agents_streams_or_not_for_itself() {
    let site = site(Server::new(agent("loud")).with_agent(silent("quiet"))).await;
    let tenant = format!(r#"{{"tenant":"quiet","message":{}}}"#, message("hi"));
    for (path, body, want) in [
        ("/a2a", send("SendStreamingMessage", "hi"), None),
        ("/a2a/agents/loud", send("SendStreamingMessage", "hi"), None),
        ("/a2a/agents/quiet", send("SendStreamingMessage", "hi"), Some(-32004)),
        ("/a2a", call("SendStreamingMessage", &tenant), Some(-32004)),
        ("/a2a", call("SubscribeToTask", r#"{"tenant":"nobody","id":"t"}"#), Some(-32602)),
    ] {
        let caller = site.v1().with("accept", "text/event-stream");
        let events = caller.post(path, body.clone()).await.events();
        assert_eq!(events[0]["error"]["code"].as_i64(), want, "{path} {body}");
    }
}

#[tokio::test]
async fn the_agent_that_is_meant_in_the_end_decides_whether_there_is_a_stream() {
    let site = site(Server::new(agent("loud")).with_agent(silent("quiet"))).await;
    let task = asked(&site, "/a2a/agents/quiet").await;
    let meant = format!(r#"{{"message":{},"metadata":{{"agent":"quiet"}}}}"#, message("hi"));
    let body = message("hi").replacen('{', &format!(r#"{{"taskId":"{task}","#), 1);
    let answers = format!(r#"{{"message":{body}}}"#);
    let task = format!(r#"{{"id":"{task}"}}"#);
    for (method, params, want) in [
        ("SendStreamingMessage", &meant, Some(-32004)),
        ("SendStreamingMessage", &answers, Some(-32004)),
        ("SubscribeToTask", &task, Some(-32004)),
        ("tasks/resubscribe", &task, Some(-32004)),
        ("SubscribeToTask", &r#"{"id":"none"}"#.to_owned(), Some(-32001)),
    ] {
        let caller = site.with("accept", "text/event-stream");
        let events = caller.post("/a2a", call(method, params)).await.events();
        assert_eq!(events[0]["error"]["code"].as_i64(), want, "{method} {params}");
    }
    let answer = site.v1().post("/a2a", call("SendMessage", &meant)).await;
    assert_eq!(answer.code(), 0, "without a stream it answers");

    // The other way round: the card at the common address does not stream, the task's agent does.
    let site = crate::support::site(Server::new(silent("quiet")).with_agent(agent("loud"))).await;
    let task = asked(&site, "/a2a/agents/loud").await;
    let subscribed = r#"{"id":"none"}"#;
    let answer = site.v1().post("/a2a", call("SubscribeToTask", subscribed)).await;
    assert_eq!(answer.code(), -32004, "before any look at the task");
    let body = message("hi").replacen('{', &format!(r#"{{"taskId":"{task}","#), 1);
    let answers = format!(r#"{{"message":{body}}}"#);
    let caller = site.v1().with("accept", "text/event-stream");
    let events = caller.post("/a2a", call("SendStreamingMessage", &answers)).await.events();
    assert!(events[0]["error"].is_null(), "{events:?}");
}

#[tokio::test]
async fn an_agent_without_streams_answers_json_rpc_with_an_object_unless_events_are_asked_for() {
    let site = site(Server::new(agent("loud")).with_agent(silent("quiet"))).await;
    let tenant = format!(r#"{{"tenant":"quiet","message":{}}}"#, message("hi"));
    let json = "application/json";
    let events = "text/event-stream";
    for (path, accept, body, want) in [
        ("/a2a/agents/quiet", "*/*", send("SendStreamingMessage", "hi"), json),
        ("/a2a/agents/quiet", "text/event-stream", send("SendStreamingMessage", "hi"), events),
        ("/a2a/agents/quiet", "*/*", call("SendStreamingMessage", "{}"), json),
        ("/a2a", "*/*", call("SendStreamingMessage", &tenant), json),
        (
            "/a2a",
            "application/json, text/event-stream",
            call("SendStreamingMessage", &tenant),
            events,
        ),
        // Of others a stream is expected, and a stream it is.
        ("/a2a", "*/*", call("SendStreamingMessage", "{}"), events),
        ("/a2a", "*/*", call("SubscribeToTask", r#"{"id":"none"}"#), events),
    ] {
        let answer = site.with("accept", accept).post(path, body.clone()).await;
        let kind = answer.header("content-type");
        assert_eq!((answer.status, kind), (200, want), "{path} {accept} {body}");
        assert!(answer.text().contains(r#""error":{"code":-32"#), "{path} {accept} {body}");
    }
}
