//! Errors of the protocol, and their codes in each version and binding.
//!
//! An [`Error`] contains only what a peer may see. The cause of an internal error belongs in the
//! log of the process that creates it.
//!
//! | module | content |
//! | --- | --- |
//! | `detail` | `google.rpc` details as JSON |
//! | `grpc` | gRPC statuses |
//! | `http` | HTTP error responses |
//! | `jsonrpc` | JSON-RPC error objects |
//! | `table` | kinds of errors with their codes |

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

/// Error of a call, as its caller may see it.
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
    /// Boxed because errors move through every layer and few have a challenge.
    challenge: Option<Box<Challenge>>,
}

impl Error {
    /// Creates an error. The message must be safe to send to a peer.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            metadata: BTreeMap::new(),
            violations: Vec::new(),
            challenge: None,
        }
    }

    /// Creates the error for a task that does not exist or belongs to another caller. Both look the
    /// same.
    pub fn task_not_found(task: impl fmt::Display) -> Self {
        Self::new(ErrorKind::TaskNotFound, format!("task {task} was not found"))
            .with_metadata("taskId", task.to_string())
    }

    /// Creates the error for an unsupported declared version. Lists the supported ones.
    #[must_use]
    pub fn version_not_supported(declared: &str) -> Self {
        let supported = Version::ALL.map(Version::as_str).join(", ");
        let declared = truncate_for_display(declared, MAX_DISPLAYED_CHARS);
        let message =
            format!("A2A version {declared:?} is not supported; supported are {supported}");
        Self::new(ErrorKind::VersionNotSupported, message)
            .with_metadata("supportedVersions", supported)
    }

    /// Creates an internal error with the default message.
    #[must_use]
    pub fn internal() -> Self {
        ErrorKind::Internal.into()
    }

    /// Adds a metadata entry, which is sent with the reason.
    #[must_use]
    pub fn with_metadata(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }

    /// Sets the time after which the caller may retry, rounded up to whole seconds.
    #[must_use]
    pub fn with_retry_after(self, wait: Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        self.with_metadata(RETRY_AFTER_KEY, seconds.max(1).to_string())
    }

    /// Returns the seconds after which the caller may retry, if they are known.
    #[must_use]
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.metadata.get(RETRY_AFTER_KEY)?.parse().ok()
    }

    /// Adds an invalid field.
    #[must_use]
    pub fn with_violation(mut self, violation: InvalidField) -> Self {
        self.violations.push(violation);
        self
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the human-readable message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the machine-readable metadata.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// Returns the invalid fields.
    #[must_use]
    pub fn violations(&self) -> &[InvalidField] {
        &self.violations
    }
}

/// Metadata key of the seconds after which the caller may retry.
const RETRY_AFTER_KEY: &str = "retryAfter";

/// Number of characters of a peer's string that a message repeats at most.
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
