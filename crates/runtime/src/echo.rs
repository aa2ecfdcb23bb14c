//! Says again what was said.

use async_trait::async_trait;
use latimer_protocol::card::{AgentCard, AgentSkill};
use latimer_protocol::{Artifact, ArtifactId, Part};
use latimer_server::{Agent, AgentFailure, Executor, Turn};

/// Answers each message with its own parts: one artifact, and the task is completed.
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
    /// The agent, with its card.
    #[must_use]
    pub fn new_agent(name: &str) -> Agent {
        let modes = || ["text/plain", "application/json", "*/*"].map(String::from).to_vec();
        Agent::new(name, Self).with_card(AgentCard {
            name: name.to_owned(),
            description: "Says again what was said".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            default_input_modes: modes(),
            default_output_modes: modes(),
            skills: vec![AgentSkill {
                id: "echo".to_owned(),
                name: "Echo".to_owned(),
                description: "Answers with the texts, files and data of the message".to_owned(),
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
        // Back to back and without a status, so that an echo is stored in one append.
        turn.add_artifact(echo_artifact(&turn.message().parts)).await?;
        turn.complete().await?;
        Ok(())
    }

    /// An echo leaves nothing half done: it says all or nothing.
    async fn recover(&self, turn: Turn) -> Result<(), AgentFailure> {
        self.execute(turn).await
    }
}

/// The same parts as an artifact.
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
