//! What a process is told to be. A program here starts itself again, so that one command is enough.

use std::process::{Command, ExitCode};

use serde::{Deserialize, Serialize};

use crate::{Failure, call, floor, hold, load, subject, watch};

/// What a process is told to be.
#[derive(Debug, Serialize, Deserialize)]
pub enum Role {
    /// A server that only answers, over HTTP.
    Floor {
        /// Where it listens.
        address: String,
    },
    /// A server that only answers, over gRPC.
    GrpcFloor {
        /// Where it listens.
        address: String,
    },
    /// Ours.
    Subject(subject::Setup),
    /// Load; says an [`load::Outcome`].
    Load(load::Plan),
    /// Keeps something open; says a line when it is, and ends with its input.
    Hold(hold::Plan),
    /// Calls with a library; says a [`call::Outcome`].
    Call(call::Plan),
    /// Many readers of one task; says a [`watch::Outcome`].
    Watch(watch::Plan),
}

const OPTION: &str = "--role";

impl Role {
    /// Tells a process about it.
    pub(crate) fn tell(&self, command: &mut Command) -> Result<(), Failure> {
        command.arg(OPTION).arg(serde_json::to_string(self)?);
        Ok(())
    }

    fn play(self) -> Result<(), Failure> {
        match self {
            Self::Floor { address } => floor::serve(&address),
            Self::GrpcFloor { address } => floor::serve_grpc(&address),
            Self::Subject(setup) => subject::serve(setup),
            Self::Load(plan) => load::run(plan),
            Self::Hold(plan) => hold::run(plan),
            Self::Call(plan) => call::run(plan),
            Self::Watch(plan) => watch::run(plan),
        }
    }
}

/// Plays the role that this process was given; does what the program is for when it was given none.
#[expect(clippy::print_stderr, reason = "a program that says why it gives up")]
pub fn main(run: impl FnOnce() -> Result<(), Failure>) -> ExitCode {
    match play().and_then(|played| if played { Ok(()) } else { run() }) {
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
fn play() -> Result<bool, Failure> {
    let mut words = std::env::args().skip(1);
    let (Some(OPTION), Some(role)) = (words.next().as_deref(), words.next()) else {
        return Ok(false);
    };
    serde_json::from_str::<Role>(&role)?.play()?;
    Ok(true)
}
