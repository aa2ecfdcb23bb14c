//! Through whom a message came, and how much further it may go.
//!
//! Each gateway adds itself to the path of a message and takes one off its budget. A message that
//! comes to a gateway for the second time, or has no budget left, is rejected with the whole path, which
//! travels back to everybody on it.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use latimer_protocol::{Message, Metadata};
use serde_json::{Value, json};

/// The member of a message's metadata that names everybody it passed, the first at first.
pub(crate) const PATH_KEY: &str = "latimer/path";

/// The member that says how many more it may pass.
pub(crate) const HOPS_KEY: &str = "latimer/hops";

/// How much of a path is believed. Nobody's budget is larger.
const MAX_PATH_LEN: usize = 64;

/// How much of a name on it.
const MAX_HOP_ID_CHARS: usize = 128;

/// The path of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HopPath {
    visited: Vec<String>,
    remaining: u32,
}

/// Why a message goes no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HopError {
    /// It was here before.
    Loop(Vec<String>),
    /// It passed as many as it may.
    TooManyHops(Vec<String>),
}

impl HopPath {
    /// The path of a message that comes from nobody else, and may pass so many.
    pub(crate) fn new(remaining: u32) -> Self {
        Self { visited: Vec::new(), remaining }
    }

    /// The path of a message, which may be `hops` long where nobody said otherwise, and nowhere longer.
    pub(crate) fn from_message(message: &Message, max_hops: u32) -> Self {
        let visited = message.metadata.get(PATH_KEY).and_then(Value::as_array);
        let visited = visited.into_iter().flatten().filter_map(Value::as_str).take(MAX_PATH_LEN);
        let visited = visited.map(|it| it.chars().take(MAX_HOP_ID_CHARS).collect()).collect();
        let declared = message.metadata.get(HOPS_KEY).and_then(Value::as_u64);
        let declared = declared.map(|it| u32::try_from(it).unwrap_or(u32::MAX));
        Self { visited, remaining: declared.unwrap_or(max_hops).min(max_hops) }
    }

    /// The same path with one more place on it.
    pub(crate) fn push(mut self, hop_id: &str) -> Result<Self, HopError> {
        let is_loop = self.visited.iter().any(|it| it == hop_id);
        self.visited.push(hop_id.to_owned());
        match self.remaining.checked_sub(1) {
            _ if is_loop => Err(HopError::Loop(self.visited)),
            None => Err(HopError::TooManyHops(self.visited)),
            Some(remaining) => Ok(Self { remaining, ..self }),
        }
    }

    /// Writes it into the metadata of a message.
    pub(crate) fn write_to(&self, metadata: &mut Metadata) {
        metadata.insert(PATH_KEY.to_owned(), json!(self.visited));
        metadata.insert(HOPS_KEY.to_owned(), json!(self.remaining));
    }
}

impl fmt::Display for HopError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loop(visited) => {
                write!(out, "the message goes in a circle: {}", visited.join(" → "))
            }
            Self::TooManyHops(visited) => {
                write!(out, "the message passed as many agents as it may: {}", visited.join(" → "))
            }
        }
    }
}

/// A name for an agent's place on the way, which no other place has: servers call their agents alike.
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
            (json!({PATH_KEY: ["a", "b"]}), Err("the message goes in a circle: a → b → a")),
            (
                json!({PATH_KEY: ["b"], HOPS_KEY: 0}),
                Err("the message passed as many agents as it may: b → a"),
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
