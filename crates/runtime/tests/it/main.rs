//! Agents as callers see them: through the engine.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod command;
mod demo;
mod echo;
mod harness;
mod remote;
mod tools;
