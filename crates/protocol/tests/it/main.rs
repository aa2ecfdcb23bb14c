//! The crate from outside: real peers' bytes, the rules of the protocol, and arbitrary input.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod arbitrary;
mod bad_input;
mod cards;
mod carried;
mod documents;
mod golden;
mod lifecycle;
mod oldest;

mod round_trip;
mod streams;
mod traps;
