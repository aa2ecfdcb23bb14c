//! The client against the real server, and against everything that is none.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod addressed;
mod addresses;
mod credentials;
mod discovery;
mod following;
mod garbage;
mod heads;
mod oddities;
mod operations;
mod retries;
mod setup;
mod support;
mod swarm;
