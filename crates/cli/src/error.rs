//! Errors of commands.

use std::fmt;

use latimer_daemon::config::ConfigError;
use latimer_daemon::{OperatorError, StartError};

use crate::output::StdoutError;

/// Error of a command, with its exit code.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) exit_code: u8,
    message: String,
    hint: Option<String>,
}

/// Success.
const EXIT_SUCCESS: u8 = 0;
/// Failure that a retry may overcome.
const EXIT_FAILURE: u8 = 1;
/// Invalid command line or configuration.
const EXIT_USAGE: u8 = 2;
/// Second interrupt while shutting down, as of a shell command that SIGINT ended.
const EXIT_INTERRUPTED: u8 = 130;

impl CliError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { exit_code: EXIT_FAILURE, message: message.into(), hint: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit_code: EXIT_USAGE, ..Self::new(message) }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub(crate) fn interrupted() -> Self {
        let message = "interrupted; unfinished turns continue with the next start";
        Self { exit_code: EXIT_INTERRUPTED, ..Self::new(message) }
    }

    /// Returns whether the process prints this error. It exits with 0 and without a message if the
    /// reader of its output has closed the pipe.
    pub(crate) fn is_printed(&self) -> bool {
        self.exit_code != EXIT_SUCCESS
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(out, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl From<StdoutError> for CliError {
    fn from(error: StdoutError) -> Self {
        let exit_code = if error.is_closed_pipe() { EXIT_SUCCESS } else { EXIT_FAILURE };
        Self { exit_code, ..Self::new(error.to_string()) }
    }
}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        let message = match &error {
            // Each diagnostic is printed as a separate error.
            ConfigError::Invalid(diagnostics) => {
                diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\nerror: ")
            }
            other => other.to_string(),
        };
        Self::usage(message)
    }
}

impl From<OperatorError> for CliError {
    fn from(error: OperatorError) -> Self {
        let hint = error.hint().map(str::to_owned);
        Self { hint, ..Self::new(error.to_string()) }
    }
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> Self {
        Self {
            exit_code: if error.is_config_error() { EXIT_USAGE } else { EXIT_FAILURE },
            message: error.to_string(),
            hint: error.hint().map(str::to_owned),
        }
    }
}
