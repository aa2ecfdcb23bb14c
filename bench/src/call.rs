//! Calls made with a library: ours, or an HTTP client and nothing else.

use std::rc::Rc;
use std::time::{Duration, Instant};

use latimer_client::{Client, user_message};
use latimer_protocol::{SendMessageResponse, TaskState};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::task::LocalSet;

use crate::Failure;
use crate::process::cpu_seconds;

/// What to call with what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Where JSON-RPC of 1.0 is.
    pub url: String,
    /// With what it is called.
    pub library: Library,
    /// How many calls there are at a time.
    pub at_once: usize,
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
pub struct Outcome {
    /// Answers that were right, in a second.
    pub per_second: f64,
    /// The time that this process computed for each.
    pub cpu_micros: f64,
}

/// Calls, and says what came of it.
///
/// # Errors
/// When an answer is wrong.
pub fn run(plan: Plan) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = LocalSet::new().block_on(&runtime, call(plan))?;
    crate::report::say(&outcome)
}

async fn call(plan: Plan) -> Result<Outcome, Failure> {
    let caller = Rc::new(Caller::new(&plan)?);
    spend(&caller, plan.at_once, Duration::from_secs(1)).await?;
    let (begin, before) = (Instant::now(), cpu_seconds(std::process::id()));
    let done = spend(&caller, plan.at_once, Duration::from_secs_f64(plan.seconds)).await? as f64;
    let cpu = cpu_seconds(std::process::id()) - before;
    Ok(Outcome { per_second: done / begin.elapsed().as_secs_f64(), cpu_micros: cpu * 1e6 / done })
}

/// Calls for so long, and returns how often.
async fn spend(caller: &Rc<Caller>, at_once: usize, time: Duration) -> Result<u64, Failure> {
    let end = Instant::now() + time;
    let workers: Vec<_> = (0..at_once)
        .map(|worker| {
            let caller = Rc::clone(caller);
            tokio::task::spawn_local(async move {
                let mut done = 0;
                while Instant::now() < end {
                    caller.call(&format!("{worker} {done}")).await?;
                    done += 1;
                }
                Ok::<u64, Failure>(done)
            })
        })
        .collect();
    let mut done = 0;
    for worker in workers {
        done += worker.await??;
    }
    Ok(done)
}

enum Caller {
    Reqwest { client: reqwest::Client, url: String },
    Latimer(Client),
}

impl Caller {
    fn new(plan: &Plan) -> Result<Self, Failure> {
        Ok(match plan.library {
            Library::Reqwest => {
                Self::Reqwest { client: reqwest::Client::new(), url: plan.url.clone() }
            }
            Library::Latimer => Self::Latimer(Client::new(&plan.url)?),
        })
    }

    /// Sends a message, and sees that a completed task comes of it.
    async fn call(&self, text: &str) -> Result<(), Failure> {
        let state = match self {
            Self::Reqwest { client, url } => {
                let id = uuid::Uuid::now_v7();
                let body = format!(
                    r#"{{"jsonrpc":"2.0","id":"{id}","method":"SendMessage","params":{{"message":{{"messageId":"{id}","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}}}"#
                );
                let request = client.post(url).header("content-type", "application/json");
                let answer = request.header("a2a-version", "1.0").body(body).send().await?;
                let answer: Value = serde_json::from_slice(&answer.bytes().await?)?;
                answer["result"]["task"]["status"]["state"].as_str().unwrap_or("none").to_owned()
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
