//! Output: results to standard output, everything else to standard error.

use std::fmt;
use std::io::{self, Write};

/// Error of writing to standard output.
#[derive(Debug)]
pub(crate) struct StdoutError(io::Error);

impl StdoutError {
    pub(crate) fn new(error: io::Error) -> Self {
        Self(error)
    }

    /// Returns whether the reader of a pipe has closed it, as `head` does when it has read enough.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

impl fmt::Display for StdoutError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "cannot write to standard output: {}", self.0)
    }
}

/// Prints a result.
///
/// # Errors
/// Fails if standard output cannot be written.
pub(crate) fn print(text: &str) -> Result<(), StdoutError> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(StdoutError::new)
}

/// Prints a message to standard error. Ignores a write error, which could be reported nowhere else.
pub(crate) fn print_error(text: &str) {
    writeln!(io::stderr().lock(), "{text}").ok();
}

/// Prints a warning.
pub(crate) fn warn(message: impl fmt::Display) {
    print_error(&format!("warning: {message}"));
}
