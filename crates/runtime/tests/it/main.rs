//! Tests of the agents through the engine, and of the tools against running servers.

#![expect(clippy::disallowed_methods, reason = "the runtime of a test stops its tasks")]
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod command;
mod demo;
mod echo;
mod harness;
mod recovery;
mod remote;
mod tools;
