//! Lenient decoder for all JSON formats before 1.0.
//!
//! One decoder handles 0.3, 0.2.x, 0.1 and the legacy API, because existing peers mix their
//! formats; for example, some send `message/send` with `ROLE_USER` and parts without `kind`. The
//! encoders are separate and strict: [`super::v0_3`], [`super::v0_1`], [`super::legacy`].
//!
//! Only two members depend on the [`JsonFlavor`]: `data` without a tag, and the bytes of a file.
//!
//! | module | content |
//! | --- | --- |
//! | `object` | tasks, messages, artifacts and events |
//! | `part` | parts |
//! | `reply` | replies and stream events |
//! | `request` | requests |

mod object;
mod part;
mod reply;
mod request;

use crate::json::InvalidField;

pub(super) use object::Task;
pub(super) use part::{WRAPPED_FLAG_KEY, WRAPPED_VALUE_KEY, decode_if_base64, unwrap_value};
pub(super) use reply::{read_event, read_reply};
pub(super) use request::read_request;

/// Source of a JSON format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonFlavor {
    /// The JSON schema: tagged parts and lower-case enum values.
    Schema,
    /// The protobuf file: untagged parts, data parts with a nested `data` member, and file bytes
    /// that may be base64-encoded twice.
    ProtoJson,
}

impl JsonFlavor {
    /// Returns a required enum value. In ProtoJSON, a missing value means the zero value.
    fn required_enum<T: Default>(self, value: Option<T>, field: &str) -> Result<T, InvalidField> {
        match (value, self) {
            (Some(value), _) => Ok(value),
            (None, Self::ProtoJson) => Ok(T::default()),
            (None, Self::Schema) => Err(InvalidField::missing(field)),
        }
    }

    /// Returns the name of the member with the parts of a message.
    fn parts_member(self) -> &'static str {
        match self {
            Self::Schema => "parts",
            Self::ProtoJson => "content",
        }
    }
}
