//! Many readers of one task over sockets, some of them slow: everybody gets the whole log in order.

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
use crate::server_under_test::{Pace, parse_piece};

/// Who reads what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Where the server listens; a [`worker_agent`](crate::server_under_test::worker_agent) is behind it.
    pub address: String,
    /// Where JSON-RPC is.
    pub path: String,
    /// How many read.
    pub readers: usize,
    /// How many of those read slowly.
    pub slow: usize,
    /// How many pieces are made.
    pub pieces: u32,
    /// How many of them in a second.
    pub rate: u32,
}

/// What came of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReadersResult {
    /// Readers that got everything in order.
    pub complete: usize,
    /// Why the first of the others did not.
    pub problem: Option<String>,
    /// How the writer fared.
    pub pace: Pace,
    /// From the first piece until every reader had everything.
    pub seconds: f64,
    /// Pieces that arrived, at all readers together.
    pub pieces: u64,
    /// Chunks of HTTP in which they arrived.
    pub chunks: u64,
    /// How old a piece was when it arrived at a reader that is not slow.
    pub p50_micros: f64,
    /// The same.
    pub p99_micros: f64,
    /// The same.
    pub max_micros: f64,
    /// How many pieces the slowest reader had to catch up on when the writer was done.
    pub behind: u32,
}

/// A slow reader rests this long whenever it has read something; and the system keeps little for it.
const SLOW_READER_PAUSE: Duration = Duration::from_millis(100);
const SLOW_READER_RECV_BUFFER: u32 = 4 * 1024;

/// Has a task written and read, and says what came of it.
///
/// # Errors
/// When it cannot begin.
pub fn run(plan: Plan) -> Result<(), BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = LocalSet::new().block_on(&runtime, run_readers(plan))?;
    crate::report::write_json(&result)
}

/// What readers share.
struct Shared {
    pieces: u32,
    latency: RefCell<Histogram>,
    pace: Cell<Option<Pace>>,
    behind: Cell<u32>,
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
        request_plan.immediate_message(&format!("tick {} {}", plan.pieces, plan.rate), 0);
    let task = task_id(control.exchange(tick_message.as_bytes()).await?.body)?;
    let shared = Rc::new(Shared {
        pieces: plan.pieces,
        latency: RefCell::default(),
        pace: Cell::new(None),
        behind: Cell::new(0),
        result: RefCell::default(),
    });
    let request = request_plan.request("SubscribeToTask", &format!(r#"{{"id":"{task}"}}"#));
    let mut readers = Vec::new();
    for number in 0..plan.readers {
        let slow = number < plan.slow;
        let mut connection =
            Connection::open(&plan.address, slow.then_some(SLOW_READER_RECV_BUFFER)).await?;
        connection.start_stream(request.as_bytes()).await?;
        let reader = Reader {
            connection,
            slow,
            shared: Rc::clone(&shared),
            next_piece: 1,
            last_event_id: 0,
        };
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
        behind: shared.behind.get(),
        ..result
    })
}

/// Waits until a task that nobody reads is done.
async fn wait_for_pace(
    plan: &Plan,
    request_plan: &hold_open::Plan,
    task: &str,
    control: &mut Connection,
) -> Result<Pace, BenchError> {
    tokio::time::sleep(Duration::from_secs(1) / plan.rate * plan.pieces).await;
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
    /// The number of the piece that comes next.
    next_piece: u32,
    /// The id of the last event.
    last_event_id: u64,
}

impl Reader {
    async fn read(mut self) {
        let read_result = self.read_all().await;
        let mut result = self.shared.result.borrow_mut();
        result.pieces += u64::from(self.next_piece - 1);
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
        let (mut first, mut resting) = (true, self.slow);
        loop {
            let has_more = self.connection.read_more(&mut body).await?;
            let mut consumed = 0;
            while let Some(end) = memmem::find(&body[consumed..], b"\n\n") {
                let event = &body[consumed..consumed + end];
                consumed += end + 2;
                // The task as it stands, and comments, are no pieces.
                if memmem::find(event, b"data:").is_some() && !std::mem::take(&mut first) {
                    self.apply_event(event)?;
                }
            }
            body.drain(..consumed);
            if !has_more {
                break;
            }
            if resting {
                tokio::time::sleep(SLOW_READER_PAUSE).await;
                resting = self.shared.pace.get().is_none();
                if !resting {
                    let behind = self.shared.pieces + 1 - self.next_piece;
                    self.shared.behind.set(behind.max(self.shared.behind.get()));
                }
            }
        }
        match self.next_piece - 1 {
            pieces if pieces == self.shared.pieces => Ok(()),
            pieces => Err(format!("ended after {pieces} pieces").into()),
        }
    }

    fn apply_event(&mut self, event: &[u8]) -> Result<(), BenchError> {
        let id = memmem::find(event, b"id:").map(|it| &event[it + 3..]).ok_or("no id")?;
        let id = &id[..memchr(b'\n', id).unwrap_or(id.len())];
        let id: u64 = std::str::from_utf8(id)?.trim().parse()?;
        if id <= self.last_event_id {
            return Err(format!("event {id} behind event {}", self.last_event_id).into());
        }
        self.last_event_id = id;
        let Some(text) = find_texts(event).next() else { return Ok(()) };
        if let Some(pace) = Pace::parse(text) {
            self.shared.pace.set(Some(pace));
            return Ok(());
        }
        let (number, age) = parse_piece(text).ok_or_else(|| format!("no piece: {text}"))?;
        if number != self.next_piece {
            return Err(format!("piece {number} in place of {}", self.next_piece).into());
        }
        self.next_piece += 1;
        if !self.slow {
            self.shared.latency.borrow_mut().record(age);
        }
        Ok(())
    }
}

/// The texts in a document, without taking it apart.
fn find_texts(document: &[u8]) -> impl Iterator<Item = &str> {
    memmem::find_iter(document, br#""text":""#).filter_map(move |start| {
        let text = &document[start + 8..];
        std::str::from_utf8(&text[..memchr(b'"', text)?]).ok()
    })
}
