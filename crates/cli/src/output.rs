//! Output: results to standard output, everything else to standard error.

use std::io::{self, Write};

/// Prints a result. Ignores write errors, such as a pipe that its reader has closed.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).ok();
}

/// Prints a message to standard error.
pub(crate) fn print_error(text: &str) {
    writeln!(io::stderr().lock(), "{text}").ok();
}

/// Prints a warning.
pub(crate) fn warn(message: impl std::fmt::Display) {
    print_error(&format!("warning: {message}"));
}
