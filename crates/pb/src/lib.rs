//! Protobuf messages of the A2A protocol, and its gRPC stubs.
//!
//! | module | protobuf package | what it is |
//! | --- | --- | --- |
//! | [`v1`] | `lf.a2a.v1` | A2A 1.0 |
//! | [`v0_3`] | `a2a.v1` | A2A 0.3, with the fields its SDKs added later |
//! | [`rpc`] | `google.rpc` | errors with details |
//!
//! Everything is generated from `proto/` by `cargo xtask generate` and checked in, so that a build
//! needs neither `protoc` nor a build script. There is no logic here: what the messages mean, and
//! how they read as JSON, is the business of other crates. Well-known types come from
//! [`prost_types`], bytes are [`bytes::Bytes`], and maps are ordered, so that equal messages
//! encode to equal bytes.
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
//! - `grpc`: modules `client` and `server` in [`v1`] and [`v0_3`] with the stubs for tonic, without
//!   a transport, and `FILE_DESCRIPTOR_SET` for server reflection.

#[rustfmt::skip]
mod generated;

#[cfg(feature = "grpc")]
pub use generated::descriptor::FILE_DESCRIPTOR_SET;
pub use generated::{rpc, v0_3, v1};
