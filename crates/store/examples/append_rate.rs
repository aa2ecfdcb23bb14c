//! Measures how many short tasks per second each store accepts:
//! `cargo run --release -p latimer-store --example append_rate`.
//!
//! Each task is one append of four events, as for an agent that completes at once: creation,
//! working, artifact, completed. Like the engine, each caller first looks up the prior outcome of
//! the message. Arguments select backends (`memory`, `process`, `full`) and numbers of callers
//! (`32`); `--seconds 5` sets the duration and `--tasks 1000` the maximum number of tasks in a
//! store.
//!
//! CPU time covers all threads, including the creation of the tasks, so the cost of a backend is
//! its difference to `memory`. On a busy machine it is more reliable than the rate, most of all if
//! all threads share one core: `taskset -c 0 append_rate 32`.
//!
//! The rate of `full` depends mostly on the time of `fsync`, which varies by a factor of a hundred
//! with the load of the disk. Compare two versions in alternating runs.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use latimer_protocol::{
    Artifact, ArtifactId, ContextId, Dialect, Event, Message, MessageId, Part, Revision, Task,
    TaskArtifactUpdateEvent, TaskId, TaskState, TaskStatus, TaskStatusUpdateEvent, Timestamp,
};
use latimer_store::{
    Append, Durability, IdempotencyKey, IdempotencyRecord, MemoryStore, PendingWork, Retention,
    SqliteConfig, SqliteStore, TaskHeader, TaskKey, TaskStore,
};
use rustix::time::{ClockId, clock_gettime};
use tokio::task::JoinSet;

type BoxResult<T> = Result<T, Box<dyn Error + Send + Sync>>;

const BACKENDS: [&str; 3] = ["memory", "process", "full"];

#[expect(clippy::print_stdout, reason = "a measurement prints its result")]
#[tokio::main]
async fn main() -> BoxResult<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let duration = Duration::from_secs(take_option(&mut arguments, "--seconds")?.unwrap_or(3));
    let max_tasks =
        take_option(&mut arguments, "--tasks")?.unwrap_or(Retention::DEFAULT_DISK.max_tasks);
    let callers: Vec<u64> = arguments.iter().filter_map(|it| it.parse().ok()).collect();
    let callers = if callers.is_empty() { vec![1, 32] } else { callers };
    arguments.retain(|it| it.parse::<u64>().is_err());
    let is_selected = |name: &&str| arguments.is_empty() || arguments.iter().any(|it| it == name);
    for backend in BACKENDS.into_iter().filter(is_selected) {
        for &callers in &callers {
            let directory = tempfile::tempdir()?;
            let retention = Retention { max_tasks, ..Retention::DEFAULT_DISK };
            let sqlite = |durability| {
                let retention = retention.clone();
                let config = SqliteConfig { durability, retention, ..SqliteConfig::default() };
                SqliteStore::open(directory.path().join("tasks.db"), config).map(Arc::new)
            };
            let (store, mut file): (Arc<dyn TaskStore>, _) = match backend {
                "memory" => (Arc::new(MemoryStore::new(retention.clone())), None),
                "process" => sqlite(Durability::Process).map(|it| (it.clone() as _, Some(it)))?,
                _ => sqlite(Durability::Full).map(|it| (it.clone() as _, Some(it)))?,
            };
            let (start, cpu_start) = (Instant::now(), cpu_time());
            let appends = append(&store, callers, duration).await?;
            let rate = appends as f64 / start.elapsed().as_secs_f64();
            let each = (cpu_time() - cpu_start).as_secs_f64() * 1e6 / appends as f64;
            let commits = file.as_ref().map_or(appends, |it| it.commits());
            let group = appends as f64 / commits.max(1) as f64;
            let load = load(&*store, appends).await?;
            print!(
                "{backend:8} {callers:3} callers {rate:9.0} appends/s {group:6.1} per commit \
                 {each:6.1} µs each {load:6.1} µs to load"
            );
            if file.take().is_some() {
                drop(store);
                let start = Instant::now();
                drop(sqlite(Durability::Process)?);
                print!(" {:6.1} ms to open and close", start.elapsed().as_secs_f64() * 1e3);
            }
            println!();
        }
    }
    Ok(())
}

/// Removes an option and returns its value, if it is given.
fn take_option(arguments: &mut Vec<String>, name: &str) -> BoxResult<Option<u64>> {
    let Some(index) = arguments.iter().position(|it| it == name) else { return Ok(None) };
    let end = (index + 2).min(arguments.len());
    let value =
        arguments.drain(index..end).nth(1).ok_or_else(|| format!("{name} requires a number"))?;
    Ok(Some(value.parse()?))
}

/// Returns the CPU time of all threads.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Appends tasks for a duration, and returns their number.
async fn append(store: &Arc<dyn TaskStore>, callers: u64, duration: Duration) -> BoxResult<u64> {
    let number = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..callers {
        let (store, number) = (store.clone(), number.clone());
        running.spawn(async move {
            while start.elapsed() < duration {
                let task = short_task(number.fetch_add(1, Ordering::Relaxed))?;
                if let Some(record) = task.idempotency {
                    store.find_prior_outcome(&record.key, task.header.status_changed_at).await?;
                }
                store.append(task).await?;
            }
            BoxResult::Ok(())
        });
    }
    while let Some(result) = running.join_next().await {
        result??;
    }
    Ok(number.load(Ordering::Relaxed))
}

/// Loads the last tasks repeatedly, and returns the CPU time per load in microseconds.
async fn load(store: &dyn TaskStore, appends: u64) -> BoxResult<f64> {
    let last = (appends.saturating_sub(100)..appends).map(short_task);
    let keys: Vec<TaskKey> = last.map(|it| Ok(it?.key)).collect::<BoxResult<_>>()?;
    let before = cpu_time();
    let rounds = 100;
    for _ in 0..rounds {
        for key in &keys {
            store.load(key).await?.ok_or("an appended task is missing")?;
        }
    }
    let took = cpu_time() - before;
    Ok(took.as_secs_f64() * 1e6 / (rounds * keys.len()) as f64)
}

/// A task that is created and completed in one append.
fn short_task(number: u64) -> BoxResult<Append> {
    // Ids like UUIDs of version 7: the time, followed by random bits.
    let random = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let millis = 1_780_000_000_000 + i64::try_from(number / 30)?;
    let now = Timestamp::from_millis(millis)?;
    let unique = || format!("{:08x}-{:04x}-7{random:016x}", millis >> 16, millis & 0xffff);
    let (id, context) = (TaskId::new(unique())?, ContextId::new(unique())?);
    let message = Message::user(MessageId::new(format!("m-{number}"))?, "shout this, please");
    let message = message.with_context(context.clone()).with_task(id.clone());
    let status = |state| TaskStatus::from(state).with_timestamp(now);
    let mut created = Task::new(id.clone(), context.clone(), status(TaskState::Submitted));
    created.history.push(message.into());
    let update = |state| {
        let mut update = TaskStatusUpdateEvent::new(id.clone(), status(state));
        update.context_id = Some(context.clone());
        Event::Status(update)
    };
    let artifact = Artifact::new(ArtifactId::first(), Part::text("SHOUT THIS, PLEASE"));
    let mut artifact_event = TaskArtifactUpdateEvent::new(id.clone(), artifact);
    artifact_event.context_id = Some(context.clone());
    let working = update(TaskState::Working);
    let completed = update(TaskState::Completed);
    let events = vec![Event::Created(created), working, Event::Artifact(artifact_event), completed];
    let snapshot = Task::replay(events.iter().cloned())?.map(Arc::new);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&random.to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    let expires = Timestamp::from_millis(now.as_millis() + 300_000)?;
    Ok(Append {
        key: TaskKey { owner: "caller".into(), agent: "shouter".into(), id },
        expected: Revision::START,
        events,
        header: TaskHeader {
            context,
            state: TaskState::Completed,
            status_changed_at: now,
            created_in: Dialect::V1_0,
            pending_work: PendingWork::None,
            note: None,
        },
        snapshot,
        idempotency: Some(IdempotencyRecord { key: IdempotencyKey(key), expires_at: expires }),
        webhook: None,
    })
}
