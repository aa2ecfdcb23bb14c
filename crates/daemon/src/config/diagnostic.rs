//! Errors and warnings of a configuration.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::location::Location;
use super::tree::{Layer, Provenance};

/// Error or warning of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Source of the affected value.
    pub provenance: Provenance,
    /// Description of the problem.
    pub message: String,
    /// Proposed fix.
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

/// Errors and warnings found so far.
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

    /// Adds an error of a value, with a hint how to fix it.
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

    /// Fails with the errors found so far, if any, and removes them.
    pub(crate) fn fail_on_errors(&mut self) -> Result<(), ConfigError> {
        match self.errors.is_empty() {
            true => Ok(()),
            false => Err(ConfigError::Invalid(std::mem::take(&mut self.errors))),
        }
    }
}

/// Reason why a configuration cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The configuration file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// I/O error.
        source: io::Error,
    },
    /// Keys or values are invalid. Contains every error.
    #[error("{}", format_diagnostics(.0))]
    Invalid(Vec<Diagnostic>),
}

impl From<Diagnostic> for ConfigError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Invalid(vec![diagnostic])
    }
}

/// Formats diagnostics, each on lines of its own.
fn format_diagnostics(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(Diagnostic::to_string).collect::<Vec<_>>().join("\n")
}
