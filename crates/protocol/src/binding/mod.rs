//! Transports: how calls and replies are framed as bytes.
//!
//! A binding determines the operation and version of a call, and passes payloads on as raw JSON.
//! [`Dialect`](crate::Dialect) decodes the payloads. The functions work on bytes and strings; the
//! server and the client do the I/O.
//!
//! | module | content |
//! | --- | --- |
//! | [`grpc`] | gRPC services and method names |
//! | [`jsonrpc`] | JSON-RPC 2.0 envelopes |
//! | [`parameters`] | HTTP headers and gRPC metadata of calls |
//! | [`rest`] | routes and bodies of HTTP+JSON |
//! | [`sse`] | server-sent events |
//! | `version_policy` | check of the declared version |

pub mod grpc;
pub mod jsonrpc;
pub mod parameters;
pub mod rest;
pub mod sse;
mod version_policy;

pub use version_policy::VersionPolicy;
