//! What is wrong with a configuration.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::tree::{Origin, Source};

/// Something about a configuration that is wrong, or should be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it is.
    pub origin: Origin,
    /// What it is.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(origin: impl Into<Origin>, message: impl Into<String>) -> Self {
        Self { origin: origin.into(), message: message.into(), hint: None }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin.source {
            Source::Default => {}
            Source::File(_) | Source::Environment(_) | Source::Flag(_) => {
                write!(out, "{}: ", self.origin)?;
            }
        }
        out.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(out, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It says something that cannot be, or that nobody understands. All of it is listed.
    #[error("{}", list(.0))]
    Invalid(Vec<Problem>),
}

impl From<Problem> for ConfigError {
    fn from(problem: Problem) -> Self {
        Self::Invalid(vec![problem])
    }
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}
