//! Callers that create tasks of every kind and retry until acknowledged, and checks of the results.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::client::{Client, ConnectionLost};

/// Xorshift generator: the same seed repeats a run.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 |= 1;
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestKind {
    /// This number of chunks, as a stream.
    Streamed(u64),
    /// This number of chunks, without waiting for them.
    Chunks(u64),
    Wait,
    Ask,
    Echo,
    Burst,
}

/// A task whose creation the server has acknowledged.
#[derive(Debug)]
struct AcknowledgedTask {
    kind: RequestKind,
    task: String,
}

pub(super) struct Workload(JoinSet<AcknowledgedTask>);

pub(super) struct FinishedWorkload(Vec<AcknowledgedTask>);

/// Maximum number of concurrent callers.
const MAX_CALLERS: usize = 8;

impl Workload {
    pub(super) fn start(client: &Client, tasks: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let permits = std::sync::Arc::new(tokio::sync::Semaphore::new(MAX_CALLERS));
        let mut callers = JoinSet::new();
        for number in 0..tasks {
            let kind = match number % 6 {
                0 => RequestKind::Streamed(5 + random.below(60)),
                1 => RequestKind::Chunks(5 + random.below(60)),
                2 => RequestKind::Wait,
                3 => RequestKind::Ask,
                4 => RequestKind::Echo,
                _ => RequestKind::Burst,
            };
            let (client, permits) = (client.clone(), permits.clone());
            callers.spawn(async move {
                let _permit = permits.acquire_owned().await.unwrap();
                let task = send_until_acknowledged(&client, number, kind).await;
                AcknowledgedTask { kind, task }
            });
        }
        Self(callers)
    }

    pub(super) async fn join(self) -> FinishedWorkload {
        FinishedWorkload(self.0.join_all().await)
    }
}

fn message(number: usize, text: &str, immediately: bool) -> Value {
    json!({
        "message": {
            "messageId": format!("survival-{number}"),
            "role": "ROLE_USER",
            "parts": [{"text": text}],
        },
        "configuration": {"returnImmediately": immediately},
    })
}

/// Sends a message until it is acknowledged and returns the id of its task.
async fn send_until_acknowledged(client: &Client, number: usize, kind: RequestKind) -> String {
    let (text, immediately) = match kind {
        RequestKind::Streamed(chunk_count) => {
            return read_whole_stream(client, number, chunk_count).await;
        }
        RequestKind::Chunks(chunk_count) => (format!("chunks {chunk_count} 20"), true),
        RequestKind::Wait => ("wait 300".to_owned(), true),
        RequestKind::Ask => (format!("ask question {number}"), false),
        RequestKind::Echo => (format!("echo {number}"), false),
        RequestKind::Burst => ("burst 50".to_owned(), false),
    };
    let sent = client.call_with_retry("SendMessage", message(number, &text, immediately)).await;
    let sent = sent.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    sent["task"]["id"].as_str().unwrap_or_else(|| panic!("{kind:?}: {sent}")).to_owned()
}

/// Reads a stream to its end, resuming after every cut. Each chunk must arrive exactly once.
async fn read_whole_stream(client: &Client, number: usize, chunk_count: u64) -> String {
    let text = format!("chunks {chunk_count} 20");
    let mut task: Option<String> = None;
    let mut last: Option<String> = None;
    let mut chunks: Vec<u64> = Vec::new();
    let mut ended = false;
    while !ended {
        let stream = match (&task, &last) {
            (Some(task), Some(last)) => {
                client.stream("SubscribeToTask", json!({"id": task}), Some(last)).await
            }
            _ => client.stream("SendStreamingMessage", message(number, &text, false), None).await,
        };
        match stream {
            Ok(mut events) => loop {
                match events.next().await {
                    Ok(Some((id, event))) => {
                        last = Some(id.expect("every event has an id"));
                        ended |= record_event(&event, &mut task, &mut chunks);
                    }
                    Ok(None) => {
                        assert!(ended, "the stream of {task:?} ended before its task, at {last:?}");
                        break;
                    }
                    Err(ConnectionLost) => break,
                }
            },
            Err(ConnectionLost) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    let want: Vec<u64> = (1..=chunk_count).collect();
    assert_eq!(chunks, want, "chunks of {task:?}");
    task.expect("the first event contains the task")
}

/// Records an event. Returns whether it is the last.
fn record_event(event: &Value, task: &mut Option<String>, chunks: &mut Vec<u64>) -> bool {
    if let Some(id) = event["task"]["id"].as_str() {
        // A complete task replaces the chunks that were read before.
        *task = Some(id.to_owned());
        *chunks = chunk_numbers(&event["task"]["artifacts"][0]);
    }
    chunks.extend(chunk_numbers(&event["artifactUpdate"]["artifact"]));
    let state = [&event["task"]["status"]["state"], &event["statusUpdate"]["status"]["state"]];
    state.iter().any(|it| *it == "TASK_STATE_COMPLETED")
}

/// Returns the numbers of the chunks in an artifact of the demo agent.
fn chunk_numbers(artifact: &Value) -> Vec<u64> {
    let parts = artifact["parts"].as_array().cloned().unwrap_or_default();
    // `chunk 3 of 7`
    let number = |part: &Value| part["text"].as_str()?.split(' ').nth(1)?.parse().ok();
    parts.iter().filter_map(number).collect()
}

impl FinishedWorkload {
    /// Checks that every acknowledged task exists with the expected result, and that none is
    /// unfinished.
    pub(super) async fn check(self, client: &Client) {
        let tasks: BTreeSet<&str> = self.0.iter().map(|it| it.task.as_str()).collect();
        assert_eq!(tasks.len(), self.0.len(), "two messages have the same task");
        for acknowledged in &self.0 {
            self.check_one(client, acknowledged).await;
        }
        for state in ["TASK_STATE_WORKING", "TASK_STATE_SUBMITTED"] {
            let page = client.call_with_retry("ListTasks", json!({"status": state})).await.unwrap();
            assert_eq!(page["totalSize"], 0, "{page}");
        }
    }

    async fn check_one(&self, client: &Client, AcknowledgedTask { kind, task }: &AcknowledgedTask) {
        let mut current = wait_until_settled(client, task).await;
        if *kind == RequestKind::Ask {
            assert_eq!(current["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{current}");
            let reply = json!({"message": {
                "messageId": format!("answer-{task}"),
                "taskId": task,
                "role": "ROLE_USER",
                "parts": [{"text": "the answer"}],
            }});
            current = client.call_with_retry("SendMessage", reply).await.unwrap()["task"].clone();
        }
        assert_eq!(current["status"]["state"], "TASK_STATE_COMPLETED", "{kind:?}: {current}");
        if let RequestKind::Streamed(chunk_count) | RequestKind::Chunks(chunk_count) = kind {
            let want: Vec<u64> = (1..=*chunk_count).collect();
            assert_eq!(chunk_numbers(&current["artifacts"][0]), want, "{current}");
        }
    }
}

/// Waits until a task is settled and returns it. Panics after 10 seconds.
async fn wait_until_settled(client: &Client, task: &str) -> Value {
    for _ in 0..500 {
        let current = client.call_with_retry("GetTask", json!({"id": task})).await;
        let current = current.unwrap_or_else(|error| panic!("{task}: {error}"));
        let state = current["status"]["state"].as_str().unwrap_or_default();
        if !["TASK_STATE_WORKING", "TASK_STATE_SUBMITTED"].contains(&state) {
            return current;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{task} is not settled");
}
