//! Process groups.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// The process group that a program leads. Killed when dropped.
#[derive(Debug)]
pub(super) struct Group(Option<Pid>);

impl Group {
    /// Makes the program that `command` starts the leader of a new group.
    pub(super) fn prepare(command: &mut Command) {
        command.process_group(0);
    }

    pub(super) fn for_child(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }

    /// Asks all of them to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends all of them, once: afterwards the number of the group may come to mean another.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.0 = None;
    }

    /// Has folders made for their owner only.
    pub(super) fn set_private_mode(builder: &mut DirBuilder) {
        builder.mode(0o700);
    }

    /// The signal that ended a program.
    pub(super) fn exit_signal(status: ExitStatus) -> Option<i32> {
        status.signal()
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // It fails when there is nobody left, which is as well.
            kill_process_group(group, signal).ok();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
