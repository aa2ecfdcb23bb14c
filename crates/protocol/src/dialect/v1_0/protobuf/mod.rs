//! Conversions between the model and the protobuf messages of 1.0 (`lf.a2a.v1`).
//!
//! `From` encodes and `TryFrom` decodes; decoding errors name the field as in JSON. Conversions
//! shared with 0.3 are in [`dialect::protobuf`](crate::dialect::protobuf). Numbers in metadata and
//! data parts are doubles.
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
