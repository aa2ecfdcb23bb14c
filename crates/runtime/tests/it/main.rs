//! Tests of the agents through the engine, and of the tools against running servers.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod command;
mod demo;
mod echo;
mod harness;
mod remote;
mod tools;
