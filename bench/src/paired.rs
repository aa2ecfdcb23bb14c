//! Paired measurement of two functions in one process.
//!
//! Absolute times vary with the load of a shared machine. Both functions therefore run in alternating
//! short rounds, and the medians and their ratio are reported.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Number of rounds.
const ROUNDS: usize = 41;
/// Approximate duration of one batch of calls.
const BATCH_DURATION: Duration = Duration::from_millis(8);

/// Median time of one call of each function.
#[derive(Clone, Copy, Debug)]
pub struct PairedTimes {
    /// Time of Latimer.
    pub latimer: Duration,
    /// Time of the baseline.
    pub baseline: Duration,
}

impl PairedTimes {
    /// Returns the time of Latimer as a multiple of the baseline; below 1 is faster.
    #[must_use]
    pub fn ratio(self) -> f64 {
        self.latimer.as_secs_f64() / self.baseline.as_secs_f64()
    }
}

/// Measures `latimer` and `baseline` in alternating rounds. Blocks for less than a second.
pub fn measure<A, B>(
    mut latimer: impl FnMut() -> A,
    mut baseline: impl FnMut() -> B,
) -> PairedTimes {
    let calls = calls_per_batch(&mut latimer).min(calls_per_batch(&mut baseline));
    let mut times = (Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        times.0.push(time_batch(&mut latimer, calls));
        times.1.push(time_batch(&mut baseline, calls));
    }
    PairedTimes { latimer: median(times.0), baseline: median(times.1) }
}

/// Returns how many calls take about [`BATCH_DURATION`].
fn calls_per_batch<T>(call: &mut impl FnMut() -> T) -> u32 {
    let mut calls = 1u32;
    loop {
        let elapsed = time_batch(call, calls) * calls;
        if elapsed >= BATCH_DURATION || calls > 1 << 24 {
            return calls;
        }
        calls *= 2;
    }
}

/// Returns the mean time of one call over a batch.
fn time_batch<T>(call: &mut impl FnMut() -> T, calls: u32) -> Duration {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(call());
    }
    start.elapsed() / calls
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
