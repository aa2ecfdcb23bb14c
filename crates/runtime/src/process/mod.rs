//! Child processes that are stopped together with their descendants.
//!
//! The only module of the crate that depends on the operating system: `unix` and `windows`
//! implement process groups and private directories.

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

/// The shell, and its option that precedes a command line.
#[cfg(unix)]
pub(crate) const SHELL: [&str; 2] = ["sh", "-c"];
#[cfg(windows)]
pub(crate) const SHELL: [&str; 2] = ["cmd", "/C"];

/// Shell script that succeeds if its first argument is a command.
#[cfg(unix)]
const SHELL_LOOKUP: Option<&str> = Some("command -v -- \"$1\"");
#[cfg(windows)]
const SHELL_LOOKUP: Option<&str> = None;

/// A running program and its process group. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct Process {
    // Dropped before `child` reaps the process, after which the group id may be reused.
    group: Group,
    child: Child,
}

/// Standard streams of a program.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}

impl Process {
    /// Starts a program in a new process group.
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

    /// Waits until the program exits, and kills the remaining processes of its group: they could
    /// hold its pipes open.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.group.kill();
        Ok(status)
    }

    /// Terminates the group, and kills it if the program does not exit within `grace`. Discards the
    /// remaining output, so that a full pipe does not block the exit.
    pub(crate) async fn stop(mut self, pipes: Pipes, grace: Duration) {
        self.group.terminate();
        drop(pipes.stdin);
        let drain_pipes = async { tokio::join!(drain(pipes.stdout), drain(pipes.stderr)) };
        let graceful_exit = async { tokio::join!(self.child.wait(), drain_pipes) };
        let result = timeout(grace, graceful_exit).await;
        self.group.kill();
        if result.is_err() {
            // These fail only if the program has exited meanwhile.
            self.child.start_kill().ok();
            self.child.wait().await.ok();
        }
    }
}

/// Reads a pipe to its end and discards the content.
async fn drain(pipe: Option<impl AsyncRead + Unpin>) {
    if let Some(mut pipe) = pipe {
        // A read error ends the output, too.
        copy(&mut pipe, &mut sink()).await.ok();
    }
}

/// Returns whether the shell can run a word as a command: a program, a builtin or a keyword. Always
/// `true` where the shell cannot be asked. Blocks until the shell exits.
pub(crate) fn is_shell_word(word: &str, current_dir: Option<&Path>) -> bool {
    let Some(script) = SHELL_LOOKUP else { return true };
    let [shell, option] = SHELL;
    let mut lookup = std::process::Command::new(shell);
    lookup.args([option, script, shell, word]).current_dir(current_dir.unwrap_or(Path::new(".")));
    lookup.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    lookup.status().map_or(true, |it| it.success())
}

/// Creates a directory and its missing parents, readable by their owner only. Existing directories
/// keep their permissions. On Windows, new directories inherit the permissions of their parent.
///
/// # Errors
/// An I/O error if a directory cannot be created.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    Group::set_private_mode(&mut builder);
    builder.create(path)
}

/// Describes how a program exited, for error messages.
pub(crate) fn describe_exit(status: ExitStatus) -> String {
    match (status.code(), Group::exit_signal(status)) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => format!("was terminated by signal {signal}"),
        (None, None) => "exited with an unknown status".to_owned(),
    }
}
