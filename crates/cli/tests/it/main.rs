//! The binary from outside.

#![expect(clippy::expect_used, reason = "a test may panic")]

mod interop;
