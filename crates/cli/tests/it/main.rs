//! Tests of the `latimer` binary.

#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "the runtime of a test stops its tasks")]
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod card;
mod command_line;
mod compatibility;
mod config;
mod cutting_proxy;
mod documents;
mod gateway;
mod interop;
mod output;
mod program;
mod push;
mod restart;
mod secrets;
mod serve;
mod single_run;
mod survival;
