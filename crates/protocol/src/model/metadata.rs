//! Application-defined metadata.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Application-defined members of a JSON object, in their original order. Dereferences to a map.
///
/// Most objects of the protocol allow metadata and few have any, so empty metadata is one null
/// pointer instead of a map.
///
/// ```
/// use latimer_protocol::Metadata;
///
/// let mut metadata = Metadata::new();
/// assert!(metadata.get("trace").is_none());
/// metadata.insert("trace".to_owned(), "7f".into());
/// assert_eq!(metadata["trace"], "7f");
/// ```
#[derive(Clone, Default)]
pub struct Metadata(Option<Box<Map<String, Value>>>);

static NO_MEMBERS: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

impl Metadata {
    /// Creates empty metadata. Does not allocate.
    #[must_use]
    pub const fn new() -> Self {
        Self(None)
    }

    /// Returns whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.as_deref().is_none_or(Map::is_empty)
    }
}

impl Deref for Metadata {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Map<String, Value> {
        self.0.as_deref().unwrap_or_else(|| &NO_MEMBERS)
    }
}

impl DerefMut for Metadata {
    fn deref_mut(&mut self) -> &mut Map<String, Value> {
        self.0.get_or_insert_default()
    }
}

/// Compares the members: metadata with all members removed equals [`Metadata::new`].
impl PartialEq for Metadata {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(out)
    }
}

impl From<Map<String, Value>> for Metadata {
    fn from(members: Map<String, Value>) -> Self {
        Self((!members.is_empty()).then(|| Box::new(members)))
    }
}

impl From<Metadata> for Map<String, Value> {
    fn from(metadata: Metadata) -> Self {
        metadata.0.map_or_else(Map::new, |members| *members)
    }
}

impl FromIterator<(String, Value)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> Self {
        Map::from_iter(members).into()
    }
}

impl Extend<(String, Value)> for Metadata {
    fn extend<I: IntoIterator<Item = (String, Value)>>(&mut self, members: I) {
        for (name, value) in members {
            self.insert(name, value);
        }
    }
}

impl IntoIterator for Metadata {
    type Item = (String, Value);
    type IntoIter = serde_json::map::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        Map::from(self).into_iter()
    }
}

impl<'a> IntoIterator for &'a Metadata {
    type Item = (&'a String, &'a Value);
    type IntoIter = serde_json::map::Iter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_round_trips_and_keeps_member_order() {
        let wire = json!({"b": 1, "a": {"c": [null]}});
        let metadata: Metadata = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(json!(metadata), wire);
        assert_eq!(metadata.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(Value::Object(metadata.clone().into()), wire);
        assert_eq!(metadata.into_iter().collect::<Metadata>().len(), 2);
    }

    #[test]
    fn empty_metadata_is_pointer_sized_and_compares_equal() {
        assert_eq!(size_of::<Metadata>(), size_of::<usize>());
        let mut emptied = Metadata::new();
        emptied.insert("a".to_owned(), json!(1));
        assert_ne!(emptied, Metadata::new());
        emptied.remove("a");
        assert!(emptied.is_empty());
        assert_eq!(emptied, Metadata::new());
        assert_eq!(json!(Metadata::new()), json!({}));
    }
}
