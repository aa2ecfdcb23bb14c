//! Routing and authorization of swarm directives.

use async_trait::async_trait;
use http::HeaderMap;
use latimer_protocol::card::AgentCard;
use latimer_protocol::swarm::{Directive, DirectiveKind};
use latimer_protocol::{Caller, MessageId};
use latimer_server::{Agent, AgentFailure, CardHandle, Executor, Health, Server, Turn};
use serde_json::{Value, json};

use crate::support::{TestResponse, send_body, start_server, test_agent};

fn caller_from_header(headers: &HeaderMap) -> Option<Caller> {
    Some(match headers.get("x-name") {
        Some(name) => Caller::new(name.to_str().ok()?),
        None => Caller::anonymous(),
    })
}

fn swarm_server() -> Server {
    Server::new(test_agent("shouter")).authenticate_with(caller_from_header).register_swarm_handler(
        |directive: Directive, turn: Turn| async move {
            let caller = turn.caller().id().clone();
            turn.reply(format!("{} of {} for {caller}", directive.kind, directive.content)).await
        },
    )
}

fn directive_call(kind: DirectiveKind, content: Value) -> String {
    let id = MessageId::new(kind.name()).expect("an id");
    let message = Directive::new(kind, content).into_message(id);
    call(&json!(message))
}

fn call(message: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}})
        .to_string()
}

fn task_result(response: &TestResponse) -> (Value, Value) {
    let json = response.json();
    let task = &json["result"]["task"];
    assert!(task.is_object(), "{json}");
    let messages = [&task["artifacts"][0], &task["status"]["message"]];
    let text = messages.iter().map(|it| &it["parts"][0]["text"]).find(|it| it.is_string());
    (task["status"]["state"].clone(), text.cloned().unwrap_or_default())
}

#[tokio::test]
async fn directives_reach_the_handler_and_messages_the_agent() {
    let server = start_server(swarm_server()).await;
    let member = server.v1().with_header("x-name", "alpha");
    for kind in DirectiveKind::ALL {
        let response = member.post("/a2a", directive_call(kind, json!({"n": 1}))).await;
        let text = format!("{kind} of {{\"n\":1}} for alpha");
        assert_eq!(task_result(&response), (json!("TASK_STATE_COMPLETED"), json!(text)));
    }
    let message = task_result(&member.post("/a2a", send_body("SendMessage", "hello")).await);
    assert_eq!(message, (json!("TASK_STATE_COMPLETED"), json!("HELLO")));
}

#[tokio::test]
async fn anonymous_or_unknown_directive_is_rejected() {
    let server = start_server(swarm_server()).await;
    let anonymous =
        server.v1().post("/a2a", directive_call(DirectiveKind::SpawnAgent, Value::Null)).await;
    let (state, reason) = task_result(&anonymous);
    assert_eq!(state, json!("TASK_STATE_REJECTED"));
    assert_eq!(reason, json!("directives require an authenticated caller"));

    for kind in [json!("explode"), json!(7), json!({})] {
        let message = json!({
            "messageId": kind.to_string(), "role": "ROLE_USER",
            "parts": [{"text": "now"}], "metadata": {"swarmKind": kind},
        });
        let response =
            server.v1().with_header("x-name", "alpha").post("/a2a", call(&message)).await;
        let (state, reason) = task_result(&response);
        assert_eq!(state, json!("TASK_STATE_REJECTED"));
        assert!(reason.as_str().is_some_and(|it| it.contains("sync_state")), "{reason}");
    }
}

#[tokio::test]
async fn directive_without_handler_is_a_plain_message() {
    let server =
        start_server(Server::new(test_agent("shouter")).authenticate_with(caller_from_header))
            .await;
    let message = json!({
        "messageId": "m1", "role": "ROLE_USER",
        "parts": [{"text": "hello"}], "metadata": {"swarmKind": "spawn_agent"},
    });
    let result =
        task_result(&server.v1().with_header("x-name", "alpha").post("/a2a", call(&message)).await);
    assert_eq!(result, (json!("TASK_STATE_COMPLETED"), json!("HELLO")));
}

/// Agent that sets its description when it is published, and reports that it is unhealthy.
#[derive(Debug)]
struct LateCardExecutor;

#[async_trait]
impl Executor for LateCardExecutor {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        Ok(turn.reply("late").await?)
    }

    fn on_publish(&self, handle: &CardHandle) {
        let card = AgentCard { description: "Found".into(), ..(*handle.card()).clone() };
        handle.set(card);
    }

    fn health(&self) -> Option<Health> {
        Some(Health::Unhealthy)
    }
}

#[tokio::test]
async fn swarm_handler_preserves_agent_card_and_health() {
    let server = Server::new(Agent::new("late", LateCardExecutor))
        .register_swarm_handler(|_: Directive, turn: Turn| async move { turn.reply("done").await });
    let server = start_server(server).await;
    let card = server.get("/.well-known/agent-card.json").await.json();
    assert_eq!(card["description"], "Found");
    let metrics = server.get("/metrics").await;
    assert!(metrics.text().contains("upstream_up{agent=\"late\"} 0"), "{}", metrics.text());
}
