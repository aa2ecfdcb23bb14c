//! Errors of commands.

use std::fmt;

use latimer_daemon::config::ConfigError;
use latimer_daemon::{OperatorError, StartError};

use crate::output::StdoutError;
use crate::signal::StopSignal;

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
/// Second signal while shutting down was SIGINT, as of a shell command that SIGINT ended.
const EXIT_INTERRUPTED: u8 = 130;
/// Second signal was SIGTERM, as of a shell command that SIGTERM ended.
#[cfg(unix)]
const EXIT_TERMINATED: u8 = 143;

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

    /// Creates the error of a server that a second signal stopped, with a text that states what
    /// becomes of its tasks.
    pub(crate) fn stopped_at_once(signal: StopSignal, tasks: &str) -> Self {
        let exit_code = match signal {
            StopSignal::Interrupt => EXIT_INTERRUPTED,
            #[cfg(unix)]
            StopSignal::Terminate => EXIT_TERMINATED,
        };
        Self { exit_code, ..Self::new(format!("stopped at once by a second signal; {tasks}")) }
    }

    /// Returns the message with the hint, if there is one, on a line of its own.
    pub(crate) fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}\n  hint: {hint}", self.message),
            None => self.message.clone(),
        }
    }

    /// Returns whether the process prints this error. It exits with 0 and without a message if the
    /// reader of its output has closed the pipe.
    pub(crate) fn is_printed(&self) -> bool {
        self.exit_code != EXIT_SUCCESS
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "error: {}", self.text())
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
