//! The stores, through their public API.

#![expect(clippy::expect_used, reason = "a test says by panicking what is wrong")]

mod contract;
