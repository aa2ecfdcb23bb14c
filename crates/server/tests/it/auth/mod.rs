//! Who asks, and what they may.

mod agents;
mod certificates;
mod jwt;
mod keys;
mod provider;
mod public;
mod tls;

use http::HeaderMap;
use latimer_protocol::{Caller, Secret};
use latimer_server::{Agent, Server, Settings, Turn};
use serde_json::json;

use crate::support::{agent, message, send, site};

fn known(headers: &HeaderMap) -> Option<Caller> {
    let token = headers.get("authorization")?.to_str().ok()?.strip_prefix("Bearer ")?;
    ["alice", "bob"].contains(&token).then(|| Caller::new(token))
}

fn server() -> Server {
    Server::new(agent("shouter")).settings(Settings::default()).auth(known)
}

#[tokio::test]
async fn a_stranger_is_refused_in_the_form_of_its_binding() {
    let site = site(server()).await;
    for caller in [site.v1(), site.v1().with("authorization", "Bearer mallory")] {
        let rpc = caller.post("/a2a", send("SendMessage", "hi")).await;
        assert_eq!((rpc.status, rpc.code()), (401, -31401));
        assert_eq!(rpc.header("www-authenticate"), "Bearer");
        let rest = caller.get("/a2a/tasks").await;
        assert_eq!(
            (rest.status, &rest.json()["error"]["status"]),
            (401, &json!("UNAUTHENTICATED"))
        );
        assert_eq!(rest.header("www-authenticate"), "Bearer");
    }
    for path in
        ["/.well-known/agent-card.json", "/.well-known/agent.json", "/a2a/agents", "/health"]
    {
        assert_eq!(site.get(path).await.status, 200, "{path} is for everybody");
    }
}

#[tokio::test]
async fn an_agent_knows_its_caller() {
    let agent = Agent::from_fn("who", |turn: Turn| async move {
        let caller = turn.caller();
        let team = caller.metadata().get("team").and_then(|it| it.as_str()).unwrap_or("none");
        let token = caller.token().map_or("none", |it| it.reveal());
        let name = if caller.is_anonymous() { "anybody" } else { caller.id() };
        turn.say(format!("{name} {} {team} {token}", caller.scopes().join("+"))).await
    });
    let more = |headers: &HeaderMap| {
        let caller = known(headers)?.with_scopes(["read", "write"]);
        let team = [("team".to_owned(), json!("blue"))].into_iter().collect();
        Some(caller.with_token(Secret::new("t0ken")).with_metadata(team))
    };
    let said = |answer: serde_json::Value| answer["message"]["parts"][0]["text"].clone();
    let site = site(Server::new(agent.clone()).auth(more)).await;
    for name in ["alice", "bob"] {
        let caller = site.v1().with("authorization", format!("Bearer {name}"));
        let want = format!("{name} read+write blue t0ken");
        let rpc = caller.post("/a2a", send("SendMessage", "hi")).await;
        assert_eq!(said(rpc.json()["result"].clone()), want);
        let body = format!(r#"{{"message":{}}}"#, message("hi"));
        assert_eq!(said(caller.post("/a2a/message:send", body).await.json()), want);
    }
    let open = crate::support::site(Server::new(agent)).await;
    let rpc = open.v1().post("/a2a", send("SendMessage", "hi")).await;
    assert_eq!(said(rpc.json()["result"].clone()), "anybody  none none");
}

#[tokio::test]
async fn what_somebody_made_is_nobody_elses() {
    let site = site(server()).await;
    let alice = site.v1().with("authorization", "Bearer alice");
    let bob = site.v1().with("authorization", "Bearer bob");
    let made = alice.post("/a2a", send("SendMessage", "hi")).await;
    let id = made.json()["result"]["task"]["id"].as_str().unwrap().to_owned();
    assert_eq!(alice.get(&format!("/a2a/tasks/{id}")).await.status, 200);
    let theirs = bob.get(&format!("/a2a/tasks/{id}")).await;
    let none = bob.get("/a2a/tasks/00000000-0000-0000-0000-000000000000").await;
    assert_eq!((theirs.status, none.status), (404, 404));
    assert_eq!(bob.get("/a2a/tasks").await.json()["totalSize"], 0);
}
