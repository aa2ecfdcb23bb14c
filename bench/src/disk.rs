//! Latency of durable writes to the disk.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::BenchError;
use crate::histogram::Histogram;

/// Rate and latency of 4 KiB appends, each followed by `fdatasync`, as a durable commit requires.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DiskLatency {
    /// Sequential synced appends per second.
    pub syncs_per_second: f64,
    /// Median latency in microseconds.
    pub p50_micros: f64,
    /// 99th percentile of the latency in microseconds.
    pub p99_micros: f64,
    /// Maximum latency in microseconds.
    pub max_micros: f64,
}

/// Appends 4 KiB blocks to a temporary file in `dir` and syncs each, for `duration`. Blocks.
///
/// # Errors
/// Fails if the file cannot be created, written or synced.
pub fn probe(dir: &Path, duration: Duration) -> Result<DiskLatency, BenchError> {
    let path = dir.join(format!("sync-probe-{}", std::process::id()));
    let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
    let block = [0x5a; 4096];
    let mut histogram = Histogram::default();
    let start = Instant::now();
    while start.elapsed() < duration {
        let append_start = Instant::now();
        file.write_all(&block)?;
        file.sync_data()?;
        histogram.record(append_start.elapsed().as_nanos() as u64);
    }
    let seconds = start.elapsed().as_secs_f64();
    std::fs::remove_file(&path)?;
    Ok(DiskLatency {
        syncs_per_second: histogram.count() as f64 / seconds,
        p50_micros: histogram.quantile_micros(0.5),
        p99_micros: histogram.quantile_micros(0.99),
        max_micros: histogram.max_micros(),
    })
}
