//! Identifiers of tasks, contexts, messages, artifacts and webhooks.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Maximum length of an identifier, in bytes.
pub const MAX_ID_BYTES: usize = 1024;

/// Reason why a string is not a valid identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidId {
    /// The string is empty.
    #[error("must not be empty")]
    Empty,
    /// The string is longer than [`MAX_ID_BYTES`].
    #[error("must not be longer than {MAX_ID_BYTES} bytes")]
    TooLong,
    /// The string contains a control character, which stores and logs may not preserve.
    #[error("must not contain control characters")]
    ControlCharacter,
}

fn validate_id(text: &str) -> Result<(), InvalidId> {
    if text.is_empty() {
        return Err(InvalidId::Empty);
    }
    if text.len() > MAX_ID_BYTES {
        return Err(InvalidId::TooLong);
    }
    // Fast path: identifiers are almost always printable ASCII.
    let printable_ascii = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if !printable_ascii && text.chars().any(char::is_control) {
        return Err(InvalidId::ControlCharacter);
    }
    Ok(())
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)+) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Validates `text` and creates an identifier from it. Copies the string once; clones
            /// share it.
            ///
            /// # Errors
            /// Returns [`InvalidId`] if `text` is empty, too long or contains a control character.
            pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidId> {
                validate_id(text.as_ref())?;
                Ok(Self(Arc::from(text.as_ref())))
            }

            /// Returns the identifier as a string slice.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                &*self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                &*self.0 == *other
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, concat!(stringify!($name), "({:?})"), &*self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(IdVisitor(|text: &str| Self::new(text)))
            }
        }
    )+};
}

ids! {
    /// Identifier of a task. Opaque: it has no structure that callers may rely on.
    ///
    /// ```
    /// use latimer_protocol::{InvalidId, TaskId};
    ///
    /// let id = TaskId::new("t1")?;
    /// assert_eq!(id, "t1");
    /// assert_eq!(TaskId::new(""), Err(InvalidId::Empty));
    /// # Ok::<(), InvalidId>(())
    /// ```
    TaskId
    /// Identifier of a context, which groups related tasks and messages.
    ContextId
    /// Identifier of a message, chosen by its sender.
    MessageId
    /// Identifier of an artifact, unique within its task.
    ArtifactId
    /// Identifier of a push notification configuration, unique within its task.
    PushConfigId
}

impl ArtifactId {
    /// Returns the default identifier for the only artifact of a task.
    #[must_use]
    pub fn first() -> Self {
        Self::from_index(0)
    }

    /// Creates the identifier of the artifact at `index`, for versions that number artifacts.
    #[must_use]
    pub fn from_index(index: u64) -> Self {
        Self(Arc::from(format!("artifact-{index}")))
    }
}

impl From<&MessageId> for TaskId {
    /// Uses the id of a message as the id of the task that represents it. Both obey the same rules.
    fn from(id: &MessageId) -> Self {
        Self(Arc::clone(&id.0))
    }
}

struct IdVisitor<F>(F);

impl<T, F: FnOnce(&str) -> Result<T, InvalidId>> Visitor<'_> for IdVisitor<F> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_text_is_a_valid_id() {
        for text in ["t1", "a:cancel", "tasks/1", "Ünïcode-✓", " ", "%2F"] {
            assert_eq!(TaskId::new(text).unwrap(), text);
        }
    }

    #[test]
    fn empty_long_or_control_character_id_is_rejected() {
        let long = "x".repeat(MAX_ID_BYTES + 1);
        for (text, want) in [
            ("", InvalidId::Empty),
            ("a\0b", InvalidId::ControlCharacter),
            ("a\nb", InvalidId::ControlCharacter),
            (long.as_str(), InvalidId::TooLong),
        ] {
            assert_eq!(TaskId::new(text), Err(want), "{text:?}");
        }
    }
}
