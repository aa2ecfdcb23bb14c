//! Reads every JSON shape from before 1.0.
//!
//! Strict in what is sent, tolerant in what is read: there is one reader for 0.3, 0.2.x, 0.1 and
//! the oldest REST, because real peers mix their spellings (a `message/send` with `ROLE_USER` and
//! parts without `kind` is a documented call). What each of them *writes* is a module of its own:
//! [`super::v0_3`], [`super::v0_1`], [`super::legacy`].
//!
//! Two members cannot be understood without knowing the [`JsonFlavor`]: a `data` without a tag, and the
//! bytes of a file.

mod object;
mod part;
mod reply;
mod request;

use crate::json::InvalidField;

pub(super) use object::Task;
pub(super) use part::{WRAPPED_FLAG_KEY, WRAPPED_VALUE_KEY, decode_if_base64, unwrap_value};
pub(super) use reply::{read_event, read_reply};
pub(super) use request::read_request;

/// Which family of JSON a text belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonFlavor {
    /// The JSON schema's: tagged parts, lower-case names.
    Schema,
    /// The protobuf file's: untagged parts, a data part nests its value once more, and the bytes
    /// of a file may be base64 twice.
    ProtoJson,
}

impl JsonFlavor {
    /// An enum that must be there, where its absence does not stand for its zero.
    fn required_enum<T: Default>(self, value: Option<T>, field: &str) -> Result<T, InvalidField> {
        match (value, self) {
            (Some(value), _) => Ok(value),
            (None, Self::ProtoJson) => Ok(T::default()),
            (None, Self::Schema) => Err(InvalidField::missing(field)),
        }
    }

    /// What a message calls its parts.
    fn parts_member(self) -> &'static str {
        match self {
            Self::Schema => "parts",
            Self::ProtoJson => "content",
        }
    }
}
