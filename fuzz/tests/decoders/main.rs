//! No decoder panics on any bytes, hangs on them, or takes memory out of proportion.
//!
//! Inputs are what real peers sent, with random damage, and plain random bytes. Under `cargo test` each
//! target runs for a second; `BOLERO_RANDOM_TEST_TIME_MS` and `BOLERO_RANDOM_ITERATIONS` set how
//! long, and `BOLERO_RANDOM_SEED` repeats a failure.

#![expect(clippy::expect_used, reason = "a test may panic")]

mod cards;
mod corpus;
mod json;
mod others;
mod protobuf;

use std::alloc::System;

use cap::Cap;

/// Inputs are a few dozen kilobytes at most, so whoever needs this much for one lets a stranger
/// decide how much memory is taken; the program is stopped there.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, 256 << 20);
