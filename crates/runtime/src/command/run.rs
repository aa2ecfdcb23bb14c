//! One run of the program for one turn.

use std::ffi::OsStr;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;
use std::{env, pin::pin};

use latimer_server::{AgentFailure, ArtifactWriter, Turn, TurnError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::{sleep, timeout};
use tracing::{debug, error, warn};

use super::stderr_tail::StderrTail;
use super::text_chunker::TextChunker;
use super::{CommandAgent, InputFormat, StderrPolicy};
use crate::peer::upstream_ids;
use crate::process::{self, Pipes, Process};

/// Time that pipes may stay open after the program has exited. A process that left the process group
/// may still hold them open.
const PIPE_CLOSE_GRACE: Duration = Duration::from_millis(500);

/// `PATH` of the program if the server process has none.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Start of the names of environment variables that configure the server. Some are secrets.
const SERVER_ENV_PREFIX: &[u8] = b"LATIMER_";

/// A running program and its turn. Dropping it terminates the program.
#[derive(Debug)]
pub(super) struct CommandRun<'a> {
    command: &'a CommandAgent,
    turn: Turn,
    process: Process,
    pipes: Pipes,
    tail: StderrTail,
}

/// Reason for stopping the program.
enum StopReason {
    /// The task was canceled, or the turn has ended for another reason.
    TurnEnded(TurnError),
    /// The program exceeded its run time.
    TimedOut(Duration),
    /// The program exceeded its output size in bytes.
    OutputLimit(usize),
    /// Reading from or waiting for the program failed.
    Io(io::Error),
}

impl<'a> CommandRun<'a> {
    /// Starts the program. Logs the error if that fails, and returns a failure without details.
    pub(super) fn start(command: &'a CommandAgent, turn: Turn) -> Result<Self, AgentFailure> {
        let start = || Process::start(&mut build_command(command, &turn)?);
        match start() {
            Ok((process, pipes)) => {
                Ok(Self { command, turn, process, pipes, tail: StderrTail::default() })
            }
            Err(cause) => {
                let (agent, program) = (turn.agent(), &command.program);
                let current_dir = &command.current_dir;
                error!(%agent, program, ?current_dir, error = %cause, "command failed to start");
                let reason = match cause.kind() {
                    io::ErrorKind::NotFound => "program not found",
                    io::ErrorKind::PermissionDenied => "permission denied",
                    _ => "see the log of the server",
                };
                Err(AgentFailure::new(format!("the agent's command cannot be started: {reason}")))
            }
        }
    }

    /// Writes the message, streams the output and completes the task when the program exits. Stops
    /// the program when the task is canceled or a limit is exceeded.
    pub(super) async fn finish(mut self) -> Result<(), AgentFailure> {
        let cancel_token = self.turn.cancellation_token().clone();
        let limit = self.command.timeout;
        let result = tokio::select! {
            biased;
            () = cancel_token.cancelled() => Err(StopReason::TurnEnded(TurnError::Stopped)),
            () = wait_for_timeout(limit) => Err(StopReason::TimedOut(limit.unwrap_or_default())),
            result = self.run_to_exit() => result,
        };
        match result {
            Ok(status) => self.report_exit(status).await,
            Err(reason) => {
                self.process.stop(self.pipes, self.command.kill_grace).await;
                Err(reason.into())
            }
        }
    }

    async fn run_to_exit(&mut self) -> Result<ExitStatus, StopReason> {
        let Self { command, turn, process, pipes, tail } = self;
        let mut pipe_io = pin!(async {
            let stdin_io = async {
                write_input(pipes.stdin.take(), command.input_format, turn).await;
                Ok(())
            };
            let stderr_io = async {
                if let Some(stderr) = &mut pipes.stderr {
                    tail.read(turn.agent(), stderr).await;
                }
                Ok(())
            };
            let stdout_io = async {
                match &mut pipes.stdout {
                    Some(stdout) => stream_output(command, turn, stdout).await,
                    None => Ok(()),
                }
            };
            tokio::try_join!(stdin_io, stderr_io, stdout_io).map(drop)
        });
        let status = tokio::select! {
            io_result = &mut pipe_io => {
                io_result?;
                return Ok(process.wait().await?);
            }
            status = process.wait() => status?,
        };
        match timeout(PIPE_CLOSE_GRACE, pipe_io).await {
            Ok(io_result) => io_result?,
            Err(_) => {
                debug!(agent = %turn.agent(), "command exited with its output still open")
            }
        }
        Ok(status)
    }

    async fn report_exit(self, status: ExitStatus) -> Result<(), AgentFailure> {
        if status.success() {
            return Ok(self.turn.complete().await?);
        }
        let (agent, task, stderr_tail) = (self.turn.agent(), self.turn.task_id(), self.tail.text());
        let exit = process::describe_exit(status);
        warn!(%agent, %task, exit, stderr = stderr_tail, "command failed");
        let detail = match self.command.stderr_policy {
            StderrPolicy::Expose if !stderr_tail.is_empty() => format!(": {stderr_tail}"),
            StderrPolicy::Expose | StderrPolicy::LogOnly => String::new(),
        };
        Err(AgentFailure::new(format!("the agent's command {exit}{detail}")))
    }
}

/// Builds the command line and the environment of the program.
fn build_command(command: &CommandAgent, turn: &Turn) -> io::Result<tokio::process::Command> {
    let home = command.home.prepare()?;
    let mut process_command = tokio::process::Command::new(&command.program);
    process_command.args(&command.arguments).env_clear();
    process_command.env("PATH", env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into()));
    let home_vars = if home.is_none() { &["HOME", "TMPDIR"][..] } else { &[] };
    let granted_vars = command.inherited_env.iter().map(String::as_str);
    if command.inherits_all_env {
        let is_passed = |name: &OsStr| !name.as_encoded_bytes().starts_with(SERVER_ENV_PREFIX);
        process_command.envs(env::vars_os().filter(|(name, _)| is_passed(name)));
    }
    for name in granted_vars.chain(home_vars.iter().copied()) {
        if let Some(value) = env::var_os(name) {
            process_command.env(name, value);
        }
    }
    if let Some((home, temp_dir)) = &home {
        process_command.env("HOME", home).env("TMPDIR", temp_dir);
    }
    if let Some(dir) = &command.current_dir {
        process_command.current_dir(dir);
    }
    process_command.env("LATIMER_AGENT", &**turn.agent());
    process_command.env("LATIMER_TASK_ID", turn.task_id().as_str());
    process_command.env("LATIMER_CALLER", &**turn.caller().id());
    // Callers choose context ids, and two callers may choose the same one.
    if let Some(context) = upstream_ids::context_id(turn) {
        process_command.env("LATIMER_CONTEXT_ID", context.as_str());
    }
    Ok(process_command)
}

/// Writes the message to standard input, with a final line break, and closes it: shells ignore a
/// last line without one. A message without text is empty. A program that does not read it is not
/// an error.
async fn write_input(stdin: Option<ChildStdin>, format: InputFormat, turn: &Turn) {
    let Some(mut stdin) = stdin else { return };
    let text = match format {
        InputFormat::Text => Ok(turn.text()),
        InputFormat::Json => serde_json::to_string(turn.message()),
    };
    let Ok(mut text) = text else { return };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if let Err(error) = stdin.write_all(text.as_bytes()).await {
        debug!(agent = %turn.agent(), %error, "command did not read its input");
    }
}

/// Streams standard output to an artifact as it arrives.
async fn stream_output(
    command: &CommandAgent,
    turn: &Turn,
    stdout: &mut ChildStdout,
) -> Result<(), StopReason> {
    let mut writer: ArtifactWriter = turn.artifact("output");
    let mut chunker = TextChunker::new(command.delimiter.as_deref());
    let mut buffer = vec![0; 16 * 1024];
    let mut total = 0;
    loop {
        let length = stdout.read(&mut buffer).await?;
        if length == 0 {
            break;
        }
        total += length;
        if total > command.max_output_bytes {
            return Err(StopReason::OutputLimit(command.max_output_bytes));
        }
        chunker.push(&buffer[..length]);
        while let Some(chunk) = chunker.next_chunk() {
            writer.push(chunk).await?;
        }
    }
    if let Some(chunk) = chunker.finish() {
        writer.push(chunk).await?;
    }
    Ok(())
}

/// Waits until the limit has passed; forever if there is none.
async fn wait_for_timeout(limit: Option<Duration>) {
    match limit {
        Some(limit) => sleep(limit).await,
        None => std::future::pending().await,
    }
}

impl From<TurnError> for StopReason {
    fn from(error: TurnError) -> Self {
        Self::TurnEnded(error)
    }
}

impl From<io::Error> for StopReason {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<StopReason> for AgentFailure {
    fn from(reason: StopReason) -> Self {
        match reason {
            StopReason::TurnEnded(error) => error.into(),
            StopReason::TimedOut(limit) => Self::new(format!(
                "the agent's command took longer than {limit:?} and was terminated"
            )),
            StopReason::OutputLimit(limit) => Self::new(format!(
                "the agent's command wrote more than {limit} bytes and was terminated"
            )),
            StopReason::Io(error) => error.into(),
        }
    }
}
