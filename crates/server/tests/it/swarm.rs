//! Directives of a swarm, and who may give them.

use async_trait::async_trait;
use http::HeaderMap;
use latimer_protocol::card::AgentCard;
use latimer_protocol::swarm::{Directive, DirectiveKind};
use latimer_protocol::{Caller, MessageId};
use latimer_server::{Agent, Executor, Failure, Health, Placard, Server, Turn};
use serde_json::{Value, json};

use crate::support::{Answer, agent, send, site};

fn known(headers: &HeaderMap) -> Option<Caller> {
    Some(match headers.get("x-name") {
        Some(name) => Caller::new(name.to_str().ok()?),
        None => Caller::anonymous(),
    })
}

fn swarm() -> Server {
    Server::new(agent("shouter")).auth(known).register_swarm_handler(
        |directive: Directive, turn: Turn| async move {
            let who = turn.caller().id().clone();
            turn.reply(format!("{} of {} for {who}", directive.kind, directive.content)).await
        },
    )
}

fn given(kind: DirectiveKind, content: Value) -> String {
    let id = MessageId::new(kind.name()).expect("an id");
    let message = Directive::new(kind, content).into_message(id);
    call(&json!(message))
}

fn call(message: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}})
        .to_string()
}

fn outcome(answer: &Answer) -> (Value, Value) {
    let json = answer.json();
    let task = &json["result"]["task"];
    assert!(task.is_object(), "{json}");
    let said = [&task["artifacts"][0], &task["status"]["message"]];
    let text = said.iter().map(|it| &it["parts"][0]["text"]).find(|it| it.is_string());
    (task["status"]["state"].clone(), text.cloned().unwrap_or_default())
}

#[tokio::test]
async fn each_kind_of_directive_goes_to_the_handler_and_everything_else_to_the_agent() {
    let site = site(swarm()).await;
    let member = site.v1().with("x-name", "alpha");
    for kind in DirectiveKind::ALL {
        let answer = member.post("/a2a", given(kind, json!({"n": 1}))).await;
        let text = format!("{kind} of {{\"n\":1}} for alpha");
        assert_eq!(outcome(&answer), (json!("TASK_STATE_COMPLETED"), json!(text)));
    }
    let message = outcome(&member.post("/a2a", send("SendMessage", "hello")).await);
    assert_eq!(message, (json!("TASK_STATE_COMPLETED"), json!("HELLO")));
}

#[tokio::test]
async fn a_directive_of_a_stranger_or_of_no_known_kind_is_rejected() {
    let site = site(swarm()).await;
    let stranger = site.v1().post("/a2a", given(DirectiveKind::SpawnAgent, Value::Null)).await;
    let (state, why) = outcome(&stranger);
    assert_eq!(state, json!("TASK_STATE_REJECTED"));
    assert_eq!(why, json!("only callers who say who they are may give directives"));

    for kind in [json!("explode"), json!(7), json!({})] {
        let message = json!({
            "messageId": kind.to_string(), "role": "ROLE_USER",
            "parts": [{"text": "now"}], "metadata": {"swarmKind": kind},
        });
        let answer = site.v1().with("x-name", "alpha").post("/a2a", call(&message)).await;
        let (state, why) = outcome(&answer);
        assert_eq!(state, json!("TASK_STATE_REJECTED"));
        assert!(why.as_str().is_some_and(|it| it.contains("sync_state")), "{why}");
    }
}

#[tokio::test]
async fn without_a_handler_a_directive_is_a_message() {
    let site = site(Server::new(agent("shouter")).auth(known)).await;
    let message = json!({
        "messageId": "m1", "role": "ROLE_USER",
        "parts": [{"text": "hello"}], "metadata": {"swarmKind": "spawn_agent"},
    });
    let answer = outcome(&site.v1().with("x-name", "alpha").post("/a2a", call(&message)).await);
    assert_eq!(answer, (json!("TASK_STATE_COMPLETED"), json!("HELLO")));
}

/// An agent that knows what it is for only when it is served, and is not well.
#[derive(Debug)]
struct Late;

#[async_trait]
impl Executor for Late {
    async fn execute(&self, turn: Turn) -> Result<(), Failure> {
        Ok(turn.reply("late").await?)
    }

    fn publish(&self, placard: &Placard) {
        let card = AgentCard { description: "Found".into(), ..(*placard.card()).clone() };
        placard.show(card);
    }

    fn health(&self) -> Option<Health> {
        Some(Health::Failing)
    }
}

#[tokio::test]
async fn an_agent_behind_a_handler_says_what_it_says_without() {
    let server = Server::new(Agent::new("late", Late))
        .register_swarm_handler(|_: Directive, turn: Turn| async move { turn.reply("done").await });
    let site = site(server).await;
    let card = site.get("/.well-known/agent-card.json").await.json();
    assert_eq!(card["description"], "Found");
    let metrics = site.get("/metrics").await;
    assert!(metrics.text().contains("upstream_up{agent=\"late\"} 0"), "{}", metrics.text());
}
