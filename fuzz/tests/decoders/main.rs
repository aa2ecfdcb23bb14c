//! Fuzz targets: decoders must not panic, hang or allocate excessive memory on any input.
//!
//! Inputs are mutated recordings of other implementations, and random bytes. Under `cargo test`
//! each target runs for one second. `BOLERO_RANDOM_TEST_TIME_MS` and `BOLERO_RANDOM_ITERATIONS`
//! change the duration, and `BOLERO_RANDOM_SEED` reproduces a failure.

#![expect(clippy::expect_used, reason = "tests may panic")]

mod cards;
mod corpus;
mod json;
mod protobuf;
mod urls_and_headers;

use std::alloc::System;

use cap::Cap;

/// Aborts the process above 256 MiB. Inputs have at most a few dozen kilobytes, so exceeding the
/// limit means that an attacker could control the memory use.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, 256 << 20);
