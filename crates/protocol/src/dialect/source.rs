//! Where parameters come from.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::json::{self, Unreadable};

/// The parameters of a call: a JSON text, or members collected from a path, a query and a body.
#[derive(Debug)]
pub(crate) enum Source<'a> {
    /// A JSON text. Empty and `null` are read as an empty object.
    Text(&'a [u8]),
    /// Members of an object.
    Members(Map<String, Value>),
}

impl Source<'_> {
    pub(super) fn read<T: DeserializeOwned>(self) -> Result<T, Unreadable> {
        match self {
            Self::Text(text) => match text.trim_ascii() {
                b"" | b"null" => json::from_slice(b"{}"),
                _ => json::from_slice(text),
            },
            Self::Members(members) => Ok(json::from_members(members)?),
        }
    }
}
