//! Process groups and private directories on Unix.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// Process group of a program. Killed on drop.
#[derive(Debug)]
pub(super) struct Group(Option<Pid>);

impl Group {
    /// Configures `command` to start its program as the leader of a new group.
    pub(super) fn prepare(command: &mut Command) {
        command.process_group(0);
    }

    pub(super) fn for_child(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }

    /// Sends `SIGTERM` to the group.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Sends `SIGKILL` to the group, at most once, because the group id may be reused afterwards.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.0 = None;
    }

    /// Restricts new directories to their owner.
    pub(super) fn set_private_mode(builder: &mut DirBuilder) {
        builder.mode(0o700);
    }

    /// Returns the signal that terminated a program.
    pub(super) fn exit_signal(status: ExitStatus) -> Option<i32> {
        status.signal()
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // Fails only if the group has no processes left.
            kill_process_group(group, signal).ok();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
