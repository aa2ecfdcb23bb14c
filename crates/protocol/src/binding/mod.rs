//! The grammar of each transport, over bytes and texts.
//!
//! A binding finds out which operation is asked for and in which version, and carries payloads as
//! the raw JSON they are. What a payload means is for the dialects; sockets are for the server and
//! the client. Nothing here reads or writes anything but its arguments.

pub mod grpc;
pub mod jsonrpc;
pub mod parameters;
pub mod rest;
pub mod sse;
mod version_policy;

pub use version_policy::VersionPolicy;
