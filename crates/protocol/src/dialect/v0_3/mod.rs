//! Encoders for 0.3 and 0.2.x, which have three formats.
//!
//! 0.3 cannot represent:
//!
//! - `tenant`.
//! - the media type and file name of a text or data part.
//! - a missing context: over JSON-RPC, a task without one has `""`.
//! - over JSON-RPC, pages of webhooks: the list is one array.
//! - over HTTP+JSON, `referenceTaskIds`, which strict parsers reject.
//! - over HTTP+JSON and gRPC, the metadata of a cancellation and the size of a page of tasks.
//! - over gRPC, explicit 0 and false, which equal absence: a `historyLength` of 0 and
//!   `includeArtifacts: false`.
//!
//! A data part can contain only an object. Other values are wrapped as `{"value": …}` and marked in
//! the metadata of the part, as in the official SDKs. `final` is derived from the end of the
//! stream.
//!
//! | module | content |
//! | --- | --- |
//! | `json` | JSON schema format, over JSON-RPC |
//! | `protobuf` | protobuf messages, over gRPC |
//! | `protojson` | ProtoJSON format, over HTTP+JSON |
//! | `push` | webhooks |
//! | `resource_name` | resource names of the protobuf file |

pub(super) mod json;
pub(crate) mod protobuf;
pub(super) mod protojson;
pub(super) mod push;
pub(super) mod resource_name;
