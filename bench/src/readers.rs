//! Load generator with many stream readers of one task over sockets, some of them slow. Every
//! reader checks that it receives the complete log in order.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use memchr::{memchr, memmem};
use serde::{Deserialize, Serialize};
use tokio::task::LocalSet;

use crate::BenchError;
use crate::histogram::Histogram;
use crate::hold_open::{self, Resource, task_id};
use crate::http::Connection;
use crate::server_under_test::{Pace, parse_tick};

/// Server, number of readers, and amount of data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Socket address of the server, whose agent is a [`worker_agent`](crate::server_under_test::worker_agent).
    pub address: String,
    /// Path of the JSON-RPC endpoint.
    pub path: String,
    /// Number of readers.
    pub readers: usize,
    /// Number of slow readers among them.
    pub slow: usize,
    /// Number of ticks that the agent writes.
    pub ticks: u32,
    /// Ticks per second.
    pub rate: u32,
}

/// Completeness and latency of the streams.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReadersResult {
    /// Readers that received every tick in order.
    pub complete: usize,
    /// First failure of the other readers.
    pub problem: Option<String>,
    /// Timing of the writer.
    pub pace: Pace,
    /// Seconds from the start of the writer until every reader was complete.
    pub seconds: f64,
    /// Ticks received by all readers together.
    #[serde(rename = "pieces")]
    pub received_ticks: u64,
    /// HTTP chunks in which they were received.
    pub chunks: u64,
    /// Median age in microseconds of a tick on arrival at a reader that is not slow.
    pub p50_micros: f64,
    /// 99th percentile of that age.
    pub p99_micros: f64,
    /// Maximum of that age.
    pub max_micros: f64,
    /// Ticks that the slowest reader had not received when the writer finished.
    #[serde(rename = "behind")]
    pub max_lag_ticks: u32,
}

/// Pause of a slow reader after each read.
const SLOW_READER_PAUSE: Duration = Duration::from_millis(100);
/// Receive buffer of a slow reader, in bytes.
const SLOW_READER_RECV_BUFFER: u32 = 4 * 1024;

/// Starts a task that writes ticks, reads it, and writes a [`ReadersResult`] as a line of JSON to
/// standard output.
///
/// # Errors
/// Fails if the task cannot be started or a reader cannot connect.
pub fn run(plan: Plan) -> Result<(), BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = LocalSet::new().block_on(&runtime, run_readers(plan))?;
    crate::report::write_json(&result)
}

/// State shared by all readers.
struct Shared {
    ticks: u32,
    latency: RefCell<Histogram>,
    pace: Cell<Option<Pace>>,
    max_lag_ticks: Cell<u32>,
    result: RefCell<ReadersResult>,
}

async fn run_readers(plan: Plan) -> Result<ReadersResult, BenchError> {
    let request_plan = hold_open::Plan {
        address: plan.address.clone(),
        path: plan.path.clone(),
        resource: Resource::Connections(0),
    };
    let mut control = Connection::open(&plan.address, None).await?;
    let tick_message =
        request_plan.immediate_message(&format!("tick {} {}", plan.ticks, plan.rate), 0);
    let task = task_id(control.exchange(tick_message.as_bytes()).await?.body)?;
    let shared = Rc::new(Shared {
        ticks: plan.ticks,
        latency: RefCell::default(),
        pace: Cell::new(None),
        max_lag_ticks: Cell::new(0),
        result: RefCell::default(),
    });
    let request = request_plan.request("SubscribeToTask", &format!(r#"{{"id":"{task}"}}"#));
    let mut readers = Vec::new();
    for number in 0..plan.readers {
        let slow = number < plan.slow;
        let mut connection =
            Connection::open(&plan.address, slow.then_some(SLOW_READER_RECV_BUFFER)).await?;
        connection.start_stream(request.as_bytes()).await?;
        let reader =
            Reader { connection, slow, shared: Rc::clone(&shared), next_tick: 1, last_event_id: 0 };
        readers.push(tokio::task::spawn_local(reader.read()));
    }
    let start = Instant::now();
    control.exchange(request_plan.immediate_message("go", 0).as_bytes()).await?;
    for reader in readers {
        reader.await?;
    }
    let seconds = start.elapsed().as_secs_f64();
    if plan.readers == 0 {
        shared.pace.set(Some(wait_for_pace(&plan, &request_plan, &task, &mut control).await?));
    }
    let latency = shared.latency.borrow();
    let result = shared.result.take();
    Ok(ReadersResult {
        pace: shared.pace.get().unwrap_or_default(),
        seconds,
        p50_micros: latency.quantile_micros(0.5),
        p99_micros: latency.quantile_micros(0.99),
        max_micros: latency.max_micros(),
        max_lag_ticks: shared.max_lag_ticks.get(),
        ..result
    })
}

/// Waits until a task without readers has finished.
async fn wait_for_pace(
    plan: &Plan,
    request_plan: &hold_open::Plan,
    task: &str,
    control: &mut Connection,
) -> Result<Pace, BenchError> {
    tokio::time::sleep(Duration::from_secs(1) / plan.rate * plan.ticks).await;
    let request = request_plan.request("GetTask", &format!(r#"{{"id":"{task}"}}"#));
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let response = control.exchange(request.as_bytes()).await?;
        if let Some(pace) = find_texts(response.body).find_map(Pace::parse) {
            return Ok(pace);
        }
    }
}

struct Reader {
    connection: Connection,
    slow: bool,
    shared: Rc<Shared>,
    /// Number of the next tick.
    next_tick: u32,
    /// Id of the last event.
    last_event_id: u64,
}

impl Reader {
    async fn read(mut self) {
        let read_result = self.read_all().await;
        let mut result = self.shared.result.borrow_mut();
        result.received_ticks += u64::from(self.next_tick - 1);
        result.chunks += self.connection.chunk_count();
        match read_result {
            Ok(()) => result.complete += 1,
            Err(problem) => {
                result.problem.get_or_insert(problem.to_string());
            }
        }
    }

    async fn read_all(&mut self) -> Result<(), BenchError> {
        let mut body = Vec::new();
        let (mut first, mut pausing) = (true, self.slow);
        loop {
            let has_more = self.connection.read_more(&mut body).await?;
            let mut consumed = 0;
            while let Some(end) = memmem::find(&body[consumed..], b"\n\n") {
                let event = &body[consumed..consumed + end];
                consumed += end + 2;
                // The initial snapshot of the task and comments contain no tick.
                if memmem::find(event, b"data:").is_some() && !std::mem::take(&mut first) {
                    self.apply_event(event)?;
                }
            }
            body.drain(..consumed);
            if !has_more {
                break;
            }
            if pausing {
                tokio::time::sleep(SLOW_READER_PAUSE).await;
                pausing = self.shared.pace.get().is_none();
                if !pausing {
                    let lag = self.shared.ticks + 1 - self.next_tick;
                    self.shared.max_lag_ticks.set(lag.max(self.shared.max_lag_ticks.get()));
                }
            }
        }
        match self.next_tick - 1 {
            ticks if ticks == self.shared.ticks => Ok(()),
            ticks => Err(format!("the stream ended after {ticks} ticks").into()),
        }
    }

    fn apply_event(&mut self, event: &[u8]) -> Result<(), BenchError> {
        let id = memmem::find(event, b"id:").map(|it| &event[it + 3..]).ok_or("no id")?;
        let id = &id[..memchr(b'\n', id).unwrap_or(id.len())];
        let id: u64 = std::str::from_utf8(id)?.trim().parse()?;
        if id <= self.last_event_id {
            return Err(format!("event {id} after event {}", self.last_event_id).into());
        }
        self.last_event_id = id;
        let Some(text) = find_texts(event).next() else { return Ok(()) };
        if let Some(pace) = Pace::parse(text) {
            self.shared.pace.set(Some(pace));
            return Ok(());
        }
        let (number, age) = parse_tick(text).ok_or_else(|| format!("malformed tick: {text}"))?;
        if number != self.next_tick {
            return Err(format!("expected tick {}, got {number}", self.next_tick).into());
        }
        self.next_tick += 1;
        if !self.slow {
            self.shared.latency.borrow_mut().record(age);
        }
        Ok(())
    }
}

/// Finds all text parts in a JSON document without parsing it.
fn find_texts(document: &[u8]) -> impl Iterator<Item = &str> {
    memmem::find_iter(document, br#""text":""#).filter_map(move |start| {
        let text = &document[start + 8..];
        std::str::from_utf8(&text[..memchr(b'"', text)?]).ok()
    })
}
