//! What is tried again, and what never is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use latimer_client::{Client, Error, Retry, says};
use latimer_protocol::TaskId;
use serde_json::{Value, json};

use crate::support::{Answer, Stub};

fn quick(idempotent_sends: bool) -> Retry {
    Retry { first_pause: Duration::from_millis(1), idempotent_sends, ..Retry::default() }
}

/// An agent whose first connections break before an answer comes.
async fn breaking(first: usize) -> Stub {
    let count = AtomicUsize::new(0);
    Stub::start(move |asked| {
        if count.fetch_add(1, Ordering::SeqCst) < first {
            return Answer::Close(String::new());
        }
        let task = json!({"id": "t1", "status": {"state": "TASK_STATE_COMPLETED"}});
        let sent = asked.body.contains("SendMessage");
        let result = if sent { json!({ "task": task }) } else { task };
        Answer::json(json!({"jsonrpc": "2.0", "id": "1", "result": result}))
    })
    .await
}

fn client(agent: &Stub, retry: Retry) -> Client {
    Client::builder(agent.url()).retry(retry).build().unwrap()
}

#[tokio::test]
async fn a_look_at_a_task_is_tried_again() {
    let agent = breaking(2).await;
    client(&agent, quick(false)).get_task(TaskId::new("t1").unwrap()).await.unwrap();
    assert_eq!(agent.asked().len(), 3);
}

#[tokio::test]
async fn a_message_that_may_have_arrived_is_not_sent_again() {
    let agent = breaking(1).await;
    let error = client(&agent, quick(false)).send(says("pay")).await.unwrap_err();
    assert!(matches!(error, Error::Lost { .. }), "{error:?}");
    assert_eq!(agent.asked().len(), 1);

    let error = client(&breaking(9).await, quick(false)).follow(says("pay")).outcome().await;
    assert!(matches!(error, Err(Error::Lost { .. })), "{error:?}");
}

#[tokio::test]
async fn a_server_that_knows_messages_again_is_sent_the_same_one() {
    let agent = breaking(2).await;
    client(&agent, quick(true)).send(says("pay")).await.unwrap();
    let ids: Vec<Value> = agent
        .asked()
        .iter()
        .map(|it| serde_json::from_str::<Value>(&it.body).unwrap())
        .map(|it| it["params"]["message"]["messageId"].clone())
        .collect();
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|it| it.is_string() && *it == ids[0]), "{ids:?}");
}

#[tokio::test]
async fn a_try_waits_as_long_as_it_is_asked_to() {
    let count = AtomicUsize::new(0);
    let agent = Stub::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => Answer::with(503, "retry-after: 1\r\n", "<h1>Away</h1>"),
        _ => {
            let task = json!({"id": "t1", "status": {"state": "TASK_STATE_COMPLETED"}});
            Answer::json(json!({"jsonrpc": "2.0", "id": "1", "result": task}))
        }
    })
    .await;
    let begun = Instant::now();
    client(&agent, quick(false)).get_task(TaskId::new("t1").unwrap()).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
}
