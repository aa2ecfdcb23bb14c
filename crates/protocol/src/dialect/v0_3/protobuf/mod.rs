//! 0.3 as protobuf: the messages of `a2a.v1`, to and from the model.
//!
//! There are only conversions here, `From` for what we write and `TryFrom` for what we read, whose
//! error names the field as JSON would; those that 1.0 spells alike are in
//! [`dialect::protobuf`](crate::dialect::protobuf). Two writers need more than the model: [`card()`]
//! and [`stream_response`].

mod card;
mod object;
mod push;
mod request;
mod security;

pub use card::card;
pub use object::stream_response;
