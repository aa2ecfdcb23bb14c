//! One run of a program.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;
use std::{env, pin::pin};

use latimer_server::{AgentFailure, ArtifactWriter, Turn, TurnError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::{sleep, timeout};
use tracing::{debug, error, warn};

use super::pieces::Pieces;
use super::tail::Tail;
use super::{Command, Errors, Input};
use crate::process::{self, Pipes, Process};

/// How long pipes may stay open behind the end of a program: something that left its process group
/// may hold them.
const STRAGGLERS: Duration = Duration::from_millis(500);

/// Where programs are looked for when nobody says.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A program at work on a turn. Dropping it ends the program.
#[derive(Debug)]
pub(super) struct Run<'a> {
    command: &'a Command,
    turn: Turn,
    process: Process,
    pipes: Pipes,
    tail: Tail,
}

/// Why a program was stopped.
enum Stopped {
    /// The task was canceled, or the turn is over for another reason.
    Over(TurnError),
    /// It took too long.
    Time(Duration),
    /// It wrote too much.
    Output(usize),
    /// Its pipes failed.
    Broken(io::Error),
}

impl<'a> Run<'a> {
    /// Starts the program.
    pub(super) fn start(command: &'a Command, turn: Turn) -> Result<Self, AgentFailure> {
        let start = || Process::start(&mut prepare(command, &turn)?);
        match start() {
            Ok((process, pipes)) => {
                Ok(Self { command, turn, process, pipes, tail: Tail::default() })
            }
            Err(cause) => {
                let (agent, program) = (turn.agent(), &command.program);
                let folder = &command.folder;
                error!(%agent, program, ?folder, error = %cause, "command cannot be started");
                let why = match cause.kind() {
                    io::ErrorKind::NotFound => "it was not found",
                    io::ErrorKind::PermissionDenied => "that is not permitted",
                    _ => "see the log of the server",
                };
                Err(AgentFailure::new(format!("the agent's command cannot be started: {why}")))
            }
        }
    }

    /// Feeds it, passes on what it says, and waits for its end.
    pub(super) async fn finish(mut self) -> Result<(), AgentFailure> {
        let cancelled = self.turn.cancellation_token().clone();
        let limit = self.command.time_limit;
        let ended = tokio::select! {
            biased;
            () = cancelled.cancelled() => Err(Stopped::Over(TurnError::Stopped)),
            () = expires(limit) => Err(Stopped::Time(limit.unwrap_or_default())),
            ended = self.work() => ended,
        };
        match ended {
            Ok(status) => self.conclude(status).await,
            Err(why) => {
                self.process.stop(self.pipes, self.command.grace).await;
                Err(why.into())
            }
        }
    }

    async fn work(&mut self) -> Result<ExitStatus, Stopped> {
        let Self { command, turn, process, pipes, tail } = self;
        let mut talk = pin!(async {
            let feed = async {
                feed(pipes.stdin.take(), command.input, turn).await;
                Ok(())
            };
            let errors = async {
                if let Some(stderr) = &mut pipes.stderr {
                    tail.read(turn.agent(), stderr).await;
                }
                Ok(())
            };
            let answer = async {
                match &mut pipes.stdout {
                    Some(stdout) => answer(command, turn, stdout).await,
                    None => Ok(()),
                }
            };
            tokio::try_join!(feed, errors, answer).map(drop)
        });
        let status = tokio::select! {
            talked = &mut talk => {
                talked?;
                return Ok(process.wait().await?);
            }
            status = process.wait() => status?,
        };
        match timeout(STRAGGLERS, talk).await {
            Ok(talked) => talked?,
            Err(_) => debug!(agent = %turn.agent(), "command left something behind"),
        }
        Ok(status)
    }

    async fn conclude(self, status: ExitStatus) -> Result<(), AgentFailure> {
        if status.success() {
            return Ok(self.turn.complete().await?);
        }
        let (agent, task, said) = (self.turn.agent(), self.turn.task_id(), self.tail.text());
        let how = process::describe(status);
        warn!(%agent, %task, how, stderr = said, "command failed");
        let shown = match self.command.errors {
            Errors::Shown if !said.is_empty() => format!(": {said}"),
            Errors::Shown | Errors::Logged => String::new(),
        };
        Err(AgentFailure::new(format!("the agent's command {how}{shown}")))
    }
}

/// The program with its surroundings.
fn prepare(command: &Command, turn: &Turn) -> io::Result<tokio::process::Command> {
    let home = command.home.open()?;
    let mut prepared = tokio::process::Command::new(&command.program);
    prepared.args(&command.arguments).env_clear();
    prepared.env("PATH", env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into()));
    let inherited = if home.is_none() { &["HOME", "TMPDIR"][..] } else { &[] };
    let granted = command.variables.iter().map(String::as_str);
    for name in granted.chain(inherited.iter().copied()) {
        if let Some(value) = env::var_os(name) {
            prepared.env(name, value);
        }
    }
    if let Some((home, temporary)) = &home {
        prepared.env("HOME", home).env("TMPDIR", temporary);
    }
    if let Some(folder) = &command.folder {
        prepared.current_dir(folder);
    }
    prepared.env("LATIMER_AGENT", &**turn.agent());
    prepared.env("LATIMER_TASK_ID", turn.task_id().as_str());
    prepared.env("LATIMER_CONTEXT_ID", turn.context_id().as_str());
    Ok(prepared)
}

/// Writes the message, and closes the pipe. A program need not read it.
async fn feed(stdin: Option<ChildStdin>, input: Input, turn: &Turn) {
    let Some(mut stdin) = stdin else { return };
    let text = match input {
        Input::Text => Ok(turn.text()),
        Input::Json => serde_json::to_string(turn.message()),
    };
    let Ok(text) = text else { return };
    if let Err(error) = stdin.write_all(text.as_bytes()).await {
        debug!(agent = %turn.agent(), %error, "command does not read its input");
    }
}

/// Passes on what the program writes, as it comes.
async fn answer(command: &Command, turn: &Turn, stdout: &mut ChildStdout) -> Result<(), Stopped> {
    let mut writer: ArtifactWriter = turn.artifact("output");
    let mut pieces = Pieces::new(command.delimiter.as_deref());
    let mut buffer = vec![0; 16 * 1024];
    let mut total = 0;
    loop {
        let length = stdout.read(&mut buffer).await?;
        if length == 0 {
            break;
        }
        total += length;
        if total > command.output_limit {
            return Err(Stopped::Output(command.output_limit));
        }
        pieces.push(&buffer[..length]);
        while let Some(piece) = pieces.next() {
            writer.push(piece).await?;
        }
    }
    if let Some(piece) = pieces.finish() {
        writer.push(piece).await?;
    }
    Ok(())
}

/// Waits until the limit is reached, if there is one.
async fn expires(limit: Option<Duration>) {
    match limit {
        Some(limit) => sleep(limit).await,
        None => std::future::pending().await,
    }
}

impl From<TurnError> for Stopped {
    fn from(over: TurnError) -> Self {
        Self::Over(over)
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl From<Stopped> for AgentFailure {
    fn from(why: Stopped) -> Self {
        match why {
            Stopped::Over(over) => over.into(),
            Stopped::Time(limit) => {
                Self::new(format!("the agent's command took longer than {limit:?} and was ended"))
            }
            Stopped::Output(limit) => Self::new(format!(
                "the agent's command wrote more than {limit} bytes and was ended"
            )),
            Stopped::Broken(error) => error.into(),
        }
    }
}
