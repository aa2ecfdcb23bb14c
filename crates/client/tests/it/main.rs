//! Tests of the client with real servers and with servers that violate the protocol.

#![expect(clippy::disallowed_methods, reason = "the runtime of a test stops its tasks")]
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod a2a_client;
mod card_urls;
mod credentials;
mod discovery;
mod follower;
mod malformed_responses;
mod operations;
mod options;
mod peer_quirks;
mod refresh;
mod response_headers;
mod retries;
mod setup;
mod support;
mod swarm;
mod transports;
