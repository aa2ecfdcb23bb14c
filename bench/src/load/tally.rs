//! Counting.

use std::time::Instant;

use super::{Outcome, Plan, Span};
use crate::histogram::Histogram;
use crate::process::{cores_busy_seconds, cpu_seconds};

/// What happened so far.
#[derive(Debug)]
pub(super) struct Tally {
    span: Span,
    asked: u64,
    answered: u64,
    counted: Histogram,
    bytes: u64,
    events: u64,
    errors: u64,
    first_error: Option<String>,
    from: Option<Moment>,
    to: Option<Moment>,
}

#[derive(Clone, Copy, Debug)]
struct Moment {
    at: Instant,
    answered: u64,
    server_cpu: f64,
    behind_cpu: f64,
    load_cpu: f64,
    all_cpu: f64,
}

impl Tally {
    pub(super) fn new(span: Span) -> Self {
        Self {
            span,
            asked: 0,
            answered: 0,
            counted: Histogram::default(),
            bytes: 0,
            events: 0,
            errors: 0,
            first_error: None,
            from: None,
            to: None,
        }
    }

    /// From here on it counts.
    pub(super) fn begin(&mut self, plan: &Plan) {
        self.from = Some(self.moment(plan));
    }

    /// Up to here it counts, unless that was said before.
    pub(super) fn end(&mut self, plan: &Plan) {
        if self.to.is_none() {
            self.to = Some(self.moment(plan));
        }
    }

    fn moment(&self, plan: &Plan) -> Moment {
        Moment {
            at: Instant::now(),
            answered: self.answered,
            server_cpu: cpu_seconds(plan.server),
            behind_cpu: plan.behind.map_or(0.0, cpu_seconds),
            load_cpu: cpu_seconds(std::process::id()),
            all_cpu: cores_busy_seconds(),
        }
    }

    pub(super) fn next(&mut self) -> Option<u64> {
        let over = match self.span {
            Span::Seconds { .. } => self.to.is_some(),
            Span::Requests(all) => self.asked >= all,
        };
        if over {
            return None;
        }
        self.asked += 1;
        Some(self.asked)
    }

    pub(super) fn done(&mut self, begin: Instant, bytes: usize, events: usize) {
        self.answered += 1;
        // What began before, or ended after, is not counted.
        let counts = self.to.is_none() && self.from.is_some_and(|it| begin >= it.at);
        if counts {
            self.counted.add(begin.elapsed().as_nanos() as u64);
            self.bytes += bytes as u64;
            self.events += events as u64;
        }
    }

    pub(super) fn failed(&mut self, what: impl FnOnce() -> String) {
        self.errors += 1;
        if self.first_error.is_none() {
            self.first_error = Some(what().chars().take(300).collect());
        }
    }

    pub(super) fn outcome(&self) -> Outcome {
        let (Some(from), Some(to)) = (self.from, self.to) else { return Outcome::default() };
        let seconds = (to.at - from.at).as_secs_f64();
        let answered = (to.answered - from.answered).max(1) as f64;
        let done = self.counted.count();
        let server_cpu = to.server_cpu - from.server_cpu;
        let behind_cpu = to.behind_cpu - from.behind_cpu;
        let load_cpu = to.load_cpu - from.load_cpu;
        let known_cpu = server_cpu + behind_cpu + load_cpu;
        let others_cpu = (to.all_cpu - from.all_cpu - known_cpu).max(0.0);
        Outcome {
            done,
            seconds,
            per_second: (to.answered - from.answered) as f64 / seconds,
            p50_micros: self.counted.quantile_micros(0.5),
            p99_micros: self.counted.quantile_micros(0.99),
            max_micros: self.counted.max_micros(),
            over_5_10_20_ms: self.counted.over(),
            server_cpu_micros: server_cpu * 1e6 / answered,
            behind_cpu_micros: behind_cpu * 1e6 / answered,
            load_busy: load_cpu / seconds,
            others: others_cpu / seconds / 2.0,
            bytes: self.bytes as f64 / done.max(1) as f64,
            events: self.events as f64 / done.max(1) as f64,
            errors: self.errors,
            first_error: self.first_error.clone(),
        }
    }
}
