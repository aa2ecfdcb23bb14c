//! The guard and its client, against listeners of this machine.
//!
//! No test sends anything off this machine, even when the guard is broken: names are resolved by
//! tables, and sockets are opened by a dialer that keeps to loopback and writes down the rest.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod allowed;
mod forbidden;
mod limits;
mod pool;
mod proxies;
mod rebinding;
mod redirects;
mod support;
mod tls;
