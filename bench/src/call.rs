//! Calls made with a library: ours, or an HTTP client and nothing else.

use std::rc::Rc;
use std::time::{Duration, Instant};

use latimer_client::{Client, user_message};
use latimer_protocol::{SendMessageResponse, TaskState};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::task::LocalSet;

use crate::BenchError;
use crate::process::cpu_seconds;

/// What to call with what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Where JSON-RPC of 1.0 is.
    pub url: String,
    /// With what it is called.
    pub library: Library,
    /// How many calls there are at a time.
    pub concurrency: usize,
    /// For so many seconds, after one that does not count.
    pub seconds: f64,
}

/// With what something is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Library {
    /// An HTTP client, and JSON that is read into a tree.
    Reqwest,
    /// Ours.
    Latimer,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct CallResult {
    /// Answers that were right, in a second.
    pub per_second: f64,
    /// The time that this process computed for each.
    pub cpu_micros: f64,
}

/// Calls, and says what came of it.
///
/// # Errors
/// When an answer is wrong.
pub fn run(plan: Plan) -> Result<(), BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = LocalSet::new().block_on(&runtime, measure(plan))?;
    crate::report::write_json(&result)
}

async fn measure(plan: Plan) -> Result<CallResult, BenchError> {
    let caller = Rc::new(LibraryClient::new(&plan)?);
    call_for(&caller, plan.concurrency, Duration::from_secs(1)).await?;
    let (start, before) = (Instant::now(), cpu_seconds(std::process::id()));
    let done =
        call_for(&caller, plan.concurrency, Duration::from_secs_f64(plan.seconds)).await? as f64;
    let cpu = cpu_seconds(std::process::id()) - before;
    Ok(CallResult {
        per_second: done / start.elapsed().as_secs_f64(),
        cpu_micros: cpu * 1e6 / done,
    })
}

/// Calls for so long, and returns how often.
async fn call_for(
    caller: &Rc<LibraryClient>,
    concurrency: usize,
    duration: Duration,
) -> Result<u64, BenchError> {
    let end = Instant::now() + duration;
    let workers: Vec<_> = (0..concurrency)
        .map(|worker| {
            let caller = Rc::clone(caller);
            tokio::task::spawn_local(async move {
                let mut done = 0;
                while Instant::now() < end {
                    caller.call(&format!("{worker} {done}")).await?;
                    done += 1;
                }
                Ok::<u64, BenchError>(done)
            })
        })
        .collect();
    let mut done = 0;
    for worker in workers {
        done += worker.await??;
    }
    Ok(done)
}

enum LibraryClient {
    Reqwest { client: reqwest::Client, url: String },
    Latimer(Client),
}

impl LibraryClient {
    fn new(plan: &Plan) -> Result<Self, BenchError> {
        Ok(match plan.library {
            Library::Reqwest => {
                Self::Reqwest { client: reqwest::Client::new(), url: plan.url.clone() }
            }
            Library::Latimer => Self::Latimer(Client::new(&plan.url)?),
        })
    }

    /// Sends a message, and sees that a completed task comes of it.
    async fn call(&self, text: &str) -> Result<(), BenchError> {
        let state = match self {
            Self::Reqwest { client, url } => {
                let id = uuid::Uuid::now_v7();
                let body = format!(
                    r#"{{"jsonrpc":"2.0","id":"{id}","method":"SendMessage","params":{{"message":{{"messageId":"{id}","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}}}"#
                );
                let request = client.post(url).header("content-type", "application/json");
                let response = request.header("a2a-version", "1.0").body(body).send().await?;
                let reply: Value = serde_json::from_slice(&response.bytes().await?)?;
                reply["result"]["task"]["status"]["state"].as_str().unwrap_or("none").to_owned()
            }
            Self::Latimer(client) => match client.send(user_message(text)).await? {
                SendMessageResponse::Task(task) => task.status.state.to_string(),
                SendMessageResponse::Message(_) => "a message".to_owned(),
            },
        };
        if state == TaskState::Completed.to_string() {
            return Ok(());
        }
        Err(format!("answered by {state}").into())
    }
}
