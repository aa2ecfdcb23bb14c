//! Resource usage of the server process.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::caller::Caller;
use super::context::SoakContext;
use super::error::ScenarioError;
use super::server::Server;
use super::wire_format::{Request, WireFormat};
use latimer_bench::BenchError;
use latimer_bench::process::{open_descriptors, resident_bytes};

/// Resource usage of the server process at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sample {
    /// Seconds since the start of the run.
    pub seconds: f64,
    /// Number of the server process, starting at 1.
    #[serde(rename = "life")]
    pub generation: u32,
    /// Resident memory in bytes.
    pub resident: u64,
    /// Open files and sockets.
    pub descriptors: u64,
    /// Child processes, which run command agents.
    pub children: u64,
    /// Client connections, including the one that takes the sample.
    pub connections: u64,
    /// Tasks with a running turn or a reader.
    pub live_tasks: u64,
    /// Running turns.
    pub turns: u64,
    /// Open event streams.
    pub streams: u64,
    /// Webhooks with pending deliveries.
    pub webhooks: u64,
    /// Stored tasks.
    pub tasks: u64,
    /// Bytes of the database in pages that are in use.
    pub database: u64,
    /// Size of the database file in bytes.
    pub file: u64,
    /// Size of the write-ahead log in bytes.
    pub log: u64,
}

impl Sample {
    /// Returns whether the server has no work and no connection but the one that takes the sample.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let Self { live_tasks, turns, streams, webhooks, children, connections, .. } = self;
        [live_tasks, turns, streams, webhooks, children].iter().all(|it| **it == 0)
            && *connections <= 1
    }
}

/// Takes samples of one server process.
#[derive(Clone, Debug)]
pub struct Sampler {
    start: Instant,
    generation: u32,
    pid: u32,
    database: PathBuf,
}

impl Sampler {
    /// Creates the sampler of the first server process.
    #[must_use]
    pub fn new(server: &Server) -> Self {
        let (pid, database) = (server.pid(), server.database());
        Self { start: Instant::now(), generation: 1, pid, database }
    }

    /// Returns the sampler of the next server process, on the same clock.
    #[must_use]
    pub fn next_generation(self, server: &Server) -> Self {
        Self { generation: self.generation + 1, pid: server.pid(), ..self }
    }

    /// Reads the metrics, the number of tasks and the process statistics of the running server.
    ///
    /// # Errors
    /// Fails if the server does not respond, or a gauge is missing from its metrics.
    pub async fn sample(&self, context: &Arc<SoakContext>) -> Result<Sample, BenchError> {
        let mut caller = Caller::new(context, 1);
        let unavailable =
            |error: ScenarioError| format!("cannot take a sample of the server: {error:?}");
        let (_, metrics) =
            caller.fetch(&Request::without_body("GET", "/metrics")).await.map_err(unavailable)?;
        let metrics = String::from_utf8(metrics)?;
        let page = caller
            .expect(&WireFormat::HttpJsonV1_0.list_request(1, ""))
            .await
            .map_err(unavailable)?;
        let gauge = |name: &str| gauge(&metrics, name);
        Ok(Sample {
            seconds: self.start.elapsed().as_secs_f64(),
            generation: self.generation,
            resident: resident_bytes(self.pid),
            descriptors: open_descriptors(self.pid),
            children: child_count(self.pid),
            connections: gauge("latimer_connections")?,
            live_tasks: gauge("latimer_live_tasks")?,
            turns: gauge("latimer_turns")?,
            streams: gauge("latimer_streams")?,
            webhooks: gauge("latimer_webhooks")?,
            tasks: page.0["totalSize"].as_u64().ok_or("the task list has no totalSize")?,
            database: used_bytes(&self.database).unwrap_or_default(),
            file: file_size(&self.database),
            log: file_size(&self.database.with_extension("db-wal")),
        })
    }
}

/// Returns the value of an unlabeled gauge in the Prometheus text format.
fn gauge(metrics: &str, name: &str) -> Result<u64, BenchError> {
    let mut lines = metrics.lines().filter_map(|it| it.split_once(' '));
    let value = lines.find_map(|(it, value)| (it == name).then(|| value.parse().ok()).flatten());
    value.ok_or_else(|| format!("the metrics have no gauge {name}").into())
}

/// Returns the number of child processes of `pid` that it has not reaped yet.
fn child_count(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let read_children = |it: fs::DirEntry| fs::read_to_string(it.path().join("children"));
    let children = threads.filter_map(|it| read_children(it).ok());
    children.map(|it| it.split_whitespace().count() as u64).sum()
}

/// Returns the size of a file, or 0 if it does not exist.
fn file_size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |it| it.len())
}

/// Returns the bytes in pages that are not free, from the header of a SQLite database: page size at
/// offset 16, number of pages at 28, number of free pages at 36.
fn used_bytes(path: &Path) -> Option<u64> {
    let mut header = [0; 40];
    File::open(path).ok()?.read_exact(&mut header).ok()?;
    let read_u32 = |offset: usize| {
        header[offset..offset + 4].iter().fold(0, |all, it| all << 8 | u64::from(*it))
    };
    Some((read_u32(16) >> 16) * read_u32(28).checked_sub(read_u32(36))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauge_is_matched_by_exact_name() {
        let text = "# TYPE a gauge\nab 1\na{b=\"c\"} 2\na 3\n";
        assert_eq!(gauge(text, "a").unwrap(), 3);
        assert!(gauge(text, "b").is_err());
    }
}
