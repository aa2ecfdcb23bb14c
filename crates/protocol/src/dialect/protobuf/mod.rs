//! Protobuf, for gRPC: the messages of both packages convert to the model with `TryFrom`, and the
//! model to them with `From`. Where the model alone does not say it all, there is a function.
//!
//! What both packages spell alike stands here once, as a macro over the package; what a version has
//! of its own, be it the name of one field, is in its module.

mod card;
mod object;
mod security;

pub use super::v0_3::protobuf::card as v0_3_card;
pub use super::v0_3::protobuf::stream_response as v0_3_stream_response;
pub(super) use card::id_and_name;
