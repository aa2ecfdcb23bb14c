//! `google.rpc` details of an error, as JSON.

use serde_json::{Value, json};

use super::{Error, ErrorKind};
use crate::json::InvalidField;

/// Domain of all reasons.
pub(super) const DOMAIN: &str = "a2a-protocol.org";

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";

/// Encodes the details of an error: reason, metadata, retry delay and invalid fields.
pub(super) fn write_details(error: &Error) -> Value {
    let mut details = vec![json!({
        "@type": ERROR_INFO,
        "reason": error.kind.reason(),
        "domain": DOMAIN,
        "metadata": error.metadata,
    })];
    if let Some(seconds) = error.retry_after_seconds() {
        details.push(json!({"@type": RETRY_INFO, "retryDelay": format!("{seconds}s")}));
    }
    if !error.violations.is_empty() {
        let violations: Vec<_> = error
            .violations
            .iter()
            .map(|it| json!({"field": it.field, "description": it.problem}))
            .collect();
        details.push(json!({"@type": BAD_REQUEST, "fieldViolations": violations}));
    }
    details.into()
}

/// Applies received details to an error: a known reason, metadata and invalid fields. Ignores
/// everything else.
pub(super) fn apply_details(mut error: Error, details: &Value) -> Error {
    for detail in details.as_array().into_iter().flatten() {
        let text = |name: &str| detail.get(name).and_then(Value::as_str);
        if let Some(kind) = text("reason").and_then(ErrorKind::from_reason) {
            error.kind = refine(error.kind, kind);
        }
        for (name, value) in detail.get("metadata").and_then(Value::as_object).into_iter().flatten()
        {
            if let Some(value) = value.as_str() {
                error = error.with_metadata(name, value);
            }
        }
        let violations = detail.get("fieldViolations").and_then(Value::as_array);
        for violation in violations.into_iter().flatten() {
            let text = |name: &str| violation.get(name).and_then(Value::as_str).unwrap_or_default();
            error = error.with_violation(InvalidField::new(text("field"), text("description")));
        }
    }
    error
}

/// Combines the kinds of a code and of a reason. If several kinds share the reason, the kind of the
/// code is more precise.
pub(super) fn refine(from_code: ErrorKind, from_reason: ErrorKind) -> ErrorKind {
    if from_code.reason() == from_reason.reason() { from_code } else { from_reason }
}
