//! Why a command did not do its job.

use std::fmt;

use latimer_daemon::config::ConfigError;
use latimer_daemon::{OperatorError, StartError};

/// Why a command did not do its job, and the exit code that says so.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    message: String,
    hint: Option<String>,
}

/// It failed; another time it may not.
const FAILED: u8 = 1;
/// What was said is wrong.
const WRONG: u8 = 2;
/// Somebody did not want to wait.
const INTERRUPTED: u8 = 130;

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { code: FAILED, message: message.into(), hint: None }
    }

    pub(crate) fn wrong(message: impl Into<String>) -> Self {
        Self { code: WRONG, ..Self::new(message) }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub(crate) fn interrupted() -> Self {
        let message = "interrupted; what was going on goes on with the next start";
        Self { code: INTERRUPTED, ..Self::new(message) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(out, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let message = match &error {
            // Each is an error of its own.
            ConfigError::Invalid(problems) => {
                problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\nerror: ")
            }
            other => other.to_string(),
        };
        Self::wrong(message)
    }
}

impl From<OperatorError> for Failure {
    fn from(error: OperatorError) -> Self {
        let hint = error.hint().map(str::to_owned);
        Self { hint, ..Self::new(error.to_string()) }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Self {
            code: if error.is_configuration() { WRONG } else { FAILED },
            message: error.to_string(),
            hint: error.hint().map(str::to_owned),
        }
    }
}
