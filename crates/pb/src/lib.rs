//! Protobuf messages of the A2A protocol, and its gRPC stubs.
//!
//! | module | protobuf package | content |
//! | --- | --- | --- |
//! | [`v1`] | `lf.a2a.v1` | A2A 1.0 |
//! | [`v0_3`] | `a2a.v1` | A2A 0.3, with the fields its SDKs added later |
//! | [`rpc`] | `google.rpc` | error details |
//!
//! The code is generated from `proto/` by `cargo xtask generate` and checked in, so a build needs
//! neither `protoc` nor a build script. The crate contains no logic; `latimer-protocol` converts
//! between these messages and its model. Well-known types come from [`prost_types`], bytes are
//! [`bytes::Bytes`], and maps are ordered, so equal messages have equal encodings.
//!
//! ```
//! use latimer_pb::v1::{Message, Part, Role, part::Content};
//! use prost::Message as _;
//!
//! let part = Part { content: Some(Content::Text("hello".into())), ..Part::default() };
//! let message = Message {
//!     message_id: "m1".into(),
//!     role: Role::User.into(),
//!     parts: vec![part],
//!     ..Message::default()
//! };
//! let bytes = message.encode_to_vec();
//! assert_eq!(Message::decode(bytes.as_slice())?, message);
//! # Ok::<(), prost::DecodeError>(())
//! ```
//!
//! # Features
//!
//! - `grpc`: adds `FILE_DESCRIPTOR_SET` for server reflection, and the modules `client` and
//!   `server` with tonic stubs to [`v1`] and [`v0_3`]. It adds no transport.

#[rustfmt::skip]
mod generated;

#[cfg(feature = "grpc")]
pub use generated::descriptor::FILE_DESCRIPTOR_SET;
pub use generated::{rpc, v0_3, v1};
