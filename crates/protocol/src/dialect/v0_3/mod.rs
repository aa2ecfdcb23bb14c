//! 0.3, and 0.2.x before it: three shapes of one version.
//!
//! What 0.3 cannot carry, and so is lost on the way to a peer of that version:
//!
//! - `tenant`: it has none.
//! - the media type and file name of a text or data part.
//! - a difference between no context and none told: a task without one says `""` over JSON-RPC.
//! - over HTTP+JSON `referenceTaskIds`, which its strict parsers do not know.
//! - over gRPC a `historyLength` of 0, which reads as not given, and `blocking: true` beside no
//!   other setting, which reads the same as nothing said.
//! - of a card what [`Form::V0_3`](crate::card::Form::V0_3) leaves out, and over gRPC a little more:
//!   see [`protobuf::card()`].
//!
//! A data part holds an object only; any other value travels wrapped as `{"value": …}` under a mark
//! in the part's metadata, as the official SDKs do it. `final` is made from whether the stream ends.

pub(super) mod json;
pub(super) mod name;
pub(crate) mod protobuf;
pub(super) mod protojson;
pub(super) mod push;
