//! Tests of the server over TCP connections.

#![expect(clippy::disallowed_methods, reason = "the runtime of a test stops its tasks")]
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod access;
mod auth;
mod browser_access;
mod capabilities;
mod cards;
mod connections;
mod embedding;
mod errors;
mod grpc;
mod lifecycle;
mod limits;
mod push;
mod rates;
mod routing;
mod signing;
mod streams;
mod support;
mod swarm;
mod versions;
