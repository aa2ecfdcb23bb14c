//! Many readers of one task in process, some of them slow: the engine without sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use latimer_protocol::{
    Call, EventStream, Message, MessageId, Reply, Request, SendMessageConfiguration,
    SendMessageRequest, SendMessageResponse, Service as _, StreamResponse, SubscribeToTaskRequest,
    TaskId,
};
use latimer_server::{AgentRegistry, Engine, EngineLimits};
use latimer_store::MemoryStore;
use tokio::task::JoinSet;

use crate::Failure;
use crate::histogram::Histogram;
use crate::subject::{Pace, plenty, read_piece, worker};
use crate::watch::Outcome;

/// Who reads what.
#[derive(Clone, Copy, Debug)]
pub struct InProcess {
    /// How many read.
    pub readers: usize,
    /// How many of those read slowly.
    pub slow: usize,
    /// How many pieces are made.
    pub pieces: u32,
    /// How many of them in a second.
    pub rate: u32,
}

/// A slow reader rests this long behind each event.
const REST: Duration = Duration::from_millis(5);

/// Has a task written and read.
///
/// # Errors
/// When it cannot begin.
pub fn run(plan: InProcess) -> Result<Outcome, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(write_and_read(plan))
}

async fn write_and_read(plan: InProcess) -> Result<Outcome, Failure> {
    let registry = Arc::new(AgentRegistry::new([worker()])?);
    let limits = EngineLimits { max_streams: 1_000_000, ..EngineLimits::default() };
    let engine = Engine::new(registry, Arc::new(MemoryStore::new(plenty())), limits);
    let task = send(&engine, &format!("tick {} {}", plan.pieces, plan.rate)).await?;
    let over = Arc::new(AtomicBool::new(false));
    let mut readers = JoinSet::new();
    for number in 0..plan.readers {
        let stream = subscribe(&engine, &task).await?;
        let slow = number < plan.slow;
        readers.spawn(Reader { slow, over: Arc::clone(&over), ..Reader::default() }.read(stream));
    }
    // One more, which is not counted, tells when the writer is done.
    let last = match plan.readers {
        0 => None,
        _ => Some(subscribe(&engine, &task).await?),
    };
    let begin = Instant::now();
    send(&engine, "go").await?;
    let last = match last {
        None => finally(&engine, &task, &plan).await?,
        Some(stream) => Reader { over: Arc::clone(&over), ..Reader::default() }.read(stream).await,
    };
    let mut outcome = Outcome { pace: last.pace.unwrap_or_default(), ..Outcome::default() };
    let mut latency = Histogram::default();
    while let Some(reader) = readers.join_next().await {
        let reader = reader?;
        if !reader.slow {
            latency.merge(&reader.latency);
        }
        outcome.pieces += u64::from(reader.pieces);
        outcome.behind = outcome.behind.max(reader.behind.map_or(0, |it| plan.pieces - it));
        match reader.problem {
            None if reader.pieces == plan.pieces => outcome.complete += 1,
            None => {
                outcome.problem.get_or_insert(format!("ended after {} pieces", reader.pieces));
            }
            Some(problem) => {
                outcome.problem.get_or_insert(problem);
            }
        }
    }
    outcome.seconds = begin.elapsed().as_secs_f64();
    outcome.p50_micros = latency.quantile_micros(0.5);
    outcome.p99_micros = latency.quantile_micros(0.99);
    outcome.max_micros = latency.max_micros();
    Ok(outcome)
}

#[derive(Default)]
struct Reader {
    slow: bool,
    over: Arc<AtomicBool>,
    pieces: u32,
    revision: u64,
    /// Where a slow reader was when the writer was done.
    behind: Option<u32>,
    latency: Histogram,
    pace: Option<Pace>,
    problem: Option<String>,
}

impl Reader {
    async fn read(mut self, mut stream: EventStream) -> Self {
        let mut first = true;
        while let Some(event) = stream.next().await {
            let event = match event {
                Ok(event) => event,
                Err(error) => return self.with_problem(error.to_string()),
            };
            let revision = event.revision.map_or(0, |it| it.get());
            if revision <= self.revision {
                let problem = format!("event {revision} behind {}", self.revision);
                return self.with_problem(problem);
            }
            self.revision = revision;
            if !std::mem::take(&mut first)
                && let Err(problem) = self.take(event.event.event())
            {
                return self.with_problem(problem);
            }
            if self.slow && self.behind.is_none() {
                tokio::time::sleep(REST).await;
                self.behind = self.over.load(Ordering::Relaxed).then_some(self.pieces);
            }
        }
        self
    }

    fn take(&mut self, event: &StreamResponse) -> Result<(), String> {
        match event {
            StreamResponse::ArtifactUpdate(update) => {
                let text = update.artifact.text();
                let (number, age) = read_piece(&text).ok_or_else(|| format!("no piece: {text}"))?;
                if number != self.pieces + 1 {
                    return Err(format!("piece {number} behind {}", self.pieces));
                }
                self.pieces = number;
                self.latency.add(age);
            }
            StreamResponse::StatusUpdate(update) => {
                let text = update.status.message.as_ref().map(|it| it.text().to_string());
                self.pace = text.as_deref().and_then(Pace::from_text);
                if self.pace.is_some() {
                    self.over.store(true, Ordering::Relaxed);
                }
            }
            StreamResponse::Task(_) | StreamResponse::Message(_) => {}
        }
        Ok(())
    }

    fn with_problem(mut self, problem: String) -> Self {
        self.problem = Some(problem);
        self
    }
}

/// Waits until the writer is done without anybody reading what it writes.
async fn finally(engine: &Engine, task: &TaskId, plan: &InProcess) -> Result<Reader, Failure> {
    tokio::time::sleep(Duration::from_secs(1) / plan.rate * plan.pieces).await;
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let request = Request::GetTask(task.clone().into());
        let Reply::Task(task) = engine.call(Call::new(request)).await?.reply else {
            return Err("no task".into());
        };
        let text = task.status.message.as_ref().map(|it| it.text().to_string());
        if let Some(pace) = text.as_deref().and_then(Pace::from_text) {
            return Ok(Reader { pace: Some(pace), ..Reader::default() });
        }
    }
}

async fn send(engine: &Engine, text: &str) -> Result<TaskId, Failure> {
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    let message = Message::user(MessageId::new(text)?, text);
    let request = SendMessageRequest {
        configuration: Some(configuration),
        ..SendMessageRequest::from(message)
    };
    match engine.call(Call::new(Request::SendMessage(request))).await?.reply {
        Reply::SendMessage(SendMessageResponse::Task(task)) => Ok(task.id.clone()),
        other => Err(format!("no task: {other:?}").into()),
    }
}

async fn subscribe(engine: &Engine, task: &TaskId) -> Result<EventStream, Failure> {
    let request = Request::SubscribeToTask(SubscribeToTaskRequest::from(task.clone()));
    match engine.call(Call::new(request)).await?.reply {
        Reply::Stream(stream) => Ok(stream),
        other => Err(format!("no stream: {other:?}").into()),
    }
}
