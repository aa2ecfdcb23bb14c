//! Counters and latencies of the measured interval.

use std::time::Instant;

use super::{LoadResult, Plan, Span};
use crate::histogram::Histogram;
use crate::process::{cores_busy_seconds, cpu_seconds};

/// Counters of one run.
#[derive(Debug)]
pub(super) struct Tally {
    span: Span,
    issued: u64,
    completed: u64,
    latencies: Histogram,
    bytes: u64,
    events: u64,
    errors: u64,
    first_error: Option<String>,
    start: Option<CpuSample>,
    end: Option<CpuSample>,
}

#[derive(Clone, Copy, Debug)]
struct CpuSample {
    at: Instant,
    completed: u64,
    server_cpu: f64,
    upstream_cpu: f64,
    load_cpu: f64,
    busy_cpu: f64,
}

impl Tally {
    pub(super) fn new(span: Span) -> Self {
        Self {
            span,
            issued: 0,
            completed: 0,
            latencies: Histogram::default(),
            bytes: 0,
            events: 0,
            errors: 0,
            first_error: None,
            start: None,
            end: None,
        }
    }

    /// Starts the measured interval.
    pub(super) fn start_measuring(&mut self, plan: &Plan) {
        self.start = Some(self.sample(plan));
    }

    /// Ends the measured interval, if it has not ended yet.
    pub(super) fn stop_measuring(&mut self, plan: &Plan) {
        if self.end.is_none() {
            self.end = Some(self.sample(plan));
        }
    }

    fn sample(&self, plan: &Plan) -> CpuSample {
        CpuSample {
            at: Instant::now(),
            completed: self.completed,
            server_cpu: cpu_seconds(plan.server_process),
            upstream_cpu: plan.upstream_process.map_or(0.0, cpu_seconds),
            load_cpu: cpu_seconds(std::process::id()),
            busy_cpu: cores_busy_seconds(),
        }
    }

    pub(super) fn next_request(&mut self) -> Option<u64> {
        let is_finished = match self.span {
            Span::Seconds { .. } => self.end.is_some(),
            Span::Requests(total) => self.issued >= total,
        };
        if is_finished {
            return None;
        }
        self.issued += 1;
        Some(self.issued)
    }

    pub(super) fn record_success(&mut self, start: Instant, bytes: usize, events: usize) {
        self.completed += 1;
        // Requests that cross a boundary of the measured interval are ignored.
        let is_measured = self.end.is_none() && self.start.is_some_and(|it| start >= it.at);
        if is_measured {
            self.latencies.record(start.elapsed().as_nanos() as u64);
            self.bytes += bytes as u64;
            self.events += events as u64;
        }
    }

    pub(super) fn record_failure(&mut self, message: impl FnOnce() -> String) {
        self.errors += 1;
        if self.first_error.is_none() {
            self.first_error = Some(message().chars().take(300).collect());
        }
    }

    pub(super) fn result(&self) -> LoadResult {
        let (Some(start), Some(end)) = (self.start, self.end) else { return LoadResult::default() };
        let seconds = (end.at - start.at).as_secs_f64();
        let completed = (end.completed - start.completed).max(1) as f64;
        let done = self.latencies.count();
        let server_cpu = end.server_cpu - start.server_cpu;
        let upstream_cpu = end.upstream_cpu - start.upstream_cpu;
        let load_cpu = end.load_cpu - start.load_cpu;
        let known_cpu = server_cpu + upstream_cpu + load_cpu;
        let other_cpu = (end.busy_cpu - start.busy_cpu - known_cpu).max(0.0);
        LoadResult {
            done,
            seconds,
            per_second: (end.completed - start.completed) as f64 / seconds,
            p50_micros: self.latencies.quantile_micros(0.5),
            p99_micros: self.latencies.quantile_micros(0.99),
            max_micros: self.latencies.max_micros(),
            over_5_10_20_ms: self.latencies.exceeded(),
            server_cpu_micros: server_cpu * 1e6 / completed,
            upstream_cpu_micros: upstream_cpu * 1e6 / completed,
            load_busy: load_cpu / seconds,
            other_cpu_share: other_cpu / seconds / 2.0,
            bytes: self.bytes as f64 / done.max(1) as f64,
            events: self.events as f64 / done.max(1) as f64,
            errors: self.errors,
            first_error: self.first_error.clone(),
        }
    }
}
