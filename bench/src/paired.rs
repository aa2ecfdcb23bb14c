//! Two ways to do one thing, side by side in one run.
//!
//! An absolute time says little on a shared machine. Both ways take turns in short rounds, and what
//! is reported is the median of each and their ratio.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How often both ways take turns.
const ROUNDS: usize = 41;
/// How long one turn lasts, about.
const BATCH_DURATION: Duration = Duration::from_millis(8);

/// The median time of one call, ours and the floor's.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Ours.
    pub latimer: Duration,
    /// The floor's.
    pub baseline: Duration,
}

impl Measured {
    /// Ours as a multiple of the floor: below 1 is faster.
    #[must_use]
    pub fn ratio(self) -> f64 {
        self.latimer.as_secs_f64() / self.baseline.as_secs_f64()
    }
}

/// Measures `ours` against `floor`.
pub fn measure<A, B>(mut latimer: impl FnMut() -> A, mut baseline: impl FnMut() -> B) -> Measured {
    let calls = calls_per_batch(&mut latimer).min(calls_per_batch(&mut baseline));
    let mut times = (Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        times.0.push(time_batch(&mut latimer, calls));
        times.1.push(time_batch(&mut baseline, calls));
    }
    Measured { latimer: median(times.0), baseline: median(times.1) }
}

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

/// The time of one call, on the average of `calls`.
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
