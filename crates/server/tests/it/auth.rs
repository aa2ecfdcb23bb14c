//! Who asks.

use http::HeaderMap;
use latimer_protocol::Caller;
use latimer_server::{Server, Settings};
use serde_json::json;

use crate::support::{agent, send, site};

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
