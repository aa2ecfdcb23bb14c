//! The Latimer server, with an agent for measurements.

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

/// Address, store and agent of the server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// Socket address to listen on.
    pub address: String,
    /// Task store.
    pub store: Store,
    /// Published agent.
    pub agent: AgentKind,
}

/// Task store of the server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Store {
    /// Memory, with the default retention.
    Memory,
    /// Memory, without a limit that a benchmark reaches.
    UnboundedMemory,
    /// SQLite with `durability = "process"`: survives a crash of the process.
    SqliteProcess(PathBuf),
    /// SQLite with `durability = "full"`: survives power loss.
    SqliteFull(PathBuf),
}

/// Published agent, and the limits of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentKind {
    /// The echo agent, with default limits.
    Echo,
    /// A [`worker_agent`], with limits that a benchmark does not reach.
    Worker,
}

/// Limit that no benchmark reaches.
const UNLIMITED: usize = 1_000_000;

/// Runs the server until the process is killed.
///
/// # Errors
/// Fails if the store cannot be opened or the address cannot be bound.
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

/// Returns a retention that does not evict tasks during a benchmark.
#[must_use]
pub fn unlimited_retention() -> Retention {
    Retention { max_tasks: UNLIMITED as u64, max_contexts: 0, ..Retention::DEFAULT_MEMORY }
}

/// Creates an agent with these instructions:
///
/// | message | effect |
/// | --- | --- |
/// | `wait` | runs without finishing |
/// | `tick COUNT RATE` | waits for `go`, then writes COUNT ticks, RATE per second |
/// | `go` | starts all waiting `tick` tasks |
///
/// A tick is an artifact chunk with its number and the current time. The task completes with a
/// [`Pace`] as its status text.
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
                    turn.reply("started").await?;
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
                _ => Err(AgentFailure::new("unknown instruction")),
            }
        }
    })
}

/// Timing of the agent that writes ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// Time from the first tick until the last one was stored.
    pub total_micros: u64,
    /// Time spent waiting for ticks to be stored.
    pub append_micros: u64,
    /// Maximum delay of a tick after its scheduled time.
    #[serde(rename = "latest_micros")]
    pub max_delay_micros: u64,
}

impl Pace {
    fn to_text(self) -> String {
        let Self { total_micros, append_micros, max_delay_micros } = self;
        format!("pace {total_micros} {append_micros} {max_delay_micros}")
    }

    /// Parses the status text of a [`worker_agent`]; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.strip_prefix("pace ")?.split(' ').map(|it| it.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self { total_micros: next()?, append_micros: next()?, max_delay_micros: next()? })
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
        artifact.push(format_tick(number)?).await?;
        turn.flush().await?;
        pace.append_micros += push_start.elapsed().as_micros() as u64;
        let delay = due.elapsed().saturating_sub(push_start.elapsed()).as_micros() as u64;
        pace.max_delay_micros = pace.max_delay_micros.max(delay);
    }
    pace.total_micros = start.elapsed().as_micros() as u64;
    Ok(pace)
}

fn format_tick(number: u32) -> Result<String, AgentFailure> {
    let micros = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros();
    Ok(format!("{number} {micros} a word or two"))
}

/// Returns the number of a tick and its age in nanoseconds; `None` for any other text.
#[must_use]
pub fn parse_tick(text: &str) -> Option<(u32, u64)> {
    let (number, remainder) = text.split_once(' ')?;
    let created_micros: u64 = remainder.split(' ').next()?.parse().ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos() as u64;
    Some((number.parse().ok()?, now.saturating_sub(created_micros * 1_000)))
}
