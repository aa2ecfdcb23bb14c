//! A program and everything it starts, as one thing that can be stopped.
//!
//! The only module of the crate that knows the operating system.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, copy, sink};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

#[cfg(unix)]
use unix::Group;
#[cfg(windows)]
use windows::Group;

/// The shell, and the option before a line for it.
#[cfg(unix)]
pub(crate) const SHELL: [&str; 2] = ["sh", "-c"];
#[cfg(windows)]
pub(crate) const SHELL: [&str; 2] = ["cmd", "/C"];

/// A running program, with whatever it started. Dropping it kills them all.
#[derive(Debug)]
pub(crate) struct Process {
    // Dropped first, while the number of the group cannot mean another.
    group: Group,
    child: Child,
}

/// The ends of its pipes.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}

impl Process {
    /// Starts a program in a group of its own.
    pub(crate) fn start(command: &mut Command) -> io::Result<(Self, Pipes)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        Group::prepare(command);
        let mut child = command.spawn()?;
        let group = Group::for_child(&child);
        let pipes = Pipes {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
        };
        Ok((Self { group, child }, pipes))
    }

    /// Waits until the program ends, and ends what it left behind: a pipe that such a straggler
    /// holds open would otherwise never end.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.group.kill();
        Ok(status)
    }

    /// Asks the program to end, and kills it when it does not within `grace`. What it still writes
    /// is read and thrown away, so that a full pipe does not keep it from ending.
    pub(crate) async fn stop(mut self, pipes: Pipes, grace: Duration) {
        self.group.terminate();
        drop(pipes.stdin);
        let drain_pipes = async { tokio::join!(drain(pipes.stdout), drain(pipes.stderr)) };
        let graceful_exit = async { tokio::join!(self.child.wait(), drain_pipes) };
        let result = timeout(grace, graceful_exit).await;
        self.group.kill();
        if result.is_err() {
            // Both may fail only because it ended in the meantime.
            self.child.start_kill().ok();
            self.child.wait().await.ok();
        }
    }
}

/// Reads a pipe to its end for nothing.
async fn drain(pipe: Option<impl AsyncRead + Unpin>) {
    if let Some(mut pipe) = pipe {
        // A pipe that cannot be read is at its end, too.
        copy(&mut pipe, &mut sink()).await.ok();
    }
}

/// Creates a directory, and its missing parents, readable by their owner only. Directories that exist
/// keep their permissions.
///
/// # Errors
/// When one of them cannot be created.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    Group::set_private_mode(&mut builder);
    builder.create(path)
}

/// How a program ended, for people.
pub(crate) fn describe_exit(status: ExitStatus) -> String {
    match (status.code(), Group::exit_signal(status)) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}
