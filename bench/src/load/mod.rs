//! Load generator with a closed loop: each connection has one call in flight, and makes the next one
//! as soon as the response has been checked.
//!
//! | module | contents |
//! | --- | --- |
//! | `http`, `grpc` | workers of each transport |
//! | `request_template` | requests, and the check of responses |
//! | `tally` | counters and latencies of the measured interval |

mod grpc;
mod http;
mod request_template;
mod tally;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tokio::task::LocalSet;

pub(crate) use self::request_template::RequestTemplate;
use self::tally::Tally;
use crate::BenchError;

/// Server, operation and amount of load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Socket address of the server.
    pub address: String,
    /// Path of the JSON-RPC endpoint, or prefix of HTTP+JSON paths.
    pub path: String,
    /// Binding to call with.
    pub binding: Binding,
    /// Operation to call.
    pub operation: Operation,
    /// Number of connections.
    pub connections: usize,
    /// Duration or number of requests.
    pub span: Span,
    /// Process id of the server, for its CPU time.
    pub server_process: u32,
    /// Process id of the upstream agent, if the server is a gateway or proxy.
    pub upstream_process: Option<u32>,
}

/// Binding that the load uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Binding {
    /// JSON-RPC 1.0.
    JsonRpc,
    /// JSON-RPC with method names of 0.3, messages of 1.0 and an explicitly blocking send, which one
    /// peer requires.
    HybridJsonRpc,
    /// HTTP+JSON 1.0.
    Rest,
    /// gRPC 1.0.
    Grpc,
}

/// Operation that the load calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Send a message and wait for the task.
    Send,
    /// Send a message and read all events.
    Stream,
    /// Fetch a completed task.
    Get,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 3] = [Self::Send, Self::Stream, Self::Get];

    /// Returns the name in reports and options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Stream => "stream",
            Self::Get => "get",
        }
    }
}

/// Amount of load.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Span {
    /// Fixed duration.
    Seconds {
        /// Seconds before the measurement starts.
        warm_up: f64,
        /// Measured seconds.
        measured: f64,
    },
    /// Fixed number of requests, all of which are measured.
    Requests(u64),
}

/// Throughput, latency and CPU time of the measured interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadResult {
    /// Correct responses.
    pub done: u64,
    /// Length of the measured interval in seconds.
    pub seconds: f64,
    /// Correct responses per second.
    pub per_second: f64,
    /// Median latency in microseconds, from the first byte of a request to the last of its response.
    pub p50_micros: f64,
    /// 99th percentile of the latency in microseconds.
    pub p99_micros: f64,
    /// Maximum latency in microseconds.
    pub max_micros: f64,
    /// Numbers of responses that took longer than 5, 10 and 20 ms.
    pub over_5_10_20_ms: [u64; 3],
    /// CPU time of the server per request, in microseconds.
    pub server_cpu_micros: f64,
    /// CPU time of the upstream process per request, in microseconds.
    #[serde(rename = "behind_cpu_micros")]
    pub upstream_cpu_micros: f64,
    /// Share of its core that the load generator used.
    pub load_busy: f64,
    /// Share of both cores that other processes used.
    #[serde(rename = "others")]
    pub other_cpu_share: f64,
    /// Mean size of a response body in bytes.
    pub bytes: f64,
    /// Mean number of events of a stream.
    pub events: f64,
    /// Incorrect responses and broken connections.
    pub errors: u64,
    /// Text of the first error.
    pub first_error: Option<String>,
}

impl LoadResult {
    /// Returns whether other processes used more than 5 % of the two cores.
    #[must_use]
    pub fn is_disturbed(&self) -> bool {
        self.other_cpu_share > 0.05
    }
}

/// Runs the load, and writes a [`LoadResult`] as a line of JSON to standard output.
///
/// # Errors
/// Fails if the task for [`Operation::Get`] cannot be created. Failed requests are counted instead.
pub fn run(plan: Plan) -> Result<(), BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = LocalSet::new().block_on(&runtime, load(plan))?;
    crate::report::write_json(&result)
}

async fn load(plan: Plan) -> Result<LoadResult, BenchError> {
    let template =
        RequestTemplate::new(&plan, SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos());
    let task_id = match plan.operation {
        Operation::Get => make_task(&plan, &template).await?,
        Operation::Send | Operation::Stream => String::new(),
    };
    let state = Rc::new(LoadState {
        template: template.with_task_id(task_id),
        tally: RefCell::new(Tally::new(plan.span)),
        plan,
    });
    let mut workers = Vec::new();
    for _ in 0..state.plan.connections {
        workers.push(match state.plan.binding {
            Binding::Grpc => tokio::task::spawn_local(grpc::run_worker(Rc::clone(&state))),
            _ => tokio::task::spawn_local(http::run_worker(Rc::clone(&state))),
        });
    }
    if let Span::Seconds { warm_up, measured } = state.plan.span {
        tokio::time::sleep(Duration::from_secs_f64(warm_up)).await;
        state.tally.borrow_mut().start_measuring(&state.plan);
        tokio::time::sleep(Duration::from_secs_f64(measured)).await;
        state.tally.borrow_mut().stop_measuring(&state.plan);
    } else {
        state.tally.borrow_mut().start_measuring(&state.plan);
    }
    for worker in workers {
        worker.await?;
    }
    state.tally.borrow_mut().stop_measuring(&state.plan);
    let result = state.tally.borrow().result();
    Ok(result)
}

/// State shared by all workers.
struct LoadState {
    plan: Plan,
    template: RequestTemplate,
    tally: RefCell<Tally>,
}

impl LoadState {
    /// Returns the number of the next request; `None` when the load has ended.
    fn next_request(&self) -> Option<u64> {
        self.tally.borrow_mut().next_request()
    }

    fn record_success(&self, start: Instant, bytes: usize, events: usize) {
        self.tally.borrow_mut().record_success(start, bytes, events);
    }

    /// Counts an error, and pauses so that a failing worker does not spin.
    async fn record_failure(&self, message: impl FnOnce() -> String) {
        self.tally.borrow_mut().record_failure(message);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Creates the task that [`Operation::Get`] fetches, and returns its id.
async fn make_task(plan: &Plan, template: &RequestTemplate) -> Result<String, BenchError> {
    match plan.binding {
        Binding::Grpc => grpc::make_task(plan, template).await,
        _ => http::make_task(plan, template).await,
    }
}
