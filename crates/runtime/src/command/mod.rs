//! Agent that runs a program for each turn.
//!
//! The program reads the message from standard input. Its standard output is streamed to the caller
//! as the result. The message never becomes part of the command line, so it needs no quoting.
//!
//! | module | contents |
//! | --- | --- |
//! | `run` | one run of the program for one turn |
//! | `home` | home directory of the program |
//! | `stderr_tail`, `text_chunker` | last bytes of standard error; standard output as chunks of text |

mod home;
mod run;
mod stderr_tail;
mod text_chunker;

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use latimer_protocol::card::{AgentCard, AgentSkill};
use latimer_server::{Agent, AgentFailure, Executor, Policy, Record, Turn};

use crate::process::{self, SHELL};
use home::HomeDir;
use run::CommandRun;

/// Agent that runs a program for each turn.
///
/// ```
/// use latimer_client::{Client, user_message};
/// use latimer_protocol::SendMessageResponse;
/// use latimer_runtime::CommandAgent;
/// use latimer_server::Server;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # if cfg!(windows) {
/// #     return Ok(());
/// # }
/// let agent = CommandAgent::new(["tr", "a-z", "A-Z"])?.into_agent("upper-case");
/// let server = Server::new(agent).bind("127.0.0.1:0").listen().await?;
///
/// let client = Client::connect(format!("http://{}", server.address())).await?;
/// let response = client.send(user_message("hello")).await?;
/// assert!(matches!(response, SendMessageResponse::Task(task) if task.text() == "HELLO\n"));
/// # Ok(())
/// # }
/// ```
///
/// The environment of the program contains `PATH`, `HOME`, `TMPDIR`, the
/// [inherited](Self::inherit_env) variables, and these:
///
/// | variable | value |
/// | --- | --- |
/// | `LATIMER_AGENT` | name of the agent |
/// | `LATIMER_TASK_ID` | id of the task; clients of protocol version 0.1 choose it |
/// | `LATIMER_CALLER` | principal of the caller, such as `key:ci`; empty for an anonymous caller |
/// | `LATIMER_CONTEXT_ID` | a UUID derived from the caller, the agent and the context of the task |
///
/// Two callers that name the same context have different values of `LATIMER_CONTEXT_ID`, which is
/// safe as a file name. Exit status 0 completes the task, any other fails it. When the task is
/// canceled or the turn is dropped, the program and its whole process group are terminated.
#[derive(Debug)]
pub struct CommandAgent {
    program: String,
    arguments: Vec<String>,
    input_format: InputFormat,
    delimiter: Option<Vec<u8>>,
    inherited_env: Vec<String>,
    inherits_all_env: bool,
    current_dir: Option<PathBuf>,
    home: HomeDir,
    timeout: Option<Duration>,
    max_output_bytes: usize,
    kill_grace: Duration,
    stderr_policy: StderrPolicy,
}

/// Default of [`Policy::max_concurrent`].
const DEFAULT_MAX_CONCURRENT: usize = 64;
/// Default maximum run time.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(3600);

/// Format of the program's standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputFormat {
    /// The text parts of the message, one per line, each with a line break.
    #[default]
    Text,
    /// The complete message as A2A 1.0 JSON on one line, with a line break.
    Json,
}

/// Whether callers see the program's standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum StderrPolicy {
    /// Standard error is only logged.
    #[default]
    LogOnly,
    /// The failure of a program contains the end of its standard error.
    Expose,
}

/// Error of an invalid command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidCommand {
    /// The command is empty.
    #[error("the command is empty")]
    Empty,
    /// The path of the program contains `..`.
    #[error("the program {0:?} must not contain \"..\"")]
    ParentDir(String),
    /// The program or an argument contains a NUL byte.
    #[error("a command must not contain NUL bytes")]
    NulByte,
}

impl CommandAgent {
    /// Creates an agent from a program and its arguments. The program is not looked up yet; see
    /// [`resolve_program`](Self::resolve_program).
    ///
    /// # Errors
    /// [`InvalidCommand`] when the program is missing, its path contains `..`, or any string
    /// contains a NUL byte.
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
            input_format: InputFormat::default(),
            delimiter: None,
            inherited_env: Vec::new(),
            inherits_all_env: false,
            current_dir: None,
            home: HomeDir::default(),
            timeout: Some(DEFAULT_TIMEOUT),
            max_output_bytes: 16 * 1024 * 1024,
            kill_grace: Duration::from_secs(5),
            stderr_policy: StderrPolicy::default(),
        })
    }

    /// Sets the format of the program's standard input. [`InputFormat::Text`] by default.
    #[must_use]
    pub fn input(mut self, format: InputFormat) -> Self {
        self.input_format = format;
        self
    }

    /// Sets the delimiter that ends each chunk of the result. By default, and with an empty
    /// delimiter, each read from standard output becomes a chunk.
    #[must_use]
    pub fn delimiter(mut self, delimiter: impl Into<Vec<u8>>) -> Self {
        self.delimiter = Some(delimiter.into()).filter(|it| !it.is_empty());
        self
    }

    /// Sets the environment variables that the program inherits from the server process.
    #[must_use]
    pub fn inherit_env<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.inherited_env = names.into_iter().map(Into::into).collect();
        self
    }

    /// Lets the program inherit all environment variables of the server process except those that
    /// start with `LATIMER_`, which configure the server and may be secrets. `HOME` and `TMPDIR` stay
    /// private without [`inherit_home`](Self::inherit_home).
    #[must_use]
    pub fn inherit_all_env(mut self) -> Self {
        self.inherits_all_env = true;
        self
    }

    /// Sets the working directory. By default that of the server process.
    #[must_use]
    pub fn current_dir(mut self, current_dir: impl Into<PathBuf>) -> Self {
        self.current_dir = Some(current_dir.into());
        self
    }

    /// Sets the home directory, which is created if it is missing. A temporary directory by
    /// default.
    #[must_use]
    pub fn home(mut self, dir: impl Into<PathBuf>) -> Self {
        self.home = HomeDir::Path(dir.into());
        self
    }

    /// Lets the program inherit `HOME` and `TMPDIR` from the server process.
    #[must_use]
    pub fn inherit_home(mut self) -> Self {
        self.home = HomeDir::Inherited;
        self
    }

    /// Sets the maximum run time, after which the program is terminated and the task fails.
    /// One hour by default; zero sets no limit.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout).filter(|it| !it.is_zero());
        self
    }

    /// Sets the maximum size of the output in bytes. A program that writes more is terminated, and
    /// the task fails. 16 MiB by default.
    #[must_use]
    pub fn max_output_bytes(mut self, max_bytes: usize) -> Self {
        self.max_output_bytes = max_bytes;
        self
    }

    /// Sets how long the program may take to exit after a termination signal before it is killed.
    /// Five seconds by default.
    #[must_use]
    pub fn kill_grace(mut self, kill_grace: Duration) -> Self {
        self.kill_grace = kill_grace;
        self
    }

    /// Adds the end of the program's standard error to the failure that callers see. By default it
    /// is only logged.
    #[must_use]
    pub fn expose_stderr(mut self) -> Self {
        self.stderr_policy = StderrPolicy::Expose;
        self
    }

    /// Finds the program on the `PATH`, or at its path if it has one. Returns `None` if there is no
    /// such file.
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

    /// Returns the program that does not exist: the program itself, or the first word of a
    /// [shell command](shell_command) if the shell does not know it. `None` if all that can be checked
    /// without running the command exists.
    ///
    /// Runs the shell to ask about the first word of a shell command, and blocks until it exits.
    #[must_use]
    pub fn missing_program(&self) -> Option<&str> {
        if self.resolve_program().is_none() {
            return Some(&self.program);
        }
        let [option, line] = &*self.arguments else { return None };
        let word = line.split_whitespace().next()?;
        let is_literal = |it: char| it.is_ascii_alphanumeric() || "_-./+".contains(it);
        let is_shell_command = [&*self.program, option] == SHELL && word.chars().all(is_literal);
        let is_missing = || !process::is_shell_word(word, self.current_dir.as_deref());
        (is_shell_command && is_missing()).then_some(word)
    }

    /// Returns the program as configured.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Creates an agent with this name and a card with one skill.
    #[must_use]
    pub fn into_agent(self, name: &str) -> Agent {
        let input_modes = match self.input_format {
            InputFormat::Text => vec!["text/plain".to_owned()],
            InputFormat::Json => {
                ["text/plain", "application/json", "*/*"].map(String::from).to_vec()
            }
        };
        let description = "Runs a program for each message and returns its output";
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

/// Returns the command that runs `line` in the shell: `sh -c`, or `cmd /C` on Windows.
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

    /// A program has effects outside the server, so a turn is recorded before it starts. The number of
    /// concurrent programs is limited.
    fn default_policy(&self) -> Policy {
        Policy {
            record: Record::BeforeStart,
            max_concurrent: Some(DEFAULT_MAX_CONCURRENT),
            ..Policy::default()
        }
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
    fn missing_program_is_found_in_command_and_shell_line() {
        let missing = |command: &[&str]| {
            let command = CommandAgent::new(command.iter().copied()).unwrap();
            command.missing_program().map(str::to_owned)
        };
        assert_eq!(missing(&["no-such-program"]).as_deref(), Some("no-such-program"));
        assert_eq!(missing(&["tr", "a-z", "A-Z"]), None);
        #[cfg(unix)]
        for (line, want) in [
            ("no-such-program -x | cat", Some("no-such-program")),
            ("./no-such-file", Some("./no-such-file")),
            ("tr a-z A-Z", None),
            ("while read line; do echo $line; done", None),
            ("echo hello", None),
            ("LANG=C no-such-program", None),
            ("$PROGRAM -x", None),
        ] {
            let command = shell_command(line);
            let missing = CommandAgent::new(command).unwrap().missing_program().map(str::to_owned);
            assert_eq!(missing.as_deref(), want, "{line}");
        }
    }

    #[test]
    fn run_time_and_concurrency_are_limited_by_default() {
        let command = CommandAgent::new(["sh"]).unwrap();
        assert_eq!(command.default_policy().record, Record::BeforeStart);
        assert_eq!(command.timeout, Some(Duration::from_secs(3600)));
        assert_eq!(command.default_policy().max_concurrent, Some(64));
        assert_eq!(command.timeout(Duration::ZERO).timeout, None);
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
