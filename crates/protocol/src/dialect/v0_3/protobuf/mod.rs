//! Conversions between the model and the protobuf messages of 0.3 (`a2a.v1`).
//!
//! `From` encodes and `TryFrom` decodes; decoding errors name the field as in JSON. Conversions
//! shared with 1.0 are in [`dialect::protobuf`](crate::dialect::protobuf). [`card()`] and
//! [`stream_response`] are functions because they need more than the model.
//!
//! | module | content |
//! | --- | --- |
//! | `card` | agent cards, except security |
//! | `object` | tasks, messages, parts and events |
//! | `push` | webhooks and their requests |
//! | `request` | other requests and replies |
//! | `security` | security requirements and OAuth flows |

mod card;
mod object;
mod push;
mod request;
mod security;

pub use card::card;
pub use object::stream_response;
