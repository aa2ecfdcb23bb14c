//! Errors of tool calls.

use std::time::Duration;

use serde::{Serialize, Serializer};

/// Error of a tool call. Its message contains no secrets and can be shown to a model and its users.
/// Serializes to the form that models read.
///
/// ```
/// use latimer_runtime::tools::{ToolError, ToolErrorCode};
///
/// let error = ToolError::new(ToolErrorCode::A2aError, "the agent cannot be reached");
/// let error = error.retryable(None);
/// assert_eq!(
///     serde_json::to_value(&error).unwrap(),
///     serde_json::json!({"error": {
///         "code": "A2A_ERROR",
///         "message": "the agent cannot be reached",
///         "retryable": true,
///     }}),
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    code: ToolErrorCode,
    message: String,
    retryable: bool,
    retry_after: Option<Duration>,
}

/// Kind of a [`ToolError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum ToolErrorCode {
    /// The remote agent failed, or could not be called.
    #[serde(rename = "A2A_ERROR")]
    A2aError,
    /// The arguments do not match the schema of the tool.
    InvalidArguments,
    /// The tool requires a capability that has not been granted.
    MissingCapability,
    /// No tool has this name.
    UnknownTool,
}

impl ToolError {
    /// Creates an error that is not retryable.
    pub fn new(code: ToolErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retryable: false, retry_after: None }
    }

    /// Marks the error as retryable, after `retry_after` if it is known.
    #[must_use]
    pub fn retryable(self, retry_after: Option<Duration>) -> Self {
        Self { retryable: true, retry_after, ..self }
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn code(&self) -> ToolErrorCode {
        self.code
    }

    /// Returns what failed and what to do about it.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// Returns how long to wait before a retry, if it is known.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl Serialize for ToolError {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct ErrorBody<'a> {
            error: Error<'a>,
        }

        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Error<'a> {
            code: ToolErrorCode,
            message: &'a str,
            retryable: bool,
            /// Seconds, at least 1.
            #[serde(skip_serializing_if = "Option::is_none")]
            retry_after: Option<u64>,
        }

        let Self { code, message, retryable, retry_after: wait } = self;
        let retry_after = wait.map(|it| it.as_secs().max(1));
        ErrorBody { error: Error { code: *code, message, retryable: *retryable, retry_after } }
            .serialize(out)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tool_error_serializes_code_and_retry_after() {
        for (code, want) in [
            (ToolErrorCode::A2aError, "A2A_ERROR"),
            (ToolErrorCode::InvalidArguments, "INVALID_ARGUMENTS"),
            (ToolErrorCode::MissingCapability, "MISSING_CAPABILITY"),
            (ToolErrorCode::UnknownTool, "UNKNOWN_TOOL"),
        ] {
            let value = serde_json::to_value(ToolError::new(code, "no")).unwrap();
            let error = json!({"code": want, "message": "no", "retryable": false});
            assert_eq!(value, json!({ "error": error }));
        }
        let later = ToolError::new(ToolErrorCode::A2aError, "later")
            .retryable(Some(Duration::from_secs(7)));
        let value = serde_json::to_value(later).unwrap();
        let error = json!({
            "code": "A2A_ERROR", "message": "later", "retryable": true, "retryAfter": 7,
        });
        assert_eq!(value, json!({ "error": error }));
    }
}
