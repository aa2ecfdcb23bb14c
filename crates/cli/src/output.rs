//! Where words go: answers to standard output, everything else to standard error.

use std::io::{self, Write};

/// Prints a part of the answer. Nobody may be reading, which is theirs to decide.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).ok();
}

/// Prints something about the answer, or in place of it.
pub(crate) fn print_error(text: &str) {
    writeln!(io::stderr().lock(), "{text}").ok();
}

/// Prints that something should be known.
pub(crate) fn warn(message: impl std::fmt::Display) {
    print_error(&format!("warning: {message}"));
}
