//! Tests of the guard and the HTTP client against listeners on loopback.
//!
//! No test sends data to another machine, even if the guard is broken: a stub resolves host names,
//! and the dialer records all addresses and connects only to loopback.

#![expect(clippy::disallowed_methods, reason = "the runtime of a test stops its tasks")]
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
