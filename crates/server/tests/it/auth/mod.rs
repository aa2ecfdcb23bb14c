//! Authentication and authorization.

mod agents;
mod certificates;
mod decisions;
mod jwt;
mod keys;
mod provider;
mod public;
mod tls;

use http::HeaderMap;
use latimer_protocol::{Caller, Secret};
use latimer_server::{Agent, Server, Settings, Turn};
use serde_json::json;

use crate::support::{message, send_body, start_server, test_agent};

fn authenticate_bearer(headers: &HeaderMap) -> Option<Caller> {
    let token = headers.get("authorization")?.to_str().ok()?.strip_prefix("Bearer ")?;
    ["alice", "bob"].contains(&token).then(|| Caller::new(token))
}

fn authenticated_server() -> Server {
    Server::new(test_agent("shouter"))
        .settings(Settings::default())
        .authenticate_with(authenticate_bearer)
}

#[tokio::test]
async fn unauthenticated_call_is_rejected_in_each_binding() {
    let server = start_server(authenticated_server()).await;
    for caller in [server.v1(), server.v1().with_header("authorization", "Bearer mallory")] {
        let rpc = caller.post("/a2a", send_body("SendMessage", "hi")).await;
        assert_eq!((rpc.status, rpc.rpc_error_code()), (401, -31401));
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
        assert_eq!(server.get(path).await.status, 200, "{path} is public");
    }
}

#[tokio::test]
async fn agent_receives_caller_identity_scopes_and_token() {
    let agent = Agent::from_fn("who", |turn: Turn| async move {
        let caller = turn.caller();
        let team = caller.metadata().get("team").and_then(|it| it.as_str()).unwrap_or("none");
        let token = caller.token().map_or("none", |it| it.reveal());
        let name = if caller.is_anonymous() { "anonymous" } else { caller.id() };
        turn.direct_reply(format!("{name} {} {team} {token}", caller.scopes().join("+"))).await
    })
    .with_direct_replies();
    let authenticate_with_metadata = |headers: &HeaderMap| {
        let caller = authenticate_bearer(headers)?.with_scopes(["read", "write"]);
        let team = [("team".to_owned(), json!("blue"))].into_iter().collect();
        Some(caller.with_token(Secret::new("t0ken")).with_metadata(team))
    };
    let reply_text = |response: serde_json::Value| response["message"]["parts"][0]["text"].clone();
    let server =
        start_server(Server::new(agent.clone()).authenticate_with(authenticate_with_metadata))
            .await;
    for name in ["alice", "bob"] {
        let caller = server.v1().with_header("authorization", format!("Bearer {name}"));
        let want = format!("{name} read+write blue t0ken");
        let rpc = caller.post("/a2a", send_body("SendMessage", "hi")).await;
        assert_eq!(reply_text(rpc.json()["result"].clone()), want);
        let body = format!(r#"{{"message":{}}}"#, message("hi"));
        assert_eq!(reply_text(caller.post("/a2a/message:send", body).await.json()), want);
    }
    let unauthenticated = crate::support::start_server(Server::new(agent)).await;
    let rpc = unauthenticated.v1().post("/a2a", send_body("SendMessage", "hi")).await;
    assert_eq!(reply_text(rpc.json()["result"].clone()), "anonymous  none none");
}

#[tokio::test]
async fn task_is_visible_only_to_its_owner() {
    let server = start_server(authenticated_server()).await;
    let alice = server.v1().with_header("authorization", "Bearer alice");
    let bob = server.v1().with_header("authorization", "Bearer bob");
    let created = alice.post("/a2a", send_body("SendMessage", "hi")).await;
    let id = created.json()["result"]["task"]["id"].as_str().unwrap().to_owned();
    assert_eq!(alice.get(&format!("/a2a/tasks/{id}")).await.status, 200);
    let foreign = bob.get(&format!("/a2a/tasks/{id}")).await;
    let unknown = bob.get("/a2a/tasks/00000000-0000-0000-0000-000000000000").await;
    assert_eq!((foreign.status, unknown.status), (404, 404));
    assert_eq!(bob.get("/a2a/tasks").await.json()["totalSize"], 0);
}
