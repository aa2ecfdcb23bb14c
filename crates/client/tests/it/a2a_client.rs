//! `A2aClient`, which takes a URL with every call.

use latimer_client::{A2aClient, Error};
use latimer_protocol::TaskState;
use serde_json::{Value, json};

use crate::support::{Stub, StubResponse, demo};

#[tokio::test]
async fn agents_are_discovered_and_sent_tasks() {
    let server = demo().await;
    let url = format!("http://{}/a2a", server.address());
    let client = A2aClient::new();
    assert_eq!(client.discover(&url).await.unwrap().name, "demo");
    let task = client.send_task(&url, "echo hello", Some("session-123")).await.unwrap();
    assert_eq!((task.status.state, task.text().as_str()), (TaskState::Completed, "hello"));
    assert_eq!(task.context_id.as_ref().unwrap().as_str(), "session-123");
    let fetched = client.get_task(&url, task.id.as_str()).await.unwrap();
    assert_eq!(fetched.text(), "hello");
    let error = client.get_task(&url, "none").await.unwrap_err();
    assert!(matches!(error, Error::Agent(_)), "{error}");
}

#[tokio::test]
async fn responses_are_read_with_and_without_an_envelope() {
    let task = json!({
        "id": "t1", "sessionId": "s1", "status": "completed",
        "messages": [], "artifacts": [{"parts": [{"type": "text", "text": "done"}]}],
    });
    for body in [task.clone(), json!({"jsonrpc": "2.0", "id": 1, "result": task})] {
        let stub = Stub::start(move |_| StubResponse::json(&body)).await;
        let url = format!("{}/a2a", stub.url());
        let task = A2aClient::new().send_task(&url, "Analyze this", Some("s1")).await.unwrap();
        assert_eq!((task.status.state, task.text().as_str()), (TaskState::Completed, "done"));
        let request: Value = serde_json::from_str(&stub.requests()[0].body).unwrap();
        assert_eq!(request["method"], "tasks/send");
        assert_eq!(request["params"]["sessionId"], "s1");
        let message = json!({"role": "user", "parts": [{"type": "text", "text": "Analyze this"}]});
        assert_eq!(request["params"]["message"], message);
    }
}
