//! Tasks of every kind, asked for by callers that do not give up, and what must be left of them.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::client::{Client, Cut};

/// xorshift, so that a run can be repeated.
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

/// What a caller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Pieces, as a stream.
    Streamed(u64),
    /// Pieces, without waiting.
    Chunks(u64),
    Wait,
    Ask,
    Echo,
    Burst,
}

/// What a caller was told: this must hold whatever happened since.
#[derive(Debug)]
struct Acknowledged {
    kind: Kind,
    task: String,
}

pub(super) struct Workload(JoinSet<Acknowledged>);

pub(super) struct Done(Vec<Acknowledged>);

/// How many callers there are at a time.
const CALLERS: usize = 8;

impl Workload {
    pub(super) fn start(client: &Client, tasks: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let places = std::sync::Arc::new(tokio::sync::Semaphore::new(CALLERS));
        let mut callers = JoinSet::new();
        for number in 0..tasks {
            let kind = match number % 6 {
                0 => Kind::Streamed(5 + random.below(60)),
                1 => Kind::Chunks(5 + random.below(60)),
                2 => Kind::Wait,
                3 => Kind::Ask,
                4 => Kind::Echo,
                _ => Kind::Burst,
            };
            let (client, places) = (client.clone(), places.clone());
            callers.spawn(async move {
                let _place = places.acquire_owned().await.unwrap();
                let task = ask(&client, number, kind).await;
                Acknowledged { kind, task }
            });
        }
        Self(callers)
    }

    pub(super) async fn join(self) -> Done {
        Done(self.0.join_all().await)
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

/// Asks until there is an acknowledgement, and returns the task it names.
async fn ask(client: &Client, number: usize, kind: Kind) -> String {
    let (text, immediately) = match kind {
        Kind::Streamed(pieces) => return follow(client, number, pieces).await,
        Kind::Chunks(pieces) => (format!("chunks {pieces} 20"), true),
        Kind::Wait => ("wait 300".to_owned(), true),
        Kind::Ask => (format!("ask question {number}"), false),
        Kind::Echo => (format!("echo {number}"), false),
        Kind::Burst => ("burst 50".to_owned(), false),
    };
    let sent = client.insist("SendMessage", message(number, &text, immediately)).await;
    let sent = sent.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
    sent["task"]["id"].as_str().unwrap_or_else(|| panic!("{kind:?}: {sent}")).to_owned()
}

/// Reads a stream to its end, however often it is cut: each piece must come exactly once.
async fn follow(client: &Client, number: usize, pieces: u64) -> String {
    let text = format!("chunks {pieces} 20");
    let mut task: Option<String> = None;
    let mut last: Option<String> = None;
    let mut seen: Vec<u64> = Vec::new();
    let mut ended = false;
    while !ended {
        let opened = match (&task, &last) {
            (Some(task), Some(last)) => {
                client.stream("SubscribeToTask", json!({"id": task}), Some(last)).await
            }
            _ => client.stream("SendStreamingMessage", message(number, &text, false), None).await,
        };
        match opened {
            Ok(mut events) => loop {
                match events.next().await {
                    Ok(Some((id, event))) => {
                        last = Some(id.expect("every event has an id"));
                        ended |= note(&event, &mut task, &mut seen);
                    }
                    Ok(None) => {
                        assert!(ended, "the stream of {task:?} ended before its task, at {last:?}");
                        break;
                    }
                    Err(Cut) => break,
                }
            },
            Err(Cut) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    let want: Vec<u64> = (1..=pieces).collect();
    assert_eq!(seen, want, "the pieces of {task:?}");
    task.expect("a stream begins with its task")
}

/// Takes note of an event; true when it is the last.
fn note(event: &Value, task: &mut Option<String>, seen: &mut Vec<u64>) -> bool {
    if let Some(id) = event["task"]["id"].as_str() {
        // The task as it stands: all that there is so far.
        *task = Some(id.to_owned());
        *seen = pieces_of(&event["task"]["artifacts"][0]);
    }
    seen.extend(pieces_of(&event["artifactUpdate"]["artifact"]));
    let state = [&event["task"]["status"]["state"], &event["statusUpdate"]["status"]["state"]];
    state.iter().any(|it| *it == "TASK_STATE_COMPLETED")
}

/// The numbers of the pieces in an artifact of the demo agent.
fn pieces_of(artifact: &Value) -> Vec<u64> {
    let parts = artifact["parts"].as_array().cloned().unwrap_or_default();
    // `chunk 3 of 7`
    let number = |part: &Value| part["text"].as_str()?.split(' ').nth(1)?.parse().ok();
    parts.iter().filter_map(number).collect()
}

impl Done {
    /// Every acknowledged task is there, is what it must be, and nobody pretends to work on it.
    pub(super) async fn check(self, client: &Client) {
        let tasks: BTreeSet<&str> = self.0.iter().map(|it| it.task.as_str()).collect();
        assert_eq!(tasks.len(), self.0.len(), "two messages, one task");
        for acknowledged in &self.0 {
            self.check_one(client, acknowledged).await;
        }
        for state in ["TASK_STATE_WORKING", "TASK_STATE_SUBMITTED"] {
            let page = client.insist("ListTasks", json!({"status": state})).await.unwrap();
            assert_eq!(page["totalSize"], 0, "{page}");
        }
    }

    async fn check_one(&self, client: &Client, Acknowledged { kind, task }: &Acknowledged) {
        let mut found = settled(client, task).await;
        if *kind == Kind::Ask {
            assert_eq!(found["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{found}");
            let answer = json!({"message": {
                "messageId": format!("answer-{task}"),
                "taskId": task,
                "role": "ROLE_USER",
                "parts": [{"text": "the answer"}],
            }});
            found = client.insist("SendMessage", answer).await.unwrap()["task"].clone();
        }
        assert_eq!(found["status"]["state"], "TASK_STATE_COMPLETED", "{kind:?}: {found}");
        if let Kind::Streamed(pieces) | Kind::Chunks(pieces) = kind {
            let want: Vec<u64> = (1..=*pieces).collect();
            assert_eq!(pieces_of(&found["artifacts"][0]), want, "{found}");
        }
    }
}

/// The task when it neither waits nor works, which must be soon.
async fn settled(client: &Client, task: &str) -> Value {
    for _ in 0..500 {
        let found = client.insist("GetTask", json!({"id": task})).await;
        let found = found.unwrap_or_else(|error| panic!("{task}: {error}"));
        let state = found["status"]["state"].as_str().unwrap_or_default();
        if !["TASK_STATE_WORKING", "TASK_STATE_SUBMITTED"].contains(&state) {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{task} is worked on by nobody");
}
