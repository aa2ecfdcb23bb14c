//! 1.0 as protobuf: the messages of `lf.a2a.v1`, to and from the model.
//!
//! There are only conversions here, `From` for what we write and `TryFrom` for what we read, whose
//! error names the field as JSON would. Numbers in free-form JSON are doubles.

mod card;
mod object;
mod request;
mod security;
