//! What went wrong with a tool, as a model is told.

use std::time::Duration;

use serde::{Serialize, Serializer};

/// Why a call of a tool came to nothing, in words that anybody may read.
///
/// ```
/// use latimer_runtime::tools::{Code, ToolError};
///
/// let error = ToolError::new(Code::A2aError, "the agent cannot be reached").passing(None);
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
    code: Code,
    message: String,
    retryable: bool,
    wait: Option<Duration>,
}

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Code {
    /// An agent elsewhere did not do it.
    #[serde(rename = "A2A_ERROR")]
    A2aError,
    /// The arguments are not those that the tool takes.
    InvalidArguments,
    /// The tool needs what is not granted.
    MissingCapability,
    /// There is no such tool.
    UnknownTool,
}

impl ToolError {
    /// An error that the same call would meet again.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retryable: false, wait: None }
    }

    /// The same error, which the same call may not meet later on: after this time, if it is known.
    #[must_use]
    pub fn passing(self, wait: Option<Duration>) -> Self {
        Self { retryable: true, wait, ..self }
    }

    /// What kind of thing went wrong.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }

    /// What went wrong, and what to do about it.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the same call may do better later on.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// How long to wait before that, if it is known.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        self.wait
    }
}

impl Serialize for ToolError {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told<'a> {
            error: Error<'a>,
        }

        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Error<'a> {
            code: Code,
            message: &'a str,
            retryable: bool,
            /// In seconds.
            #[serde(skip_serializing_if = "Option::is_none")]
            retry_after: Option<u64>,
        }

        let Self { code, message, retryable, wait } = self;
        let retry_after = wait.map(|it| it.as_secs().max(1));
        Told { error: Error { code: *code, message, retryable: *retryable, retry_after } }
            .serialize(out)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_model_is_told_what_kind_of_error_it_is_and_when_to_try_again() {
        for (code, want) in [
            (Code::A2aError, "A2A_ERROR"),
            (Code::InvalidArguments, "INVALID_ARGUMENTS"),
            (Code::MissingCapability, "MISSING_CAPABILITY"),
            (Code::UnknownTool, "UNKNOWN_TOOL"),
        ] {
            let told = serde_json::to_value(ToolError::new(code, "no")).unwrap();
            let error = json!({"code": want, "message": "no", "retryable": false});
            assert_eq!(told, json!({ "error": error }));
        }
        let later = ToolError::new(Code::A2aError, "later").passing(Some(Duration::from_secs(7)));
        let told = serde_json::to_value(later).unwrap();
        let error = json!({
            "code": "A2A_ERROR", "message": "later", "retryable": true, "retryAfter": 7,
        });
        assert_eq!(told, json!({ "error": error }));
    }
}
