//! Identifiers, valid by construction and opaque afterwards.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest identifier that is accepted, in bytes.
pub const MAX_ID_BYTES: usize = 1024;

/// Why a text is not an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidId {
    /// Nothing is there.
    #[error("must not be empty")]
    Empty,
    /// More than [`MAX_ID_BYTES`] bytes.
    #[error("must not be longer than {MAX_ID_BYTES} bytes")]
    TooLong,
    /// A control character, which no store and no log could keep faithfully.
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
    // Plain ASCII is the rule; only other texts are looked at character by character.
    let plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if !plain && text.chars().any(char::is_control) {
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
            /// Takes `text` as an identifier.
            ///
            /// # Errors
            /// When it is empty, too long, or holds a control character.
            pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidId> {
                validate_id(text.as_ref())?;
                Ok(Self(Arc::from(text.as_ref())))
            }

            /// The identifier as text.
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
    /// Identifies one task. Opaque: compare it, print it, never look inside.
    TaskId
    /// Identifies one conversation: the tasks and messages that belong together.
    ContextId
    /// Identifies one message, chosen by whoever wrote it.
    MessageId
    /// Identifies one artifact within its task.
    ArtifactId
    /// Identifies one push notification configuration within its task.
    PushConfigId
}

impl ArtifactId {
    /// The name of the only artifact of a task, where nothing better is known.
    #[must_use]
    pub fn first() -> Self {
        Self::from_index(0)
    }

    /// The name of the artifact at `index`, for peers whose artifacts have numbers only.
    #[must_use]
    pub fn from_index(index: u64) -> Self {
        Self(Arc::from(format!("artifact-{index}")))
    }
}

impl From<&MessageId> for TaskId {
    /// Uses the id of a message as the id of the task that it stands for. Both obey the same rules.
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
