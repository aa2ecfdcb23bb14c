//! 1.0 as protobuf: the messages of `lf.a2a.v1`, to and from the model.
//!
//! There are only conversions here, `From` for what we write and `TryFrom` for what we read, whose
//! error names the field as JSON would; those that 0.3 spells alike are in
//! [`dialect::protobuf`](crate::dialect::protobuf). Numbers in free-form JSON are doubles.

mod card;
mod object;
mod push;
mod request;
mod security;
