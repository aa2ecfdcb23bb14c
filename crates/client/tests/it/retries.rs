//! Repetition of failed calls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use latimer_client::{Client, Error, RetryPolicy, user_message};
use latimer_protocol::TaskId;
use serde_json::{Value, json};

use crate::support::{Stub, StubResponse};

fn fast_retry(idempotent_sends: bool) -> RetryPolicy {
    RetryPolicy {
        initial_backoff: Duration::from_millis(1),
        idempotent_sends,
        ..RetryPolicy::default()
    }
}

/// An agent that closes its first connections without a response.
async fn agent_breaking_connections(broken_count: usize) -> Stub {
    let count = AtomicUsize::new(0);
    Stub::start(move |request| {
        if count.fetch_add(1, Ordering::SeqCst) < broken_count {
            return StubResponse::Close(String::new());
        }
        let task = json!({"id": "t1", "status": {"state": "TASK_STATE_COMPLETED"}});
        let is_send = request.body.contains("SendMessage");
        let result = if is_send { json!({ "task": task }) } else { task };
        StubResponse::json(json!({"jsonrpc": "2.0", "id": "1", "result": result}))
    })
    .await
}

fn client(agent: &Stub, retry: RetryPolicy) -> Client {
    Client::builder(agent.url()).retry(retry).build().unwrap()
}

#[tokio::test]
async fn get_task_is_retried() {
    let agent = agent_breaking_connections(2).await;
    client(&agent, fast_retry(false)).get_task(TaskId::new("t1").unwrap()).await.unwrap();
    assert_eq!(agent.requests().len(), 3);
}

#[tokio::test]
async fn message_is_not_resent_after_connection_loss() {
    let agent = agent_breaking_connections(1).await;
    let error = client(&agent, fast_retry(false)).send(user_message("pay")).await.unwrap_err();
    assert!(matches!(error, Error::ConnectionLost { .. }), "{error:?}");
    assert_eq!(agent.requests().len(), 1);

    let result = client(&agent_breaking_connections(9).await, fast_retry(false))
        .follow(user_message("pay"))
        .result()
        .await;
    assert!(matches!(result, Err(Error::ConnectionLost { .. })), "{result:?}");
}

#[tokio::test]
async fn idempotent_send_is_retried_with_same_message_id() {
    let agent = agent_breaking_connections(2).await;
    client(&agent, fast_retry(true)).send(user_message("pay")).await.unwrap();
    let ids: Vec<Value> = agent
        .requests()
        .iter()
        .map(|it| serde_json::from_str::<Value>(&it.body).unwrap())
        .map(|it| it["params"]["message"]["messageId"].clone())
        .collect();
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|it| it.is_string() && *it == ids[0]), "{ids:?}");
}

#[tokio::test]
async fn retry_waits_for_retry_after() {
    let count = AtomicUsize::new(0);
    let agent = Stub::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => StubResponse::with_headers(503, "retry-after: 1\r\n", "<h1>Away</h1>"),
        _ => {
            let task = json!({"id": "t1", "status": {"state": "TASK_STATE_COMPLETED"}});
            StubResponse::json(json!({"jsonrpc": "2.0", "id": "1", "result": task}))
        }
    })
    .await;
    let started = Instant::now();
    client(&agent, fast_retry(false)).get_task(TaskId::new("t1").unwrap()).await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
}
