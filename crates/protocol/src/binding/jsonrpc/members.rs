//! One-pass extraction of the members of a JSON object as raw JSON.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::{self, ParseError};

/// Members extracted from an object.
pub(super) struct ObjectMembers<'a, const N: usize> {
    /// Values in the order of the requested names; the last value of a repeated member.
    pub(super) values: [Option<&'a str>; N],
    /// Whether each member occurs more than once.
    pub(super) repeated: [bool; N],
}

/// Reason why members could not be extracted.
pub(super) enum ObjectError {
    /// The input is JSON, but not an object.
    NotAnObject,
    /// The input is not JSON.
    Malformed(ParseError),
}

/// Extracts the members `names` from the object in `bytes` and skips others.
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

/// Classifies a failure. Decoding stops at the first value of a wrong type, so the rest may be
/// malformed.
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

/// Reads the name of a member as its index in the list of names.
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
