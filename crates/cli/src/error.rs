//! Why a command did not do its job.

use std::fmt;

use latimer_daemon::config::ConfigError;
use latimer_daemon::{OperatorError, StartError};

/// Why a command did not do its job, and the exit code that says so.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) exit_code: u8,
    message: String,
    hint: Option<String>,
}

/// It failed; another time it may not.
const EXIT_FAILURE: u8 = 1;
/// What was said is wrong.
const EXIT_USAGE: u8 = 2;
/// Somebody did not want to wait.
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
        let message = "interrupted; what was going on goes on with the next start";
        Self { exit_code: EXIT_INTERRUPTED, ..Self::new(message) }
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

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        let message = match &error {
            // Each is an error of its own.
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
