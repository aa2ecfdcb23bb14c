//! Request ids.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

/// Maximum length of a request id, in bytes of JSON. Every event of a stream repeats the id.
pub const MAX_ID_BYTES: usize = 1024;

/// Request id as raw JSON. `1`, `1.0` and `"1"` are distinct, and responses repeat the id byte for
/// byte.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Id<'a>(Cow<'a, str>);

impl<'a> Id<'a> {
    /// Id of a request that has none, or whose id is invalid.
    pub const NULL: Id<'static> = Id(Cow::Borrowed("null"));

    /// Validates that `json` is a string, a number or `null`.
    pub(super) fn from_json(json: &'a str) -> Result<Self, &'static str> {
        match json.as_bytes() {
            long if long.len() > MAX_ID_BYTES => Err("id is too long"),
            [b'"' | b'-' | b'0'..=b'9' | b'n', ..] => Ok(Self(Cow::Borrowed(json))),
            _ => Err("id must be a string, a number or null"),
        }
    }

    /// Returns the id as JSON.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// Returns whether the id is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0 == "null"
    }

    /// Copies the id, so that it no longer borrows from the input.
    #[must_use]
    pub fn into_owned(self) -> Id<'static> {
        Id(Cow::Owned(self.0.into_owned()))
    }

    /// Returns whether both ids have the same value, regardless of notation: some servers respond
    /// with `1.0` to `1`, or escape strings differently. A number never equals a string.
    #[must_use]
    pub fn matches(&self, other: &Id<'_>) -> bool {
        if self.0 == other.0 {
            return true;
        }
        let value = |id: &Id<'_>| serde_json::from_str::<Value>(&id.0).ok();
        match (value(self), value(other)) {
            (Some(Value::Number(one)), Some(Value::Number(two))) => one.as_f64() == two.as_f64(),
            (Some(Value::String(one)), Some(Value::String(two))) => one == two,
            _ => false,
        }
    }
}

impl From<u64> for Id<'static> {
    fn from(number: u64) -> Self {
        Self(Cow::Owned(number.to_string()))
    }
}

impl From<&str> for Id<'static> {
    fn from(text: &str) -> Self {
        Self(Cow::Owned(Value::from(text).to_string()))
    }
}

impl fmt::Debug for Id<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Id({})", self.0)
    }
}
