//! Scenarios that the official compatibility kit expects of an agent. The prefix of the message id
//! selects the scenario.

use std::time::Duration;

use latimer_protocol::{Artifact, ArtifactId, Message, Part};
use latimer_server::{Turn, TurnError};
use serde_json::json;

use super::sleep_unless_canceled;

/// A scenario of the kit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scenario {
    Complete,
    InputRequired,
    Text,
    File,
    FileUrl,
    Data,
    Direct,
    Stream,
    Reject,
    Resubscribe,
}

/// Prefixes of message ids and their scenarios. The first match counts, so a prefix precedes its
/// own prefixes.
const PREFIXES: &[(&str, Scenario)] = &[
    ("tck-complete-task", Scenario::Complete),
    ("tck-input-required", Scenario::InputRequired),
    ("tck-artifact-text", Scenario::Text),
    ("tck-artifact-file-url", Scenario::FileUrl),
    ("tck-artifact-file", Scenario::File),
    ("tck-artifact-data", Scenario::Data),
    ("tck-message-response", Scenario::Direct),
    ("tck-stream-ordering-001", Scenario::Stream),
    ("tck-stream-001", Scenario::Stream),
    ("tck-stream-002", Scenario::Complete),
    ("tck-stream-003", Scenario::Stream),
    ("tck-reject-task", Scenario::Reject),
    ("test-resubscribe-message-id", Scenario::Resubscribe),
];

impl Scenario {
    /// Returns the scenario of a message; `None` if its id has no known prefix.
    pub(super) fn from_message(message: &Message) -> Option<Self> {
        let id = message.message_id.as_str();
        PREFIXES.iter().find(|(prefix, _)| id.starts_with(prefix)).map(|(_, scenario)| *scenario)
    }

    pub(super) async fn run(self, turn: &Turn) -> Result<(), TurnError> {
        match self {
            Self::Complete => turn.complete_with("Task completed").await,
            Self::InputRequired => turn.request_input("What else do you need?").await,
            Self::Text => complete(turn, Part::text("Generated text content")).await,
            Self::File => {
                complete(turn, file(Part::raw("Generated file content", TEXT_MEDIA_TYPE))).await
            }
            Self::FileUrl => {
                complete(turn, file(Part::url("https://example.com/output.txt", TEXT_MEDIA_TYPE)))
                    .await
            }
            Self::Data => complete(turn, Part::data(json!({"key": "value", "count": 42}))).await,
            Self::Direct => turn.direct_reply("Direct message response").await,
            Self::Stream => {
                turn.set_working().await?;
                complete(turn, Part::text("Streamed text content")).await
            }
            Self::Reject => turn.reject("Task rejected").await,
            Self::Resubscribe => {
                turn.set_working().await?;
                // Twice as long as the kit waits for an event.
                sleep_unless_canceled(turn, Duration::from_secs(4)).await?;
                complete(turn, Part::text("Still here")).await
            }
        }
    }
}

const TEXT_MEDIA_TYPE: &str = "text/plain";

fn file(part: Part) -> Part {
    part.with_filename("output.txt")
}

async fn complete(turn: &Turn, part: Part) -> Result<(), TurnError> {
    turn.add_artifact(Artifact::new(ArtifactId::first(), part)).await?;
    turn.complete().await
}

#[cfg(test)]
mod tests {
    use latimer_protocol::MessageId;

    use super::*;

    #[test]
    fn longest_matching_prefix_selects_scenario() {
        for (id, want) in [
            ("tck-artifact-file-1", Some(Scenario::File)),
            ("tck-artifact-file-url-1", Some(Scenario::FileUrl)),
            ("tck-stream-ordering-001-1", Some(Scenario::Stream)),
            ("tck-stream-002-1", Some(Scenario::Complete)),
            ("test-resubscribe-message-id", Some(Scenario::Resubscribe)),
            ("tck-unknown", None),
            ("m1", None),
        ] {
            let message = Message::user(MessageId::new(id).unwrap(), "hi");
            assert_eq!(Scenario::from_message(&message), want, "{id}");
        }
        for (index, (prefix, _)) in PREFIXES.iter().enumerate() {
            let is_shadowed = PREFIXES[..index].iter().any(|(it, _)| prefix.starts_with(it));
            assert!(!is_shadowed, "{prefix}");
        }
    }
}
