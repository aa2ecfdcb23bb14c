//! What a process is told to be. A program here starts itself again, so that one command is enough.

use std::process::{Command, ExitCode};

use serde::{Deserialize, Serialize};

use crate::{BenchError, baseline, call, hold_open, load, readers, server_under_test};

/// What a process is told to be.
#[derive(Debug, Serialize, Deserialize)]
pub enum Role {
    /// A server that only answers, over HTTP.
    Baseline {
        /// Where it listens.
        address: String,
    },
    /// A server that only answers, over gRPC.
    GrpcBaseline {
        /// Where it listens.
        address: String,
    },
    /// Ours.
    ServerUnderTest(server_under_test::Setup),
    /// Load; says a [`load::LoadResult`].
    Load(load::Plan),
    /// Keeps something open; says a line when it is, and ends with its input.
    HoldOpen(hold_open::Plan),
    /// Calls with a library; says a [`call::CallResult`].
    Call(call::Plan),
    /// Many readers of one task; says a [`readers::ReadersResult`].
    Readers(readers::Plan),
}

const ROLE_OPTION: &str = "--role";

impl Role {
    /// Tells a process about it.
    pub(crate) fn add_to_command(&self, command: &mut Command) -> Result<(), BenchError> {
        command.arg(ROLE_OPTION).arg(serde_json::to_string(self)?);
        Ok(())
    }

    fn run(self) -> Result<(), BenchError> {
        match self {
            Self::Baseline { address } => baseline::serve(&address),
            Self::GrpcBaseline { address } => baseline::serve_grpc(&address),
            Self::ServerUnderTest(setup) => server_under_test::serve(setup),
            Self::Load(plan) => load::run(plan),
            Self::HoldOpen(plan) => hold_open::run(plan),
            Self::Call(plan) => call::run(plan),
            Self::Readers(plan) => readers::run(plan),
        }
    }
}

/// Plays the role that this process was given; does what the program is for when it was given none.
#[expect(clippy::print_stderr, reason = "a program that says why it gives up")]
pub fn main(run: impl FnOnce() -> Result<(), BenchError>) -> ExitCode {
    match run_assigned().and_then(|had_role| if had_role { Ok(()) } else { run() }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Plays the role that this process was given. False when it was given none.
///
/// # Errors
/// Whatever the role fails with.
fn run_assigned() -> Result<bool, BenchError> {
    let mut args = std::env::args().skip(1);
    let (Some(ROLE_OPTION), Some(role)) = (args.next().as_deref(), args.next()) else {
        return Ok(false);
    };
    serde_json::from_str::<Role>(&role)?.run()?;
    Ok(true)
}
