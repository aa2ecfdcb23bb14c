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
pub(super) const PATH: &str = "latimer/path";

/// The member that says how many more it may pass.
pub(super) const HOPS: &str = "latimer/hops";

/// How much of a path is believed. Nobody's budget is larger.
const LONGEST: usize = 64;

/// How much of a name on it.
const MAX_NAME: usize = 128;

/// The path of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    passed: Vec<String>,
    hops: u32,
}

/// Why a message goes no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Astray {
    /// It was here before.
    Circle(Vec<String>),
    /// It passed as many as it may.
    TooFar(Vec<String>),
}

impl Path {
    /// The path of a message that comes from nobody else, and may pass so many.
    pub(crate) fn new(hops: u32) -> Self {
        Self { passed: Vec::new(), hops }
    }

    /// The path of a message, which may be `hops` long where nobody said otherwise, and nowhere longer.
    pub(crate) fn of(message: &Message, hops: u32) -> Self {
        let passed = message.metadata.get(PATH).and_then(Value::as_array);
        let passed = passed.into_iter().flatten().filter_map(Value::as_str).take(LONGEST);
        let passed = passed.map(|it| it.chars().take(MAX_NAME).collect()).collect();
        let said = message.metadata.get(HOPS).and_then(Value::as_u64);
        let said = said.map(|it| u32::try_from(it).unwrap_or(u32::MAX));
        Self { passed, hops: said.unwrap_or(hops).min(hops) }
    }

    /// The same path with one more place on it.
    pub(crate) fn onward(mut self, place: &str) -> Result<Self, Astray> {
        let circle = self.passed.iter().any(|it| it == place);
        self.passed.push(place.to_owned());
        match self.hops.checked_sub(1) {
            _ if circle => Err(Astray::Circle(self.passed)),
            None => Err(Astray::TooFar(self.passed)),
            Some(hops) => Ok(Self { hops, ..self }),
        }
    }

    /// Writes it into the metadata of a message.
    pub(crate) fn mark(&self, metadata: &mut Metadata) {
        metadata.insert(PATH.to_owned(), json!(self.passed));
        metadata.insert(HOPS.to_owned(), json!(self.hops));
    }
}

impl fmt::Display for Astray {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Circle(passed) => {
                write!(out, "the message goes in a circle: {}", passed.join(" → "))
            }
            Self::TooFar(passed) => {
                write!(out, "the message passed as many agents as it may: {}", passed.join(" → "))
            }
        }
    }
}

/// A name for an agent's place on the way, which no other place has: servers call their agents alike.
pub(crate) fn place(agent: &str) -> String {
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
    fn a_message_goes_on_until_it_has_been_everywhere() {
        for (metadata, want) in [
            (json!({}), Ok((vec!["a"], 7))),
            (json!({PATH: ["x", "y"], HOPS: 3}), Ok((vec!["x", "y", "a"], 2))),
            (json!({HOPS: 99}), Ok((vec!["a"], 7))),
            (json!({PATH: "x", HOPS: "many"}), Ok((vec!["a"], 7))),
            (json!({PATH: ["a", "b"]}), Err("the message goes in a circle: a → b → a")),
            (
                json!({PATH: ["b"], HOPS: 0}),
                Err("the message passed as many agents as it may: b → a"),
            ),
        ] {
            let found = Path::of(&message(metadata.clone()), 8).onward("a");
            let found = found.map_err(|it| it.to_string());
            let want = want.map(|(passed, hops)| Path {
                passed: passed.into_iter().map(str::to_owned).collect(),
                hops,
            });
            assert_eq!(found, want.map_err(str::to_owned), "{metadata}");
        }
    }

    #[test]
    fn a_path_is_written_as_it_is_read() {
        let path = Path { passed: vec!["a".into(), "b".into()], hops: 5 };
        let mut marked = message(json!({"other": 1}));
        path.mark(&mut marked.metadata);
        assert_eq!(Path::of(&marked, 8), path);
        assert_eq!(marked.metadata["other"], 1);
    }
}
