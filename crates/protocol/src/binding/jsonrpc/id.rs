//! What pairs an answer with its request.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

/// The longest identifier of a request that is accepted, in bytes of JSON. Every event of a stream
/// repeats it.
pub const MAX_ID_BYTES: usize = 1024;

/// The identifier of a request, as the JSON it came as: `1`, `1.0` and `"1"` are three of them, and
/// each is answered byte for byte.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Id<'a>(Cow<'a, str>);

impl<'a> Id<'a> {
    /// The identifier of a request that has none, or whose own could not be read.
    pub const NULL: Id<'static> = Id(Cow::Borrowed("null"));

    /// Takes a JSON value as an identifier; a string, a number and `null` are.
    pub(super) fn from_json(json: &'a str) -> Result<Self, &'static str> {
        match json.as_bytes() {
            long if long.len() > MAX_ID_BYTES => Err("id is too long"),
            [b'"' | b'-' | b'0'..=b'9' | b'n', ..] => Ok(Self(Cow::Borrowed(json))),
            _ => Err("id must be a string, a number or null"),
        }
    }

    /// The identifier as JSON.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0 == "null"
    }

    /// The same, apart from the bytes it was read from.
    #[must_use]
    pub fn into_owned(self) -> Id<'static> {
        Id(Cow::Owned(self.0.into_owned()))
    }

    /// Whether both say the same, however written: some servers answer `1.0` to `1`, or escape
    /// other characters. A number and a string are never the same.
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
