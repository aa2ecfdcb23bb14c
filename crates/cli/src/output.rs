//! Output: results to standard output, everything else to standard error.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};
use tracing::Level;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

use crate::error::CliError;

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

/// Whether a server writes each line as JSON.
static JSON_LINES: AtomicBool = AtomicBool::new(false);

/// Sets whether warnings, errors and the startup summary are written as lines of JSON, in the format
/// of the log.
pub(crate) fn set_json_lines(enabled: bool) {
    JSON_LINES.store(enabled, Ordering::Relaxed);
}

/// Returns whether a server writes each line as JSON.
pub(crate) fn has_json_lines() -> bool {
    JSON_LINES.load(Ordering::Relaxed)
}

/// Formats a line of JSON in the format of the log.
pub(crate) fn json_line(level: Level, message: &str, mut fields: Map<String, Value>) -> String {
    let mut timestamp = String::new();
    // Fails only if the string cannot be written.
    SystemTime.format_time(&mut Writer::new(&mut timestamp)).ok();
    fields.insert("message".to_owned(), message.into());
    let level = level.as_str();
    json!({"timestamp": timestamp, "level": level, "fields": fields, "target": "latimer"})
        .to_string()
}

/// Prints a line to standard error. Ignores a write error, which could be reported nowhere else.
pub(crate) fn print_error(text: &str) {
    writeln!(io::stderr().lock(), "{text}").ok();
}

/// Prints the error of a command.
pub(crate) fn error(error: &CliError) {
    print_error(&match has_json_lines() {
        true => json_line(Level::ERROR, &error.text(), Map::new()),
        false => error.to_string(),
    });
}

/// Prints a warning.
pub(crate) fn warn(message: impl fmt::Display) {
    print_error(&match has_json_lines() {
        true => json_line(Level::WARN, &message.to_string(), Map::new()),
        false => format!("warning: {message}"),
    });
}
