//! Two ways to do one thing, side by side in one run.
//!
//! An absolute time says little on a shared machine. Both ways take turns in short rounds, and what
//! is reported is the median of each and their ratio.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How often both ways take turns.
const ROUNDS: usize = 41;
/// How long one turn lasts, about.
const TURN: Duration = Duration::from_millis(8);

/// The median time of one call, ours and the floor's.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Ours.
    pub ours: Duration,
    /// The floor's.
    pub floor: Duration,
}

impl Measured {
    /// Ours as a multiple of the floor: below 1 is faster.
    #[must_use]
    pub fn ratio(self) -> f64 {
        self.ours.as_secs_f64() / self.floor.as_secs_f64()
    }
}

/// Measures `ours` against `floor`.
pub fn measure<A, B>(mut ours: impl FnMut() -> A, mut floor: impl FnMut() -> B) -> Measured {
    let calls = calls_per_turn(&mut ours).min(calls_per_turn(&mut floor));
    let mut times = (Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        times.0.push(turn(&mut ours, calls));
        times.1.push(turn(&mut floor, calls));
    }
    Measured { ours: median(times.0), floor: median(times.1) }
}

fn calls_per_turn<T>(call: &mut impl FnMut() -> T) -> u32 {
    let mut calls = 1u32;
    loop {
        let taken = turn(call, calls) * calls;
        if taken >= TURN || calls > 1 << 24 {
            return calls;
        }
        calls *= 2;
    }
}

/// The time of one call, on the average of `calls`.
fn turn<T>(call: &mut impl FnMut() -> T, calls: u32) -> Duration {
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
