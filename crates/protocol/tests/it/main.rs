//! The crate from outside: real peers' bytes, the rules of the protocol, and arbitrary input.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod arbitrary;
mod bad_input;
mod card_traps;
mod cards;
mod carried;
mod documents;
mod golden;
mod lifecycle;
mod oldest;
mod peers;
mod protobuf;
mod round_trip;
mod streams;
mod tolerance;
mod traps;

use latimer_protocol::Then;

/// What `final` says in an event of 0.3.
fn then(last: bool) -> Then {
    if last { Then::Closes } else { Then::Continues }
}
