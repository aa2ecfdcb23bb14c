//! A program behind an agent: it is started for each turn, reads the message from its standard
//! input, and what it writes to its standard output is the answer, as it comes.
//!
//! The message never becomes part of the command line, so nothing in it has to be quoted.

mod home;
mod run;
mod stderr_tail;
mod text_chunker;

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use latimer_protocol::card::{AgentCard, AgentSkill};
use latimer_server::{Agent, AgentFailure, Executor, Turn};

use crate::process::SHELL;
use home::HomeDir;
use run::CommandRun;

/// Runs a program for each turn.
///
/// ```
/// use latimer_runtime::CommandAgent;
///
/// let agent = CommandAgent::new(["tr", "a-z", "A-Z"])?.into_agent("shout");
/// assert_eq!(agent.name().as_ref(), "shout");
/// # Ok::<(), latimer_runtime::InvalidCommand>(())
/// ```
///
/// The program gets an empty environment but for `PATH`, the variables it was granted, a `HOME` and
/// a `TMPDIR` of its own, and `LATIMER_AGENT`, `LATIMER_TASK_ID` and `LATIMER_CONTEXT_ID`. When it
/// ends with status 0 the task is completed, otherwise it failed. When the task is canceled, or the
/// turn is dropped, the program and all it started in its process group are ended.
#[derive(Debug)]
pub struct CommandAgent {
    program: String,
    arguments: Vec<String>,
    input: Input,
    delimiter: Option<Vec<u8>>,
    inherited_env: Vec<String>,
    current_dir: Option<PathBuf>,
    home: HomeDir,
    timeout: Option<Duration>,
    max_output_bytes: usize,
    kill_grace: Duration,
    stderr_policy: StderrPolicy,
}

/// What a program reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// The texts of the message, one per line.
    #[default]
    Text,
    /// The whole message, as the JSON of A2A 1.0.
    Json,
}

/// What the caller learns of what a program complains about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum StderrPolicy {
    /// Nothing: the log has it.
    #[default]
    LogOnly,
    /// The end of it, when the program fails.
    Expose,
}

/// Why something is not a command that can be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidCommand {
    /// There is no program.
    #[error("a command needs a program")]
    Empty,
    /// The program's path leads upwards, so that it does not say where it is.
    #[error("the program {0:?} must not contain \"..\"")]
    ParentDir(String),
    /// A text holds a zero byte, which no command line can.
    #[error("a command must not contain zero bytes")]
    NulByte,
}

impl CommandAgent {
    /// A program and its arguments.
    ///
    /// # Errors
    /// When there is no program, or its path contains `..`.
    pub fn new<S: Into<String>>(
        command: impl IntoIterator<Item = S>,
    ) -> Result<Self, InvalidCommand> {
        let mut args = command.into_iter().map(Into::into);
        let program = args.next().filter(|it| !it.is_empty()).ok_or(InvalidCommand::Empty)?;
        let arguments: Vec<_> = args.collect();
        if program.contains("..") {
            return Err(InvalidCommand::ParentDir(program));
        }
        if arguments.iter().chain([&program]).any(|it| it.contains('\0')) {
            return Err(InvalidCommand::NulByte);
        }
        Ok(Self {
            program,
            arguments,
            input: Input::default(),
            delimiter: None,
            inherited_env: Vec::new(),
            current_dir: None,
            home: HomeDir::default(),
            timeout: None,
            max_output_bytes: 16 * 1024 * 1024,
            kill_grace: Duration::from_secs(5),
            stderr_policy: StderrPolicy::default(),
        })
    }

    /// What the program reads.
    #[must_use]
    pub fn input(mut self, input: Input) -> Self {
        self.input = input;
        self
    }

    /// Ends a piece of the answer behind each `delimiter`. Otherwise a piece is what the program
    /// wrote at a time. An empty one changes nothing.
    #[must_use]
    pub fn delimiter(mut self, delimiter: impl Into<Vec<u8>>) -> Self {
        self.delimiter = Some(delimiter.into()).filter(|it| !it.is_empty());
        self
    }

    /// Passes on these variables of the environment.
    #[must_use]
    pub fn inherit_env<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.inherited_env = names.into_iter().map(Into::into).collect();
        self
    }

    /// Runs it in this folder.
    #[must_use]
    pub fn current_dir(mut self, current_dir: impl Into<PathBuf>) -> Self {
        self.current_dir = Some(current_dir.into());
        self
    }

    /// Gives it this folder for its home, which is made if need be. Otherwise it gets a temporary
    /// one.
    #[must_use]
    pub fn home(mut self, dir: impl Into<PathBuf>) -> Self {
        self.home = HomeDir::Path(dir.into());
        self
    }

    /// Lets it see the home of whoever runs the server.
    #[must_use]
    pub fn inherit_home(mut self) -> Self {
        self.home = HomeDir::Inherited;
        self
    }

    /// Ends it when it takes longer than this.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Ends it when it writes more bytes than this.
    #[must_use]
    pub fn max_output_bytes(mut self, max_bytes: usize) -> Self {
        self.max_output_bytes = max_bytes;
        self
    }

    /// How long it has to end when it is asked to, before it is killed.
    #[must_use]
    pub fn kill_grace(mut self, kill_grace: Duration) -> Self {
        self.kill_grace = kill_grace;
        self
    }

    /// Tells the caller the end of what the program wrote to its standard error, when it fails.
    /// Otherwise only the log has that.
    #[must_use]
    pub fn expose_stderr(mut self) -> Self {
        self.stderr_policy = StderrPolicy::Expose;
        self
    }

    /// Where the program is, if it is anywhere: on the `PATH`, or at its own path.
    #[must_use]
    pub fn resolve_program(&self) -> Option<PathBuf> {
        let program = Path::new(&self.program);
        if program.components().count() > 1 {
            let base = self.current_dir.as_deref().unwrap_or(Path::new(""));
            return Some(base.join(program)).filter(|it| it.is_file());
        }
        let search_path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&search_path).map(|it| it.join(program)).find(|it| it.is_file())
    }

    /// The program, as it was given.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The agent, with a card that says as much as is known.
    #[must_use]
    pub fn into_agent(self, name: &str) -> Agent {
        let input_modes = match self.input {
            Input::Text => vec!["text/plain".to_owned()],
            Input::Json => ["text/plain", "application/json", "*/*"].map(String::from).to_vec(),
        };
        let description = "Answers with what a program makes of the message";
        Agent::new(name, self).with_card(AgentCard {
            name: name.to_owned(),
            description: description.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            default_input_modes: input_modes,
            skills: vec![AgentSkill {
                id: name.to_owned(),
                name: name.to_owned(),
                description: description.to_owned(),
                tags: vec!["command".to_owned()],
                ..AgentSkill::default()
            }],
            ..AgentCard::default()
        })
    }
}

/// The command that has the shell do what a line says.
#[must_use]
pub fn shell_command(line: &str) -> [String; 3] {
    let [shell, option] = SHELL;
    [shell, option, line].map(String::from)
}

#[async_trait]
impl Executor for CommandAgent {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        CommandRun::start(self, turn)?.finish().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_rejects_empty_parent_dir_and_nul() {
        for (command, want) in [
            (&["tr", "a-z", "A-Z"][..], Ok("tr")),
            (&["/usr/bin/env", "../x"], Ok("/usr/bin/env")),
            (&[], Err(InvalidCommand::Empty)),
            (&[""], Err(InvalidCommand::Empty)),
            (&["../bin/tool"], Err(InvalidCommand::ParentDir("../bin/tool".into()))),
            (&["/opt/../bin/sh"], Err(InvalidCommand::ParentDir("/opt/../bin/sh".into()))),
            (&["sh", "a\0b"], Err(InvalidCommand::NulByte)),
        ] {
            let result = CommandAgent::new(command.iter().copied());
            let result = result.map(|it| it.program().to_owned());
            assert_eq!(result, want.map(str::to_owned), "{command:?}");
        }
    }

    #[test]
    fn resolve_program_searches_path_or_current_dir() {
        assert!(CommandAgent::new(["sh"]).unwrap().resolve_program().is_some());
        assert!(
            CommandAgent::new(["no-such-program-anywhere"]).unwrap().resolve_program().is_none()
        );
        assert!(
            CommandAgent::new(["./sh"]).unwrap().current_dir("/bin").resolve_program().is_some()
        );
        assert!(
            CommandAgent::new(["./no-such"])
                .unwrap()
                .current_dir("/bin")
                .resolve_program()
                .is_none()
        );
    }
}
