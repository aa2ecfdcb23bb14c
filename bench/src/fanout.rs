//! Fan-out of one task to many readers within one process: the engine without sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use latimer_protocol::{
    Call, EventStream, Message, MessageId, Reply, ReplyKind, Request, SendMessageConfiguration,
    SendMessageRequest, SendMessageResponse, Service as _, StreamResponse, SubscribeToTaskRequest,
    TaskId,
};
use latimer_server::{AgentRegistry, Engine, EngineLimits};
use latimer_store::MemoryStore;
use tokio::task::JoinSet;

use crate::BenchError;
use crate::histogram::Histogram;
use crate::readers::ReadersResult;
use crate::server_under_test::{Pace, parse_tick, unlimited_retention, worker_agent};

/// Number of readers, and amount of data.
#[derive(Clone, Copy, Debug)]
pub struct InProcessPlan {
    /// Number of readers.
    pub readers: usize,
    /// Number of slow readers among them.
    pub slow: usize,
    /// Number of ticks that the agent writes.
    pub ticks: u32,
    /// Ticks per second.
    pub rate: u32,
}

/// Pause of a slow reader after each event.
const SLOW_READER_PAUSE: Duration = Duration::from_millis(5);

/// Runs a task that writes ticks while all readers stream it. Blocks until all streams end.
///
/// # Errors
/// Fails if the task cannot be started or subscribed to.
pub fn run(plan: InProcessPlan) -> Result<ReadersResult, BenchError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(write_and_read(plan))
}

async fn write_and_read(plan: InProcessPlan) -> Result<ReadersResult, BenchError> {
    let registry = Arc::new(AgentRegistry::new([worker_agent()])?);
    let limits = EngineLimits { max_streams: 1_000_000, ..EngineLimits::default() };
    let engine = Engine::new(registry, Arc::new(MemoryStore::new(unlimited_retention())), limits);
    let task = send(&engine, &format!("tick {} {}", plan.ticks, plan.rate)).await?;
    let writer_done = Arc::new(AtomicBool::new(false));
    let mut readers = JoinSet::new();
    for number in 0..plan.readers {
        let stream = subscribe(&engine, &task).await?;
        let slow = number < plan.slow;
        readers.spawn(
            Reader { slow, writer_done: Arc::clone(&writer_done), ..Reader::default() }
                .read(stream),
        );
    }
    // An additional reader, which is not counted, observes the end of the task.
    let control_stream = match plan.readers {
        0 => None,
        _ => Some(subscribe(&engine, &task).await?),
    };
    let start = Instant::now();
    send(&engine, "go").await?;
    let control_reader = match control_stream {
        None => wait_for_pace(&engine, &task, &plan).await?,
        Some(stream) => {
            Reader { writer_done: Arc::clone(&writer_done), ..Reader::default() }.read(stream).await
        }
    };
    let mut result =
        ReadersResult { pace: control_reader.pace.unwrap_or_default(), ..ReadersResult::default() };
    let mut latency = Histogram::default();
    while let Some(reader) = readers.join_next().await {
        let reader = reader?;
        if !reader.slow {
            latency.merge(&reader.latency);
        }
        result.received_ticks += u64::from(reader.ticks);
        let lag = reader.ticks_at_end.map_or(0, |it| plan.ticks - it);
        result.max_lag_ticks = result.max_lag_ticks.max(lag);
        match reader.problem {
            None if reader.ticks == plan.ticks => result.complete += 1,
            None => {
                result
                    .problem
                    .get_or_insert(format!("the stream ended after {} ticks", reader.ticks));
            }
            Some(problem) => {
                result.problem.get_or_insert(problem);
            }
        }
    }
    result.seconds = start.elapsed().as_secs_f64();
    result.p50_micros = latency.quantile_micros(0.5);
    result.p99_micros = latency.quantile_micros(0.99);
    result.max_micros = latency.max_micros();
    Ok(result)
}

#[derive(Default)]
struct Reader {
    slow: bool,
    writer_done: Arc<AtomicBool>,
    ticks: u32,
    revision: u64,
    /// Ticks that a slow reader had received when the writer finished.
    ticks_at_end: Option<u32>,
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
                let problem = format!("event {revision} after event {}", self.revision);
                return self.with_problem(problem);
            }
            self.revision = revision;
            if !std::mem::take(&mut first)
                && let Err(problem) = self.apply(event.event.event())
            {
                return self.with_problem(problem);
            }
            if self.slow && self.ticks_at_end.is_none() {
                tokio::time::sleep(SLOW_READER_PAUSE).await;
                self.ticks_at_end = self.writer_done.load(Ordering::Relaxed).then_some(self.ticks);
            }
        }
        self
    }

    fn apply(&mut self, event: &StreamResponse) -> Result<(), String> {
        match event {
            StreamResponse::ArtifactUpdate(update) => {
                let text = update.artifact.text();
                let (number, age) =
                    parse_tick(&text).ok_or_else(|| format!("malformed tick: {text}"))?;
                if number != self.ticks + 1 {
                    return Err(format!("tick {number} after tick {}", self.ticks));
                }
                self.ticks = number;
                self.latency.record(age);
            }
            StreamResponse::StatusUpdate(update) => {
                let text = update.status.message.as_ref().map(|it| it.text().to_string());
                self.pace = text.as_deref().and_then(Pace::parse);
                if self.pace.is_some() {
                    self.writer_done.store(true, Ordering::Relaxed);
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

/// Waits until the writer has finished a task that has no readers.
async fn wait_for_pace(
    engine: &Engine,
    task: &TaskId,
    plan: &InProcessPlan,
) -> Result<Reader, BenchError> {
    tokio::time::sleep(Duration::from_secs(1) / plan.rate * plan.ticks).await;
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let request = Request::GetTask(task.clone().into());
        let ReplyKind::Single(Reply::Task(task)) = engine.call(Call::new(request)).await?.kind
        else {
            return Err("no task".into());
        };
        let text = task.status.message.as_ref().map(|it| it.text().to_string());
        if let Some(pace) = text.as_deref().and_then(Pace::parse) {
            return Ok(Reader { pace: Some(pace), ..Reader::default() });
        }
    }
}

async fn send(engine: &Engine, text: &str) -> Result<TaskId, BenchError> {
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    let message = Message::user(MessageId::new(text)?, text);
    let request = SendMessageRequest {
        configuration: Some(configuration),
        ..SendMessageRequest::from(message)
    };
    match engine.call(Call::new(Request::SendMessage(request))).await?.kind {
        ReplyKind::Single(Reply::SendMessage(SendMessageResponse::Task(task))) => {
            Ok(task.id.clone())
        }
        other => Err(format!("no task: {other:?}").into()),
    }
}

async fn subscribe(engine: &Engine, task: &TaskId) -> Result<EventStream, BenchError> {
    let request = Request::SubscribeToTask(SubscribeToTaskRequest::from(task.clone()));
    match engine.call(Call::new(request)).await?.kind {
        ReplyKind::Stream(stream) => Ok(stream),
        other => Err(format!("no stream: {other:?}").into()),
    }
}
