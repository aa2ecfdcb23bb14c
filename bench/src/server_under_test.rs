//! Ours: an agent behind everything that the server puts in front of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use latimer_runtime::EchoAgent;
use latimer_server::{Agent, AgentFailure, EngineLimits, HttpLimits, Server, Settings, Turn};
use latimer_store::{Durability, MemoryStore, Retention, SqliteConfig, SqliteStore};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::sleep_until;

use crate::BenchError;

/// How ours is set up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// Where it listens.
    pub address: String,
    /// Where tasks are kept.
    pub store: Store,
    /// What stands behind it.
    pub agent: AgentKind,
}

/// Where tasks are kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Store {
    /// In memory, as much as is kept by default.
    Memory,
    /// In memory, as much as it takes.
    UnboundedMemory,
    /// In a file, safe from the end of the process.
    SqliteProcess(PathBuf),
    /// In a file, safe from the loss of power.
    SqliteFull(PathBuf),
}

/// What stands behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentKind {
    /// Says what it is told, with all limits as they are by default.
    Echo,
    /// Does what it is told by [`worker_agent`], and much of it at once.
    Worker,
}

/// What there may be of anything where limits are not what is measured.
const UNLIMITED: usize = 1_000_000;

/// Serves until it is killed.
///
/// # Errors
/// When it cannot.
pub fn serve(setup: Setup) -> Result<(), BenchError> {
    crate::baseline::runtime()?.block_on(async {
        let server = match setup.agent {
            AgentKind::Echo => Server::new(EchoAgent::new_agent("echo")),
            AgentKind::Worker => Server::new(worker_agent()).settings(Settings {
                limits: EngineLimits {
                    max_streams: UNLIMITED,
                    max_turns: UNLIMITED,
                    ..EngineLimits::default()
                },
                http: HttpLimits { max_connections: UNLIMITED, ..HttpLimits::default() },
                ..Settings::default()
            }),
        };
        let server = server.bind(setup.address);
        let sqlite = |path, durability| {
            SqliteStore::open(path, SqliteConfig { durability, ..SqliteConfig::default() })
        };
        let server = match setup.store {
            Store::Memory => server.store(MemoryStore::default()),
            Store::UnboundedMemory => server.store(MemoryStore::new(unlimited_retention())),
            Store::SqliteProcess(path) => server.store(sqlite(path, Durability::Process)?),
            Store::SqliteFull(path) => server.store(sqlite(path, Durability::Full)?),
        };
        Ok(server.run().await?)
    })
}

/// Keeps whatever comes.
#[must_use]
pub fn unlimited_retention() -> Retention {
    Retention { max_tasks: UNLIMITED as u64, max_contexts: 0, ..Retention::DEFAULT_MEMORY }
}

/// An agent that does one of these:
///
/// | message | what it does |
/// | --- | --- |
/// | `wait` | works, and does not end |
/// | `tick COUNT RATE` | waits for `go`, then makes COUNT pieces, RATE of them per second |
/// | `go` | has all of those begin |
///
/// A piece has its number and the time in it; a [`Pace`] closes the task.
#[must_use]
pub fn worker_agent() -> Agent {
    let go = Arc::new(Notify::new());
    Agent::from_fn("worker", move |turn: Turn| {
        let go = Arc::clone(&go);
        async move {
            let text = turn.text();
            let args: Vec<&str> = text.split(' ').collect();
            match args[..] {
                ["wait"] => {
                    turn.set_working().await?;
                    std::future::pending().await
                }
                ["go"] => {
                    go.notify_waiters();
                    turn.reply("gone").await?;
                    Ok::<_, AgentFailure>(())
                }
                ["tick", count, rate] => {
                    let start_signal = go.notified();
                    tokio::pin!(start_signal);
                    start_signal.as_mut().enable();
                    turn.set_working().await?;
                    turn.flush().await?;
                    start_signal.await;
                    let pace = write_ticks(&turn, count.parse()?, rate.parse()?).await?;
                    turn.complete_with(pace.to_text()).await?;
                    Ok(())
                }
                _ => Err(AgentFailure::new("what?")),
            }
        }
    })
}

/// How the writer of a log fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// From the first piece to the last one being kept.
    pub total_micros: u64,
    /// The time of that in which it waited for pieces to be kept.
    pub append_micros: u64,
    /// How late the latest piece was.
    pub latest_micros: u64,
}

impl Pace {
    fn to_text(self) -> String {
        let Self { total_micros, append_micros, latest_micros } = self;
        format!("pace {total_micros} {append_micros} {latest_micros}")
    }

    /// Reads what an agent says about it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.strip_prefix("pace ")?.split(' ').map(|it| it.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self { total_micros: next()?, append_micros: next()?, latest_micros: next()? })
    }
}

async fn write_ticks(turn: &Turn, count: u32, rate: u32) -> Result<Pace, AgentFailure> {
    let mut artifact = turn.artifact("ticks");
    let (start, mut pace) = (Instant::now(), Pace::default());
    let step = Duration::from_secs(1) / rate;
    for number in 1..=count {
        let due = start + step * (number - 1);
        if due > Instant::now() {
            sleep_until(due.into()).await;
        }
        let push_start = Instant::now();
        artifact.push(format_piece(number)?).await?;
        turn.flush().await?;
        pace.append_micros += push_start.elapsed().as_micros() as u64;
        let late = due.elapsed().saturating_sub(push_start.elapsed()).as_micros() as u64;
        pace.latest_micros = pace.latest_micros.max(late);
    }
    pace.total_micros = start.elapsed().as_micros() as u64;
    Ok(pace)
}

fn format_piece(number: u32) -> Result<String, AgentFailure> {
    let micros = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros();
    Ok(format!("{number} {micros} a word or two"))
}

/// The number of a piece, and how old it is in nanoseconds.
#[must_use]
pub fn parse_piece(text: &str) -> Option<(u32, u64)> {
    let (number, remainder) = text.split_once(' ')?;
    let created_micros: u64 = remainder.split(' ').next()?.parse().ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos() as u64;
    Some((number.parse().ok()?, now.saturating_sub(created_micros * 1_000)))
}
