//! Hop path of a message: the gateways it has passed, and how many more it may pass.
//!
//! Each gateway appends its hop id to the path and decrements the remaining hops. A message that
//! reaches a gateway twice, or has no hops left, is rejected. The error contains the path and is
//! returned through every gateway on it.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use latimer_protocol::{Message, Metadata};
use serde_json::{Value, json};

/// Metadata key of the hop ids that a message has passed, in order.
pub(crate) const PATH_KEY: &str = "latimer/path";

/// Metadata key of the number of remaining hops.
pub(crate) const HOPS_KEY: &str = "latimer/hops";

/// Maximum number of hop ids that are read from a message. Hop limits must not exceed it.
const MAX_PATH_LEN: usize = 64;

/// Maximum length of a hop id that is read from a message.
const MAX_HOP_ID_CHARS: usize = 128;

/// Hop path of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HopPath {
    visited: Vec<String>,
    remaining: u32,
}

/// Reason why a message is not forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HopError {
    /// The message has passed this gateway before.
    Loop(Vec<String>),
    /// The message has no hops left.
    TooManyHops(Vec<String>),
}

impl HopPath {
    /// Creates the empty path of a new message that may pass `remaining` gateways.
    pub(crate) fn new(remaining: u32) -> Self {
        Self { visited: Vec::new(), remaining }
    }

    /// Reads the path from the metadata of a message. `max_hops` is both the default and the upper
    /// limit of the remaining hops.
    pub(crate) fn from_message(message: &Message, max_hops: u32) -> Self {
        let visited = message.metadata.get(PATH_KEY).and_then(Value::as_array);
        let visited = visited.into_iter().flatten().filter_map(Value::as_str).take(MAX_PATH_LEN);
        let visited = visited.map(|it| it.chars().take(MAX_HOP_ID_CHARS).collect()).collect();
        let declared = message.metadata.get(HOPS_KEY).and_then(Value::as_u64);
        let declared = declared.map(|it| u32::try_from(it).unwrap_or(u32::MAX));
        Self { visited, remaining: declared.unwrap_or(max_hops).min(max_hops) }
    }

    /// Appends a hop. Fails if the path contains it already or has no hops left.
    pub(crate) fn push(mut self, hop_id: &str) -> Result<Self, HopError> {
        let is_loop = self.visited.iter().any(|it| it == hop_id);
        self.visited.push(hop_id.to_owned());
        match self.remaining.checked_sub(1) {
            _ if is_loop => Err(HopError::Loop(self.visited)),
            None => Err(HopError::TooManyHops(self.visited)),
            Some(remaining) => Ok(Self { remaining, ..self }),
        }
    }

    /// Writes the path to the metadata of a message.
    pub(crate) fn write_to(&self, metadata: &mut Metadata) {
        metadata.insert(PATH_KEY.to_owned(), json!(self.visited));
        metadata.insert(HOPS_KEY.to_owned(), json!(self.remaining));
    }
}

impl fmt::Display for HopError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loop(visited) => {
                write!(out, "the message was forwarded in a loop: {}", visited.join(" → "))
            }
            Self::TooManyHops(visited) => {
                write!(out, "the message exceeded its hop limit: {}", visited.join(" → "))
            }
        }
    }
}

/// Creates the hop id of an agent: its name and a random suffix, because agents of different
/// servers can have the same name.
pub(crate) fn hop_id(agent: &str) -> String {
    format!("{agent}@{:08x}", RandomState::new().hash_one(agent) >> 32)
}

#[cfg(test)]
mod tests {
    use latimer_protocol::{MessageId, Part};

    use super::*;

    fn message(metadata: Value) -> Message {
        let mut message = Message::user(MessageId::new("m").unwrap(), Part::text("hi"));
        message.metadata = serde_json::from_value(metadata).unwrap();
        message
    }

    #[test]
    fn push_rejects_loops_and_exhausted_hops() {
        for (metadata, want) in [
            (json!({}), Ok((vec!["a"], 7))),
            (json!({PATH_KEY: ["x", "y"], HOPS_KEY: 3}), Ok((vec!["x", "y", "a"], 2))),
            (json!({HOPS_KEY: 99}), Ok((vec!["a"], 7))),
            (json!({PATH_KEY: "x", HOPS_KEY: "many"}), Ok((vec!["a"], 7))),
            (json!({PATH_KEY: ["a", "b"]}), Err("the message was forwarded in a loop: a → b → a")),
            (
                json!({PATH_KEY: ["b"], HOPS_KEY: 0}),
                Err("the message exceeded its hop limit: b → a"),
            ),
        ] {
            let result = HopPath::from_message(&message(metadata.clone()), 8).push("a");
            let result = result.map_err(|it| it.to_string());
            let want = want.map(|(visited, remaining)| HopPath {
                visited: visited.into_iter().map(str::to_owned).collect(),
                remaining,
            });
            assert_eq!(result, want.map_err(str::to_owned), "{metadata}");
        }
    }

    #[test]
    fn hop_path_round_trips_through_metadata() {
        let path = HopPath { visited: vec!["a".into(), "b".into()], remaining: 5 };
        let mut target = message(json!({"other": 1}));
        path.write_to(&mut target.metadata);
        assert_eq!(HopPath::from_message(&target, 8), path);
        assert_eq!(target.metadata["other"], 1);
    }
}
