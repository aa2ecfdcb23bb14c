//! Reads every JSON shape from before 1.0.
//!
//! Strict in what is sent, tolerant in what is read: there is one reader for 0.3, 0.2.x, 0.1 and
//! the oldest REST, because real peers mix their spellings (a `message/send` with `ROLE_USER` and
//! parts without `kind` is a documented call). What each of them *writes* is a module of its own:
//! [`super::v0_3`], [`super::v0_1`], [`super::oldest`].
//!
//! Two members cannot be understood without knowing the [`Family`]: a `data` without a tag, and the
//! bytes of a file.

mod object;
mod part;
mod reply;
mod request;

use crate::json::Invalid;

pub(super) use object::Task;
pub(super) use part::{WRAPPED_MARK, WRAPPED_VALUE, decoded_twice, unwrap_value};
pub(super) use reply::{read_event, read_reply};
pub(super) use request::read_request;

/// Which family of JSON a text belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// The JSON schema's: tagged parts, lower-case names.
    Schema,
    /// The protobuf file's: untagged parts, a data part nests its value once more, and the bytes
    /// of a file may be base64 twice.
    Proto,
}

impl Family {
    /// An enum that must be there, where its absence does not stand for its zero.
    fn required<T: Default>(self, value: Option<T>, field: &str) -> Result<T, Invalid> {
        match (value, self) {
            (Some(value), _) => Ok(value),
            (None, Self::Proto) => Ok(T::default()),
            (None, Self::Schema) => Err(Invalid::missing(field)),
        }
    }

    /// What a message calls its parts.
    fn parts(self) -> &'static str {
        match self {
            Self::Schema => "parts",
            Self::Proto => "content",
        }
    }
}
