//! Reads the members of one JSON object in one pass, each as the raw JSON it is.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::{self, ParseError};

/// What was found of the members that were looked for.
pub(super) struct ObjectMembers<'a, const N: usize> {
    /// The value of each, in the order of the names; the last one where there are several.
    pub(super) values: [Option<&'a str>; N],
    /// Which of them are there more than once.
    pub(super) repeated: [bool; N],
}

/// Why there are no members.
pub(super) enum ObjectError {
    /// It is JSON, but something other than an object.
    NotAnObject,
    /// It is not JSON.
    Malformed(ParseError),
}

/// Finds the members `names` of the object that `bytes` are. Other members are passed over.
pub(super) fn find<'a, const N: usize>(
    bytes: &'a [u8],
    names: &'static [&'static str; N],
) -> Result<ObjectMembers<'a, N>, ObjectError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let members = MembersVisitor(names).deserialize(&mut reader);
    members
        .and_then(|members| reader.end().map(|()| members))
        .map_err(|error| explain(bytes, &error))
}

/// A value of another kind stops the reading at once; what is behind it may still not be JSON.
#[cold]
fn explain(bytes: &[u8], error: &serde_json::Error) -> ObjectError {
    if !error.is_data() {
        return ObjectError::Malformed(json::malformed(error));
    }
    match serde_json::from_slice::<IgnoredAny>(bytes) {
        Ok(_) => ObjectError::NotAnObject,
        Err(error) => ObjectError::Malformed(json::malformed(&error)),
    }
}

#[derive(Clone, Copy)]
struct MembersVisitor<const N: usize>(&'static [&'static str; N]);

impl<'de, const N: usize> DeserializeSeed<'de> for MembersVisitor<N> {
    type Value = ObjectMembers<'de, N>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for MembersVisitor<N> {
    type Value = ObjectMembers<'de, N>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut object = ObjectMembers { values: [None; N], repeated: [false; N] };
        while let Some(position) = members.next_key_seed(MemberIndexVisitor(self.0))? {
            let Some(index) = position else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let value: &RawValue = members.next_value()?;
            object.repeated[index] |= object.values[index].replace(value.get()).is_some();
        }
        Ok(object)
    }
}

/// Reads the name of a member as its place among the names.
struct MemberIndexVisitor<const N: usize>(&'static [&'static str; N]);

impl<'de, const N: usize> DeserializeSeed<'de> for MemberIndexVisitor<N> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_identifier(self)
    }
}

impl<const N: usize> Visitor<'_> for MemberIndexVisitor<N> {
    type Value = Option<usize>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|it| *it == name))
    }
}
