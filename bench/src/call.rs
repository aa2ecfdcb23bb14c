//! Load generator that calls a server with a client library.

use std::rc::Rc;
use std::time::{Duration, Instant};

use latimer_client::{Client, user_message};
use latimer_protocol::{SendMessageResponse, TaskState};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::task::LocalSet;

use crate::BenchError;
use crate::process::cpu_seconds;

/// Endpoint, library and amount of load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// URL of a JSON-RPC 1.0 endpoint.
    pub url: String,
    /// Library to call with.
    pub library: Library,
    /// Number of concurrent calls.
    pub concurrency: usize,
    /// Measured duration in seconds, after a warm-up of one second.
    pub seconds: f64,
}

/// Library that makes the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Library {
    /// `reqwest`, with responses parsed into a `serde_json::Value`.
    Reqwest,
    /// `latimer-client`.
    Latimer,
}

/// Throughput and CPU time of the calling process.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct CallResult {
    /// Correct responses per second.
    pub per_second: f64,
    /// CPU time of this process per call, in microseconds.
    pub cpu_micros: f64,
}

/// Runs the calls, and writes a [`CallResult`] as a line of JSON to standard output.
///
/// # Errors
/// Fails if a call fails or its response is not a completed task.
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

/// Makes calls for `duration`, and returns their number.
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

    /// Sends a message, and checks that the response is a completed task.
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
                SendMessageResponse::Message(_) => "direct reply".to_owned(),
            },
        };
        if state == TaskState::Completed.to_string() {
            return Ok(());
        }
        Err(format!("expected a completed task, got {state}").into())
    }
}
