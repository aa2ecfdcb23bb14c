//! Stub of process groups on Windows: only the program itself is killed, when its handle is
//! dropped.

use std::fs::DirBuilder;
use std::process::ExitStatus;

use tokio::process::{Child, Command};

/// Process group without effect.
#[derive(Debug)]
pub(super) struct Group;

impl Group {
    pub(super) fn prepare(_command: &mut Command) {}

    pub(super) fn for_child(_child: &Child) -> Self {
        Self
    }

    pub(super) fn terminate(&self) {}

    pub(super) fn kill(&mut self) {}

    pub(super) fn set_private_mode(_builder: &mut DirBuilder) {}

    pub(super) fn exit_signal(_status: ExitStatus) -> Option<i32> {
        None
    }
}
