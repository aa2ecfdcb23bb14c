//! Agent that reaches every task state on request: for tests, documentation and as an example.
//!
//! The first word of a message is a command; [`instruction`] lists all of them. The long-running
//! commands `chunks` and `wait` resume after a crash from the log of their task.
//!
//! | module | contents |
//! | --- | --- |
//! | `instruction` | commands and their arguments |
//! | `tck` | scenarios of the official compatibility kit |

mod instruction;
mod tck;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use latimer_protocol::card::{AgentCard, AgentSkill};
use latimer_protocol::{Message, Part, Phase, Task, Timestamp};
use latimer_server::{Agent, AgentFailure, Executor, Policy, Turn, TurnError};
use tokio::time::sleep;

use crate::echo::echo_artifact;
use instruction::{COMMANDS, Instruction};
use tck::Scenario;

/// Agent that runs the command in the first word of a message, and echoes a message without a
/// command.
///
/// ```
/// use latimer_runtime::DemoAgent;
///
/// let agent = DemoAgent::new_agent("demo");
/// assert!(agent.card().skills.iter().any(|skill| skill.id == "chunks"));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct DemoAgent {
    open_ended: bool,
}

/// Name of the artifact of `chunks`, by which a resumed turn finds the existing chunks.
const CHUNKS_ARTIFACT: &str = "chunks";

impl DemoAgent {
    /// Creates an agent with this name and a card that describes each command.
    #[must_use]
    pub fn new_agent(name: &str) -> Agent {
        Self::default().into_agent(name)
    }

    /// Makes the agent request more input after every message that is not a command, so that its
    /// task can be continued or canceled. The official compatibility kit for 0.3 requires this.
    #[must_use]
    pub fn open_ended(mut self) -> Self {
        self.open_ended = true;
        self
    }

    /// Creates an agent with this name and a card that describes each command.
    #[must_use]
    pub fn into_agent(self, name: &str) -> Agent {
        Agent::new(name, self).with_card(Self::card(name))
    }

    /// Returns the extended card for authenticated callers, which differs in its description.
    #[must_use]
    pub fn extended_card(name: &str) -> AgentCard {
        let mut extended = Self::card(name);
        extended.description.push_str(". This is its extended card");
        extended
    }

    fn card(name: &str) -> AgentCard {
        // `*/*`, because parts of any type are echoed.
        let modes = || ["text/plain", "application/json", "*/*"];
        AgentCard {
            name: name.to_owned(),
            description: "Reaches every state of a task on request".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            default_input_modes: modes().map(String::from).to_vec(),
            default_output_modes: modes().map(String::from).to_vec(),
            skills: COMMANDS.iter().map(AgentSkill::from).collect(),
            ..AgentCard::default()
        }
    }
}

#[async_trait]
impl Executor for DemoAgent {
    fn default_policy(&self) -> Policy {
        Policy { direct_replies: true, ..Policy::default() }
    }

    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        if let Some(scenario) = Scenario::from_message(turn.message()) {
            return Ok(scenario.run(&turn).await?);
        }
        if answers_question(&turn) && !self.open_ended {
            return Ok(turn.reply_with(Part::text(turn.text())).await?);
        }
        match Instruction::parse(&turn.text()) {
            Ok(Some(instruction)) => run_instruction(&turn, instruction).await?,
            Ok(None) => {
                turn.add_artifact(echo_artifact(&turn.message().parts)).await?;
                if self.open_ended {
                    turn.request_input("Anything else?").await?;
                }
            }
            Err(error) => turn.reject(error.to_string()).await?,
        }
        Ok(())
    }

    /// Resumes `chunks` and `wait`. Other turns fail, because their log does not show how far they
    /// were.
    async fn recover(&self, turn: Turn) -> Result<(), AgentFailure> {
        let Some(task) = turn.task() else { return self.execute(turn).await };
        match Instruction::parse(&turn.text()) {
            Ok(Some(Instruction::Chunks { count, pause })) => {
                Ok(write_chunks(&turn, count, pause).await?)
            }
            Ok(Some(Instruction::Wait(time))) => {
                let elapsed = elapsed_since(task.status.timestamp);
                Ok(run_wait(&turn, time.saturating_sub(elapsed)).await?)
            }
            _ => Err(AgentFailure::interrupted_by_restart()),
        }
    }

    /// The compatibility kit sends some identical messages as new ones.
    fn accepts_duplicate(&self, message: &Message) -> bool {
        Scenario::from_message(message).is_some()
    }
}

async fn run_instruction(turn: &Turn, instruction: Instruction) -> Result<(), TurnError> {
    match instruction {
        Instruction::Echo(text) => run_echo(turn, text).await,
        Instruction::Say(text) => turn.direct_reply(text).await,
        Instruction::Chunks { count, pause } => write_chunks(turn, count, pause).await,
        Instruction::Wait(time) => {
            turn.progress(format!("waiting for {time:?}")).await?;
            run_wait(turn, time).await
        }
        Instruction::Ask(question) => turn.request_input(question).await,
        Instruction::Auth => turn.request_authorization("Any message authorizes this task").await,
        Instruction::Fail(reason) => turn.fail(reason).await,
        Instruction::Reject(reason) => turn.reject(reason).await,
        Instruction::File { name, bytes } => turn.reply_with(build_file(name, bytes)).await,
        Instruction::Url(url) => turn.reply_with(Part::url(url, "application/octet-stream")).await,
        Instruction::Data(value) => {
            turn.reply_with(Part::data(value).with_media_type("application/json")).await
        }
        Instruction::Stubborn(time) => {
            turn.progress(format!("ignoring cancellation for {time:?}")).await?;
            sleep(time).await;
            turn.complete().await
        }
        Instruction::Burst(count) => run_burst(turn, count).await,
    }
}

/// Returns the text and all other parts of the message as an artifact.
async fn run_echo(turn: &Turn, text: String) -> Result<(), TurnError> {
    let others = turn.message().parts.iter().filter(|it| it.as_text().is_none());
    let parts: Vec<_> = [Part::text(text)].into_iter().chain(others.cloned()).collect();
    turn.add_artifact(echo_artifact(&parts)).await
}

/// Writes an artifact of `count` numbered chunks, starting after those that exist already.
async fn write_chunks(turn: &Turn, count: usize, pause: Duration) -> Result<(), TurnError> {
    let mut writer = turn.artifact(CHUNKS_ARTIFACT);
    let mut existing_chunks = 0;
    if let Some(existing) = turn.task().and_then(find_chunks_artifact) {
        existing_chunks = existing.parts.len();
        writer = writer.with_id(existing.artifact_id.clone());
    }
    for number in existing_chunks + 1..=count {
        let chunk = format!("chunk {number} of {count}\n");
        if number == count {
            writer.push_last(chunk).await?;
            break;
        }
        writer.push(chunk).await?;
        sleep_unless_canceled(turn, pause).await?;
    }
    turn.complete().await
}

fn find_chunks_artifact(task: &Task) -> Option<&latimer_protocol::Artifact> {
    let mut artifacts = task.artifacts.iter().map(|it| &**it);
    artifacts.find(|it| it.name.as_deref() == Some(CHUNKS_ARTIFACT))
}

/// Completes the task after `time`.
async fn run_wait(turn: &Turn, time: Duration) -> Result<(), TurnError> {
    sleep_unless_canceled(turn, time).await?;
    turn.complete_with("done waiting").await
}

/// Updates the status `count` times without a pause, to test readers that fall behind.
async fn run_burst(turn: &Turn, count: usize) -> Result<(), TurnError> {
    for number in 1..=count {
        turn.progress(format!("{number} of {count}")).await?;
    }
    turn.complete().await
}

/// Creates a file that repeats the alphabet, so that its content is predictable.
fn build_file(name: String, length: usize) -> Part {
    let bytes: Vec<u8> = (b'a'..=b'z').cycle().take(length).collect();
    Part::raw(bytes, "application/octet-stream").with_filename(name)
}

/// Sleeps. Fails immediately when the task is canceled.
async fn sleep_unless_canceled(turn: &Turn, time: Duration) -> Result<(), TurnError> {
    tokio::select! {
        biased;
        () = turn.cancellation_token().cancelled() => Err(TurnError::Stopped),
        () = sleep(time) => Ok(()),
    }
}

/// Returns whether the message continues a task that requires input or authorization.
fn answers_question(turn: &Turn) -> bool {
    turn.task().is_some_and(|task| task.status.state.phase() == Phase::Interrupted)
}

/// Returns the time since a timestamp by the system clock; zero if it is unknown or in the future.
fn elapsed_since(time: Option<Timestamp>) -> Duration {
    let start = time.map_or(i64::MAX, Timestamp::as_millis);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_millis()).unwrap_or_default();
    Duration::from_millis(u64::try_from(now.saturating_sub(start)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_has_requested_length_and_bytes() {
        let part = build_file("a.bin".into(), 28);
        let wire = serde_json::to_value(&part).unwrap();
        assert_eq!(wire["raw"], "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXphYg==");
        assert_eq!(wire["filename"], "a.bin");
    }

    #[test]
    fn elapsed_since_unknown_timestamp_is_zero() {
        assert_eq!(elapsed_since(None), Duration::ZERO);
        assert!(elapsed_since(Some(Timestamp::EPOCH)) > Duration::from_secs(3_600));
    }
}
