//! Tests of the stores through their public API.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod contract;
mod corruption;
mod crash;
mod fixtures;
mod model;
mod open;
