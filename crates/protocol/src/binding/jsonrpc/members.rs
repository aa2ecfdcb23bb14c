//! Reads the members of one JSON object in one pass, each as the raw JSON it is.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::{self, Unreadable};

/// What was found of the members that were looked for.
pub(super) struct Found<'a, const N: usize> {
    /// The value of each, in the order of the names; the last one where there are several.
    pub(super) values: [Option<&'a str>; N],
    /// Which of them are there more than once.
    pub(super) repeated: [bool; N],
}

/// Why there are no members.
pub(super) enum NoObject {
    /// It is JSON, but something other than an object.
    Other,
    /// It is not JSON.
    Malformed(Unreadable),
}

/// Finds the members `names` of the object that `bytes` are. Other members are passed over.
pub(super) fn find<'a, const N: usize>(
    bytes: &'a [u8],
    names: &'static [&'static str; N],
) -> Result<Found<'a, N>, NoObject> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let found = Names(names).deserialize(&mut reader);
    found.and_then(|found| reader.end().map(|()| found)).map_err(|error| explain(bytes, &error))
}

/// A value of another kind stops the reading at once; what is behind it may still not be JSON.
#[cold]
fn explain(bytes: &[u8], error: &serde_json::Error) -> NoObject {
    if !error.is_data() {
        return NoObject::Malformed(json::malformed(error));
    }
    match serde_json::from_slice::<IgnoredAny>(bytes) {
        Ok(_) => NoObject::Other,
        Err(error) => NoObject::Malformed(json::malformed(&error)),
    }
}

#[derive(Clone, Copy)]
struct Names<const N: usize>(&'static [&'static str; N]);

impl<'de, const N: usize> DeserializeSeed<'de> for Names<N> {
    type Value = Found<'de, N>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for Names<N> {
    type Value = Found<'de, N>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = Found { values: [None; N], repeated: [false; N] };
        while let Some(known) = members.next_key_seed(Name(self.0))? {
            let Some(index) = known else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let value: &RawValue = members.next_value()?;
            found.repeated[index] |= found.values[index].replace(value.get()).is_some();
        }
        Ok(found)
    }
}

/// Reads the name of a member as its place among the names.
struct Name<const N: usize>(&'static [&'static str; N]);

impl<'de, const N: usize> DeserializeSeed<'de> for Name<N> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_identifier(self)
    }
}

impl<const N: usize> Visitor<'_> for Name<N> {
    type Value = Option<usize>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|it| *it == name))
    }
}
