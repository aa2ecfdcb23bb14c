//! Agent that returns the message it receives.

use async_trait::async_trait;
use latimer_protocol::card::{AgentCard, AgentSkill};
use latimer_protocol::{Artifact, ArtifactId, Part};
use latimer_server::{Agent, AgentFailure, Executor, Turn};

/// Agent that returns the parts of each message as one artifact and completes the task.
///
/// ```
/// use latimer_runtime::EchoAgent;
///
/// let agent = EchoAgent::new_agent("echo");
/// assert_eq!(agent.card().skills[0].id, "echo");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct EchoAgent;

impl EchoAgent {
    /// Creates an agent with this name and a card.
    #[must_use]
    pub fn new_agent(name: &str) -> Agent {
        let modes = || ["text/plain", "application/json", "*/*"].map(String::from).to_vec();
        Agent::new(name, Self).with_card(AgentCard {
            name: name.to_owned(),
            description: "Returns the message it receives".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            default_input_modes: modes(),
            default_output_modes: modes(),
            skills: vec![AgentSkill {
                id: "echo".to_owned(),
                name: "Echo".to_owned(),
                description: "Returns the text, files and data of the message".to_owned(),
                tags: vec!["echo".to_owned(), "test".to_owned()],
                examples: vec!["hello".to_owned()],
                ..AgentSkill::default()
            }],
            ..AgentCard::default()
        })
    }
}

#[async_trait]
impl Executor for EchoAgent {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        // No status update and no pause between the events, so that the store appends all of them
        // at once.
        turn.add_artifact(echo_artifact(&turn.message().parts)).await?;
        turn.complete().await?;
        Ok(())
    }

    /// Runs the turn again: its events are stored together, so an interrupted turn has stored none.
    async fn recover(&self, turn: Turn) -> Result<(), AgentFailure> {
        self.execute(turn).await
    }
}

/// Returns an artifact with the given parts.
pub(crate) fn echo_artifact(parts: &[Part]) -> Artifact {
    Artifact {
        artifact_id: ArtifactId::first(),
        name: None,
        description: None,
        parts: parts.to_vec(),
        metadata: Default::default(),
        extensions: Vec::new(),
    }
}
