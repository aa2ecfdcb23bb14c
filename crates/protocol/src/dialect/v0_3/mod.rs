//! 0.3, and 0.2.x before it: three shapes of one version.
//!
//! What 0.3 cannot carry, and so is lost on the way to a peer of that version:
//!
//! - `tenant`: it has none.
//! - the media type and file name of a text or data part.
//! - a difference between no context and none told: a task without one says `""` over JSON-RPC.
//! - over JSON-RPC, the page of a list of webhooks: it is one array.
//! - over HTTP+JSON, `referenceTaskIds`, which its strict parsers do not know.
//! - over HTTP+JSON and gRPC, the metadata of a cancellation and the size of a page of tasks.
//! - over gRPC, what is 0 or false, because it reads as not said: a `historyLength` of 0 and
//!   `includeArtifacts: false`.
//!
//! A data part holds an object only; any other value travels wrapped as `{"value": …}` under a mark
//! in the part's metadata, as the official SDKs do it. `final` is made from whether the stream ends.

pub(super) mod json;
pub(crate) mod protobuf;
pub(super) mod protojson;
pub(super) mod push;
pub(super) mod resource_name;
