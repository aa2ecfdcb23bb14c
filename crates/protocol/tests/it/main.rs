//! Tests of the public interface: recorded exchanges of other implementations, protocol rules and
//! arbitrary input.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "tests may panic")]

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

/// Returns the finality that 0.3 encodes as `final`.
fn finality(last: bool) -> Finality {
    if last { Finality::Last } else { Finality::More }
}
