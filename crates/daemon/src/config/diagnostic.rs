//! What is wrong with a configuration.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::location::Location;
use super::tree::{Layer, Provenance};

/// Something about a configuration that is wrong, or should be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where it is.
    pub provenance: Provenance,
    /// What it is.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Diagnostic {
    pub(crate) fn new(provenance: impl Into<Provenance>, message: impl Into<String>) -> Self {
        Self { provenance: provenance.into(), message: message.into(), hint: None }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.provenance.layer {
            Layer::Default => {}
            Layer::File(_) | Layer::Environment(_) | Layer::Flag(_) => {
                write!(out, "{}: ", self.provenance)?;
            }
        }
        out.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(out, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// What was found wrong so far.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    pub(crate) errors: Vec<Diagnostic>,
    pub(crate) warnings: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds an error.
    pub(crate) fn push(&mut self, error: Diagnostic) {
        self.errors.push(error);
    }

    /// Adds an error of a value, with what to do about it.
    pub(crate) fn error(
        &mut self,
        at: &Location<'_>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.push(Diagnostic::new(at.provenance.clone(), message).with_hint(hint));
    }

    /// Adds a warning of a value.
    pub(crate) fn warning(&mut self, at: &Location<'_>, message: impl Into<String>) {
        self.warnings.push(Diagnostic::new(at.provenance.clone(), message));
    }

    /// Returns the errors as one, if there are any.
    pub(crate) fn check(&mut self) -> Result<(), ConfigError> {
        match self.errors.is_empty() {
            true => Ok(()),
            false => Err(ConfigError::Invalid(std::mem::take(&mut self.errors))),
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
    Invalid(Vec<Diagnostic>),
}

impl From<Diagnostic> for ConfigError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Invalid(vec![diagnostic])
    }
}

fn list(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(Diagnostic::to_string).collect::<Vec<_>>().join("\n")
}
