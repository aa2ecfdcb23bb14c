//! Roles of child processes. A benchmark program runs its own executable as server and load
//! generator, so that one command starts everything.

use std::process::{Command, ExitCode};

use serde::{Deserialize, Serialize};

use crate::{BenchError, baseline, call, hold_open, load, readers, server_under_test};

/// Role of a child process, with its parameters.
#[derive(Debug, Serialize, Deserialize)]
pub enum Role {
    /// Baseline server over HTTP.
    Baseline {
        /// Socket address to listen on.
        address: String,
    },
    /// Baseline server over gRPC.
    GrpcBaseline {
        /// Socket address to listen on.
        address: String,
    },
    /// Latimer server.
    ServerUnderTest(server_under_test::Setup),
    /// Load generator; writes a [`load::LoadResult`].
    Load(load::Plan),
    /// Holds resources open until its standard input ends; writes `true` when they are open.
    HoldOpen(hold_open::Plan),
    /// Calls with a client library; writes a [`call::CallResult`].
    Call(call::Plan),
    /// Readers of one task; writes a [`readers::ReadersResult`].
    Readers(readers::Plan),
}

const ROLE_OPTION: &str = "--role";

impl Role {
    /// Adds the option that assigns this role to a child process.
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

/// Entry point of a benchmark program: runs the role assigned on the command line, or `run` if
/// there is none. Prints an error and returns a failure code if either fails.
#[expect(clippy::print_stderr, reason = "the program reports why it failed")]
pub fn main(run: impl FnOnce() -> Result<(), BenchError>) -> ExitCode {
    match run_assigned().and_then(|had_role| if had_role { Ok(()) } else { run() }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the role assigned on the command line. Returns `false` if there is none.
fn run_assigned() -> Result<bool, BenchError> {
    let mut args = std::env::args().skip(1);
    let (Some(ROLE_OPTION), Some(role)) = (args.next().as_deref(), args.next()) else {
        return Ok(false);
    };
    serde_json::from_str::<Role>(&role)?.run()?;
    Ok(true)
}
