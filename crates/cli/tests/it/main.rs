//! The binary as people and scripts use it.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod command_line;
mod config;
mod program;
mod restart;
mod serve;
