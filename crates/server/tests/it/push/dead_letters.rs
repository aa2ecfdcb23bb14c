//! Access to the dead letter API.

use http::{HeaderMap, Method};
use latimer_protocol::Caller;
use latimer_server::{OPERATOR_SCOPE, PushSettings, Server};

use super::{Receiver, send_with_webhook, short_timeouts, webhook_at, webhook_server};
use crate::support::{TestClient, TestServer, start_server};

const DEAD: &str = "/api/push/dead";

/// Starts a server with one dead letter and returns the id of the dead letter.
async fn server_with_dead_letter(
    server: Server,
    as_operator: impl Fn(&TestClient) -> TestClient,
) -> (TestServer, String) {
    let receiver =
        Receiver::with_behavior(|number| Some(if number == 0 { 500 } else { 200 })).await;
    let server = start_server(server).await;
    let operator = as_operator(&server);
    operator
        .v1()
        .post("/a2a", send_with_webhook("one", &webhook_at(&receiver.url("/")), false))
        .await;
    receiver.wait_accepted(3).await;
    let dead_letters = operator.get(DEAD).await.json();
    let id = dead_letters["letters"][0]["id"].as_str().unwrap().to_owned();
    (server, id)
}

fn single_attempt() -> PushSettings {
    PushSettings { max_attempts: 1, ..short_timeouts() }
}

#[tokio::test]
async fn loopback_callers_manage_dead_letters_but_pages_cannot() {
    let (server, id) =
        server_with_dead_letter(webhook_server(single_attempt()), Clone::clone).await;
    for foreign in [
        server.with_header("host", "evil.example"),
        server.with_header("origin", "http://evil.example"),
    ] {
        assert_eq!(foreign.get(DEAD).await.status, 403);
        assert_eq!(foreign.send(Method::DELETE, &format!("{DEAD}/{id}"), "").await.status, 403);
        assert_eq!(foreign.post(&format!("{DEAD}/{id}/replay"), "").await.status, 403);
    }
    assert_eq!(server.get(DEAD).await.json()["letters"].as_array().unwrap().len(), 1);
    let replayed = server.post(&format!("{DEAD}/{id}/replay"), "").await;
    assert_eq!(replayed.json()["delivered"], true, "{}", replayed.text());
    assert_eq!(server.send(Method::DELETE, &format!("{DEAD}/{id}"), "").await.status, 404);
    for path in [&format!("{DEAD}/{id}/else"), &format!("{DEAD}/{id}")] {
        assert_eq!(server.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn authenticated_server_reserves_dead_letters_for_operators() {
    let authenticate = |headers: &HeaderMap| match headers.get("authorization")?.to_str().ok()? {
        "Bearer operator" => Some(Caller::new("operator").with_scopes([OPERATOR_SCOPE])),
        "Bearer caller" => Some(Caller::new("caller").with_scopes(["latimer:other"])),
        _ => None,
    };
    let operator = |it: &TestClient| it.with_header("authorization", "Bearer operator");
    let (server, id) = server_with_dead_letter(
        webhook_server(single_attempt()).authenticate_with(authenticate),
        operator,
    )
    .await;
    for (authorization, want) in [("Bearer caller", 403), ("Bearer wrong", 401), ("", 401)] {
        let caller = server.with_header("authorization", authorization);
        assert_eq!(caller.get(DEAD).await.status, want, "{authorization}");
        let deleted = caller.send(Method::DELETE, &format!("{DEAD}/{id}"), "").await;
        assert_eq!(deleted.status, want, "{authorization}");
        assert!(!deleted.text().contains("letter"), "{}", deleted.text());
    }
    let deleted = operator(&server).send(Method::DELETE, &format!("{DEAD}/{id}"), "").await;
    assert_eq!((deleted.status, &deleted.json()["dropped"]), (200, &true.into()));
}

#[tokio::test]
async fn remote_anonymous_caller_cannot_read_dead_letters() {
    let running = webhook_server(single_attempt()).bind("0.0.0.0:0").listen().await.unwrap();
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], running.address().port()));
    assert_eq!(TestClient::new(address).get(DEAD).await.status, 403);
}
