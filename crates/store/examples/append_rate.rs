//! How many short tasks a second each store takes: `cargo run --release --example append_rate`.
//!
//! A task is one append of four events, as an agent makes that answers at once: it is created,
//! works, has an artifact and is completed. As the engine does, each caller first asks what came of
//! the message. Arguments choose the backends (`memory`, `process`, `full`) and the numbers of
//! callers (`32`), `--seconds 5` says for how long, and `--tasks 1000` how many a store keeps.
//!
//! The time of the processor is that of all threads, and that of making the tasks is in it: what a
//! backend costs is its difference from `memory`. It is worth more than the rate where others use
//! the machine, most of all when all threads share a processor: `taskset -c 0 append_rate 32`.
//!
//! What `full` takes is mostly what the disk takes for `fsync`, which varies a hundredfold with who
//! else uses it: compare two versions in turns, and never by one run of each.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use latimer_protocol::{
    Artifact, ArtifactId, ContextId, Dialect, Event, Message, MessageId, Part, Revision, Task,
    TaskArtifactUpdateEvent, TaskId, TaskState, TaskStatus, TaskStatusUpdateEvent, Timestamp,
};
use latimer_store::{
    Append, Durability, Header, Key, Memory, Retention, Sent, SentKey, Sqlite, SqliteConfig,
    TaskStore, Work,
};
use rustix::time::{ClockId, clock_gettime};
use tokio::task::JoinSet;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const BACKENDS: [&str; 3] = ["memory", "process", "full"];

#[expect(clippy::print_stdout, reason = "a measurement prints its result")]
#[tokio::main]
async fn main() -> Outcome<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let time = Duration::from_secs(option(&mut arguments, "--seconds")?.unwrap_or(3));
    let max_tasks = option(&mut arguments, "--tasks")?.unwrap_or(Retention::DISK.max_tasks);
    let callers: Vec<u64> = arguments.iter().filter_map(|it| it.parse().ok()).collect();
    let callers = if callers.is_empty() { vec![1, 32] } else { callers };
    arguments.retain(|it| it.parse::<u64>().is_err());
    let wanted = |name: &&str| arguments.is_empty() || arguments.iter().any(|it| it == name);
    for backend in BACKENDS.into_iter().filter(wanted) {
        for &callers in &callers {
            let folder = tempfile::tempdir()?;
            let retention = Retention { max_tasks, ..Retention::DISK };
            let sqlite = |durability| {
                let retention = retention.clone();
                let config = SqliteConfig { durability, retention, ..SqliteConfig::default() };
                Sqlite::open(folder.path().join("tasks.db"), config).map(Arc::new)
            };
            let (store, mut file): (Arc<dyn TaskStore>, _) = match backend {
                "memory" => (Arc::new(Memory::new(retention.clone())), None),
                "process" => sqlite(Durability::Process).map(|it| (it.clone() as _, Some(it)))?,
                _ => sqlite(Durability::Full).map(|it| (it.clone() as _, Some(it)))?,
            };
            let (start, processor) = (Instant::now(), processor_time());
            let appends = append(&store, callers, time).await?;
            let rate = appends as f64 / start.elapsed().as_secs_f64();
            let each = (processor_time() - processor).as_secs_f64() * 1e6 / appends as f64;
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

/// The number behind the option of this name, if it is there.
fn option(arguments: &mut Vec<String>, name: &str) -> Outcome<Option<u64>> {
    let Some(at) = arguments.iter().position(|it| it == name) else { return Ok(None) };
    let end = (at + 2).min(arguments.len());
    let value = arguments.drain(at..end).nth(1).ok_or_else(|| format!("{name} wants a number"))?;
    Ok(Some(value.parse()?))
}

/// How long all threads have been at work.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Appends tasks for a while, and returns how many.
async fn append(store: &Arc<dyn TaskStore>, callers: u64, time: Duration) -> Outcome<u64> {
    let number = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..callers {
        let (store, number) = (store.clone(), number.clone());
        running.spawn(async move {
            while start.elapsed() < time {
                let task = short_task(number.fetch_add(1, Ordering::Relaxed))?;
                if let Some(sent) = task.sent {
                    store.sent(&sent.key, task.header.updated).await?;
                }
                store.append(task).await?;
            }
            Outcome::Ok(())
        });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(number.load(Ordering::Relaxed))
}

/// Loads the last of so many tasks again and again, and returns how many microseconds each took.
async fn load(store: &dyn TaskStore, appends: u64) -> Outcome<f64> {
    let last = (appends.saturating_sub(100)..appends).map(short_task);
    let keys: Vec<Key> = last.map(|it| Ok(it?.key)).collect::<Outcome<_>>()?;
    let before = processor_time();
    let rounds = 100;
    for _ in 0..rounds {
        for key in &keys {
            store.load(key).await?.ok_or("a task that was appended is not there")?;
        }
    }
    let took = processor_time() - before;
    Ok(took.as_secs_f64() * 1e6 / (rounds * keys.len()) as f64)
}

/// A task that is created and completed in one append.
fn short_task(number: u64) -> Outcome<Append> {
    // As ids of version 7 are: the time first, and something random behind.
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
    let mut made = TaskArtifactUpdateEvent::new(id.clone(), artifact);
    made.context_id = Some(context.clone());
    let working = update(TaskState::Working);
    let completed = update(TaskState::Completed);
    let events = vec![Event::Created(created), working, Event::Artifact(made), completed];
    let snapshot = Task::replay(events.iter().cloned())?.map(Arc::new);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&random.to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    let expires = Timestamp::from_millis(now.as_millis() + 300_000)?;
    Ok(Append {
        key: Key { caller: "somebody".into(), agent: "shouter".into(), id },
        expected: Revision::START,
        events,
        header: Header {
            context,
            state: TaskState::Completed,
            updated: now,
            dialect: Dialect::V1_0,
            work: Work::None,
            note: None,
        },
        snapshot,
        sent: Some(Sent { key: SentKey(key), expires }),
        webhook: None,
    })
}
