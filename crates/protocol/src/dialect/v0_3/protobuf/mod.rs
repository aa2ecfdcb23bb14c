//! 0.3 as protobuf: the messages of `a2a.v1`, to and from the model.
//!
//! There are only conversions here, `From` for what we write and `TryFrom` for what we read, whose
//! error names the field as JSON would. One writer needs more than the model: [`stream_response`].

mod object;
mod request;

pub use object::stream_response;
