//! Tests of configurations and of daemons that run them.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod auth;
mod config;
mod fixture;
mod gateway;
mod reference;
mod samples;
mod serving;
