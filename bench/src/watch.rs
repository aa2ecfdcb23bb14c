//! Many readers of one task over sockets, some of them slow: everybody gets the whole log in order.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use memchr::{memchr, memmem};
use serde::{Deserialize, Serialize};
use tokio::task::LocalSet;

use crate::Failure;
use crate::histogram::Histogram;
use crate::hold::{self, What, task_id};
use crate::http::Connection;
use crate::subject::{Pace, read_piece};

/// Who reads what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Where the server listens; a [`worker`](crate::subject::worker) is behind it.
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
pub struct Outcome {
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
const REST: Duration = Duration::from_millis(100);
const UNREAD: u32 = 4 * 1024;

/// Has a task written and read, and says what came of it.
///
/// # Errors
/// When it cannot begin.
pub fn run(plan: Plan) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = LocalSet::new().block_on(&runtime, watch(plan))?;
    crate::report::say(&outcome)
}

/// What readers share.
struct Shared {
    pieces: u32,
    latency: RefCell<Histogram>,
    pace: Cell<Option<Pace>>,
    behind: Cell<u32>,
    outcome: RefCell<Outcome>,
}

async fn watch(plan: Plan) -> Result<Outcome, Failure> {
    let ask = hold::Plan {
        address: plan.address.clone(),
        path: plan.path.clone(),
        what: What::Connections(0),
    };
    let mut control = Connection::open(&plan.address, None).await?;
    let order = ask.message(&format!("tick {} {}", plan.pieces, plan.rate), 0);
    let task = task_id(control.exchange(order.as_bytes()).await?.body)?;
    let shared = Rc::new(Shared {
        pieces: plan.pieces,
        latency: RefCell::default(),
        pace: Cell::new(None),
        behind: Cell::new(0),
        outcome: RefCell::default(),
    });
    let request = ask.request("SubscribeToTask", &format!(r#"{{"id":"{task}"}}"#));
    let mut readers = Vec::new();
    for number in 0..plan.readers {
        let slow = number < plan.slow;
        let mut connection = Connection::open(&plan.address, slow.then_some(UNREAD)).await?;
        connection.begin(request.as_bytes()).await?;
        let reader = Reader { connection, slow, shared: Rc::clone(&shared), next: 1, at: 0 };
        readers.push(tokio::task::spawn_local(reader.read()));
    }
    let begin = Instant::now();
    control.exchange(ask.message("go", 0).as_bytes()).await?;
    for reader in readers {
        reader.await?;
    }
    let seconds = begin.elapsed().as_secs_f64();
    if plan.readers == 0 {
        shared.pace.set(Some(alone(&plan, &ask, &task, &mut control).await?));
    }
    let latency = shared.latency.borrow();
    let outcome = shared.outcome.take();
    Ok(Outcome {
        pace: shared.pace.get().unwrap_or_default(),
        seconds,
        p50_micros: latency.quantile_micros(0.5),
        p99_micros: latency.quantile_micros(0.99),
        max_micros: latency.max_micros(),
        behind: shared.behind.get(),
        ..outcome
    })
}

/// Waits until a task that nobody reads is done.
async fn alone(
    plan: &Plan,
    ask: &hold::Plan,
    task: &str,
    control: &mut Connection,
) -> Result<Pace, Failure> {
    tokio::time::sleep(Duration::from_secs(1) / plan.rate * plan.pieces).await;
    let request = ask.request("GetTask", &format!(r#"{{"id":"{task}"}}"#));
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let answer = control.exchange(request.as_bytes()).await?;
        if let Some(pace) = texts(answer.body).find_map(Pace::from_text) {
            return Ok(pace);
        }
    }
}

struct Reader {
    connection: Connection,
    slow: bool,
    shared: Rc<Shared>,
    /// The number of the piece that comes next.
    next: u32,
    /// The id of the last event.
    at: u64,
}

impl Reader {
    async fn read(mut self) {
        let end = self.read_all().await;
        let mut outcome = self.shared.outcome.borrow_mut();
        outcome.pieces += u64::from(self.next - 1);
        outcome.chunks += self.connection.chunks();
        match end {
            Ok(()) => outcome.complete += 1,
            Err(problem) => {
                outcome.problem.get_or_insert(problem.to_string());
            }
        }
    }

    async fn read_all(&mut self) -> Result<(), Failure> {
        let mut body = Vec::new();
        let (mut first, mut resting) = (true, self.slow);
        loop {
            let goes_on = self.connection.more(&mut body).await?;
            let mut done = 0;
            while let Some(end) = memmem::find(&body[done..], b"\n\n") {
                let event = &body[done..done + end];
                done += end + 2;
                // The task as it stands, and comments, are no pieces.
                if memmem::find(event, b"data:").is_some() && !std::mem::take(&mut first) {
                    self.take(event)?;
                }
            }
            body.drain(..done);
            if !goes_on {
                break;
            }
            if resting {
                tokio::time::sleep(REST).await;
                resting = self.shared.pace.get().is_none();
                if !resting {
                    let behind = self.shared.pieces + 1 - self.next;
                    self.shared.behind.set(behind.max(self.shared.behind.get()));
                }
            }
        }
        match self.next - 1 {
            all if all == self.shared.pieces => Ok(()),
            some => Err(format!("ended after {some} pieces").into()),
        }
    }

    fn take(&mut self, event: &[u8]) -> Result<(), Failure> {
        let id = memmem::find(event, b"id:").map(|it| &event[it + 3..]).ok_or("no id")?;
        let id = &id[..memchr(b'\n', id).unwrap_or(id.len())];
        let id: u64 = std::str::from_utf8(id)?.trim().parse()?;
        if id <= self.at {
            return Err(format!("event {id} behind event {}", self.at).into());
        }
        self.at = id;
        let Some(text) = texts(event).next() else { return Ok(()) };
        if let Some(pace) = Pace::from_text(text) {
            self.shared.pace.set(Some(pace));
            return Ok(());
        }
        let (number, age) = read_piece(text).ok_or_else(|| format!("no piece: {text}"))?;
        if number != self.next {
            return Err(format!("piece {number} in place of {}", self.next).into());
        }
        self.next += 1;
        if !self.slow {
            self.shared.latency.borrow_mut().add(age);
        }
        Ok(())
    }
}

/// The texts in a document, without taking it apart.
fn texts(document: &[u8]) -> impl Iterator<Item = &str> {
    memmem::find_iter(document, br#""text":""#).filter_map(move |at| {
        let text = &document[at + 8..];
        std::str::from_utf8(&text[..memchr(b'"', text)?]).ok()
    })
}
