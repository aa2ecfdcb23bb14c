//! What can go wrong, by meaning; one table says how each version and binding spells it.
//!
//! An [`Error`] is what a peer sees: its message is safe to send. The cause of an internal error
//! belongs in the log of whoever made it, never in here.

mod challenge;
mod detail;
mod grpc;
mod http;
mod jsonrpc;
mod table;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

pub use challenge::Challenge;
pub use grpc::GrpcStatus;
pub use http::HttpError;
pub use jsonrpc::code;
pub use table::{ErrorCodes, ErrorKind};

use crate::display::truncate_for_display;
use crate::json::{InvalidField, ParseError};
use crate::version::Version;

/// A failed call, as its caller may see it.
///
/// ```
/// # use latimer_protocol::{Error, ErrorKind};
/// let error = Error::task_not_found("t1");
/// assert_eq!(error.kind(), ErrorKind::TaskNotFound);
/// assert_eq!(error.to_string(), "task t1 was not found");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: Cow<'static, str>,
    metadata: BTreeMap<String, String>,
    violations: Vec<InvalidField>,
    challenge: Option<Challenge>,
}

impl Error {
    /// An error of this meaning, with a message that is safe to send.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            metadata: BTreeMap::new(),
            violations: Vec::new(),
            challenge: None,
        }
    }

    /// No such task, or none of this caller's: the two must look the same.
    pub fn task_not_found(task: impl fmt::Display) -> Self {
        Self::new(ErrorKind::TaskNotFound, format!("task {task} was not found"))
            .with_metadata("taskId", task.to_string())
    }

    /// A version that is said and not supported, with those that are.
    #[must_use]
    pub fn version_not_supported(declared: &str) -> Self {
        let supported = Version::ALL.map(Version::as_str).join(", ");
        let declared = truncate_for_display(declared, MAX_DISPLAYED_CHARS);
        let message =
            format!("A2A version {declared:?} is not supported; supported are {supported}");
        Self::new(ErrorKind::VersionNotSupported, message)
            .with_metadata("supportedVersions", supported)
    }

    /// Something failed that the caller can do nothing about.
    #[must_use]
    pub fn internal() -> Self {
        ErrorKind::Internal.into()
    }

    /// The same error with one more fact for programs, kept beside the reason.
    #[must_use]
    pub fn with_metadata(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }

    /// The same error, which is worth another try after this time.
    #[must_use]
    pub fn with_retry_after(self, wait: Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        self.with_metadata(RETRY_AFTER_KEY, seconds.max(1).to_string())
    }

    /// After how many seconds it is worth another try, if that is known.
    #[must_use]
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.metadata.get(RETRY_AFTER_KEY)?.parse().ok()
    }

    /// The same error with a field that was wrong.
    #[must_use]
    pub fn with_violation(mut self, violation: InvalidField) -> Self {
        self.violations.push(violation);
        self
    }

    /// What it means.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What happened, for people.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Facts for programs.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// The fields that were wrong.
    #[must_use]
    pub fn violations(&self) -> &[InvalidField] {
        &self.violations
    }
}

/// The fact that says when to try again, in seconds.
const RETRY_AFTER_KEY: &str = "retryAfter";

/// How much of a caller's text is repeated in a message.
pub(crate) const MAX_DISPLAYED_CHARS: usize = 64;

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind, kind.default_message())
    }
}

impl From<InvalidField> for Error {
    fn from(invalid: InvalidField) -> Self {
        let message = format!("invalid parameters: {invalid}");
        Self::new(ErrorKind::InvalidParams, message).with_violation(invalid)
    }
}

impl From<ParseError> for Error {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::Invalid(invalid) => invalid.into(),
            ParseError::Malformed(_) => Self::new(ErrorKind::Parse, error.to_string()),
        }
    }
}
