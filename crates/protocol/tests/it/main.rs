//! The crate from outside: real peers' bytes, the rules of the protocol, and arbitrary input.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod arbitrary;
mod bad_input;
mod card_pitfalls;
mod cards;
mod documents;
mod field_coverage;
mod golden;
mod known_pitfalls;
mod legacy;
mod lifecycle;
mod peers;
mod protobuf;
mod round_trip;
mod streams;
mod tolerance;

use latimer_protocol::Finality;

/// What `final` says in an event of 0.3.
fn finality(last: bool) -> Finality {
    if last { Finality::Last } else { Finality::More }
}
