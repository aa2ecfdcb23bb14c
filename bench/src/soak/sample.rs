//! What a server takes at one moment.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::caller::Caller;
use super::server::Server;
use super::speech::{Request, Speech};
use super::trouble::Trouble;
use super::world::World;
use crate::Failure;
use crate::process::{children, descriptors, resident_bytes};

/// What a server takes at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sample {
    /// Since the beginning.
    pub seconds: f64,
    /// How often it was started.
    pub life: u32,
    /// Its memory in bytes.
    pub resident: u64,
    /// Its open files and sockets.
    pub descriptors: u64,
    /// Programs that it runs.
    pub children: u64,
    /// Connections, the one that asks included.
    pub connections: u64,
    /// Tasks that somebody works on or watches.
    pub live_tasks: u64,
    /// Turns that agents are at.
    pub turns: u64,
    /// Streams that are open.
    pub streams: u64,
    /// Webhooks with something to do.
    pub webhooks: u64,
    /// Tasks that are kept.
    pub tasks: u64,
    /// The bytes of the database that are in use.
    pub database: u64,
    /// The size of its file, which is the most that ever was in use.
    pub file: u64,
    /// The size of its log in bytes.
    pub log: u64,
}

impl Sample {
    /// Whether nothing is going on: the connection that asks is the only one.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let Self { live_tasks, turns, streams, webhooks, children, connections, .. } = self;
        [live_tasks, turns, streams, webhooks, children].iter().all(|it| **it == 0)
            && *connections <= 1
    }
}

/// Takes samples of one life of a server.
#[derive(Clone, Debug)]
pub struct Sampler {
    begin: Instant,
    life: u32,
    process: u32,
    database: PathBuf,
}

impl Sampler {
    /// Begins with the first life.
    #[must_use]
    pub fn new(server: &Server) -> Self {
        let (process, database) = (server.process(), server.database());
        Self { begin: Instant::now(), life: 1, process, database }
    }

    /// Goes on with the next one.
    #[must_use]
    pub fn again(self, server: &Server) -> Self {
        Self { life: self.life + 1, process: server.process(), ..self }
    }

    /// Looks at the server, which is there.
    ///
    /// # Errors
    /// When it does not say how it is.
    pub async fn look(&self, world: &Arc<World>) -> Result<Sample, Failure> {
        let mut asker = Caller::new(world, 1);
        let untold = |trouble: Trouble| format!("the server does not say how it is: {trouble:?}");
        let (_, metrics) = asker.fetch(&Request::plain("GET", "/metrics")).await.map_err(untold)?;
        let metrics = String::from_utf8(metrics)?;
        let page = asker.expect(&Speech::Rest.list(1, "")).await.map_err(untold)?;
        let gauge = |name: &str| gauge(&metrics, name);
        Ok(Sample {
            seconds: self.begin.elapsed().as_secs_f64(),
            life: self.life,
            resident: resident_bytes(self.process),
            descriptors: descriptors(self.process),
            children: children(self.process),
            connections: gauge("latimer_connections")?,
            live_tasks: gauge("latimer_live_tasks")?,
            turns: gauge("latimer_turns")?,
            streams: gauge("latimer_streams")?,
            webhooks: gauge("latimer_webhooks")?,
            tasks: page.0["totalSize"].as_u64().ok_or("a list without its size")?,
            database: used_bytes(&self.database).unwrap_or_default(),
            file: size(&self.database),
            log: size(&self.database.with_extension("db-wal")),
        })
    }
}

fn gauge(metrics: &str, name: &str) -> Result<u64, Failure> {
    let mut lines = metrics.lines().filter_map(|it| it.split_once(' '));
    let value = lines.find_map(|(it, value)| (it == name).then(|| value.parse().ok()).flatten());
    value.ok_or_else(|| format!("{name} is not among the numbers").into())
}

/// The size of a file; none when it is not there.
fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |it| it.len())
}

/// The bytes in pages that are not free, as the head of a SQLite database says: the size of a page
/// at 16, the number of pages at 28, that of free ones at 36.
fn used_bytes(path: &Path) -> Option<u64> {
    let mut head = [0; 40];
    File::open(path).ok()?.read_exact(&mut head).ok()?;
    let number = |at: usize| head[at..at + 4].iter().fold(0, |all, it| all << 8 | u64::from(*it));
    Some((number(16) >> 16) * number(28).checked_sub(number(36))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_is_found_by_its_whole_name() {
        let text = "# TYPE a gauge\nab 1\na{b=\"c\"} 2\na 3\n";
        assert_eq!(gauge(text, "a").unwrap(), 3);
        assert!(gauge(text, "b").is_err());
    }
}
