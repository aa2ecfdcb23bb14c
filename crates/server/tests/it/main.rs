//! The server as its callers see it, through real sockets.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod access;
mod addresses;
mod auth;
mod capabilities;
mod cards;
mod errors;
mod grpc;
mod limits;
mod operations;
mod pages;
mod push;
mod rates;
mod signing;
mod streams;
mod support;
mod swarm;
mod versions;
