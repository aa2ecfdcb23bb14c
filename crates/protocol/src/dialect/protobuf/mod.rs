//! Conversions between the model and the protobuf messages of both packages, for gRPC.
//!
//! `From` encodes and `TryFrom` decodes. Functions replace `From` where the model alone is not
//! sufficient. Macros in this module implement the conversions that both packages share; the
//! modules of the versions contain the others.

mod card;
mod object;
mod security;

pub use super::v0_3::protobuf::card as v0_3_card;
pub use super::v0_3::protobuf::stream_response as v0_3_stream_response;
pub(super) use card::id_and_name;
