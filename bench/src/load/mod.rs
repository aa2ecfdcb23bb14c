//! Load: as many connections as are asked for, each with one call at a time, and a next one as soon
//! as the answer is there and checked.

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

/// What to do to a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Where the server listens.
    pub address: String,
    /// What is in front of every path.
    pub path: String,
    /// What is spoken.
    pub binding: Binding,
    /// What is asked for.
    pub operation: Operation,
    /// How many connections there are.
    pub connections: usize,
    /// For how long.
    pub span: Span,
    /// The server's process, whose time is counted.
    pub server_process: u32,
    /// The process that does the server's work, where that is another one.
    pub upstream_process: Option<u32>,
}

/// What is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Binding {
    /// JSON-RPC 1.0.
    JsonRpc,
    /// JSON-RPC with the method names of 0.3 around messages of 1.0, and told to block: one peer
    /// speaks so.
    HybridJsonRpc,
    /// HTTP+JSON 1.0.
    Rest,
    /// gRPC 1.0.
    Grpc,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// A message, whose answer is waited for.
    Send,
    /// A message, whose events are read to the end.
    Stream,
    /// A task that is there.
    Get,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Send, Self::Stream, Self::Get];

    /// Its name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Stream => "stream",
            Self::Get => "get",
        }
    }
}

/// How long load goes on.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Span {
    /// For so many seconds, after so many that do not count.
    Seconds {
        /// Those that do not count.
        warm_up: f64,
        /// Those that do.
        measured: f64,
    },
    /// For so many requests.
    Requests(u64),
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadResult {
    /// Answers that were right.
    pub done: u64,
    /// The time they took.
    pub seconds: f64,
    /// How many there were in a second.
    pub per_second: f64,
    /// From the first byte of a request to the last of its answer.
    pub p50_micros: f64,
    /// The same.
    pub p99_micros: f64,
    /// The same.
    pub max_micros: f64,
    /// How many took more than 5, 10 and 20 ms.
    pub over_5_10_20_ms: [u64; 3],
    /// The time that the server computed for each request.
    pub server_cpu_micros: f64,
    /// The time that the process behind it did.
    pub behind_cpu_micros: f64,
    /// The share of its core that the load itself needed.
    pub load_busy: f64,
    /// The share of both cores that was spent on something else.
    pub others: f64,
    /// Bytes of each answer, without its head.
    pub bytes: f64,
    /// Events of each stream.
    pub events: f64,
    /// Answers that were wrong, and connections that broke.
    pub errors: u64,
    /// The first of them.
    pub first_error: Option<String>,
}

impl LoadResult {
    /// Whether something else was going on.
    #[must_use]
    pub fn is_disturbed(&self) -> bool {
        self.others > 0.05
    }
}

/// Puts a server under load, and says what came of it.
///
/// # Errors
/// When it cannot begin.
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

/// What all workers share.
struct LoadState {
    plan: Plan,
    template: RequestTemplate,
    tally: RefCell<Tally>,
}

impl LoadState {
    /// The number of the next request; none when there is to be none.
    fn next_request(&self) -> Option<u64> {
        self.tally.borrow_mut().next_request()
    }

    fn record_success(&self, start: Instant, bytes: usize, events: usize) {
        self.tally.borrow_mut().record_success(start, bytes, events);
    }

    /// Counts what went wrong, and lets others have a turn: nobody is to spin.
    async fn record_failure(&self, message: impl FnOnce() -> String) {
        self.tally.borrow_mut().record_failure(message);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Makes the task that is then asked for, and returns its id.
async fn make_task(plan: &Plan, template: &RequestTemplate) -> Result<String, BenchError> {
    match plan.binding {
        Binding::Grpc => grpc::make_task(plan, template).await,
        _ => http::make_task(plan, template).await,
    }
}
