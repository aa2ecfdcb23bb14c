//! Arguments of an agent tool.

use latimer_protocol::ContextId;
use serde_json::{Map, Value, json};

use crate::tools::{ToolError, ToolErrorCode};

/// Message to the agent, and the context it continues.
#[derive(Debug, PartialEq)]
pub(super) struct Arguments {
    pub(super) message: String,
    pub(super) context_id: Option<ContextId>,
}

impl Arguments {
    /// Returns the JSON Schema of the arguments.
    pub(super) fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "message": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Message to the agent",
                },
                "contextId": {
                    "type": "string",
                    "description": "The contextId of an earlier result, to continue that \
                        conversation or to answer its question",
                },
            },
            "required": ["message"],
            "additionalProperties": false,
        })
    }

    pub(super) fn parse(arguments: Map<String, Value>) -> Result<Self, ToolError> {
        let (mut message, mut context_id) = (None, None);
        for (name, value) in arguments {
            match (name.as_str(), value) {
                ("message", Value::String(text)) => message = Some(text),
                ("contextId", Value::String(text)) => {
                    let id = ContextId::new(text);
                    context_id = Some(
                        id.map_err(|it| invalid_arguments(format!("invalid contextId: {it}")))?,
                    );
                }
                ("message" | "contextId", _) => {
                    return Err(invalid_arguments(format!("{name} must be a string")));
                }
                _ => {
                    return Err(invalid_arguments(format!(
                        "unknown argument {name:?}; the arguments are message and contextId"
                    )));
                }
            }
        }
        match message.filter(|it| !it.trim().is_empty()) {
            Some(message) => Ok(Self { message, context_id }),
            None => Err(invalid_arguments("message must not be empty")),
        }
    }
}

fn invalid_arguments(message: impl Into<String>) -> ToolError {
    ToolError::new(ToolErrorCode::InvalidArguments, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_arguments_are_reported_by_name() {
        let context_id = ContextId::new("c").ok();
        for (arguments, want) in [
            (json!({"message": "hi"}), Ok(("hi", None))),
            (json!({"message": "hi", "contextId": "c"}), Ok(("hi", context_id))),
            (json!({}), Err("message must not be empty")),
            (json!({"message": " \n"}), Err("message must not be empty")),
            (json!({"message": ["hi"]}), Err("message must be a string")),
            (json!({"message": "hi", "contextId": 7}), Err("contextId must be a string")),
            (json!({"message": "hi", "contextId": null}), Err("contextId must be a string")),
            (json!({"message": "hi", "contextId": ""}), Err("invalid contextId: ")),
            (
                json!({"message": "hi", "taskId": "t"}),
                Err("unknown argument \"taskId\"; the arguments are message and contextId"),
            ),
        ] {
            let Value::Object(members) = arguments.clone() else { panic!("{arguments}") };
            match (Arguments::parse(members), want) {
                (Ok(parsed), Ok((message, context_id))) => {
                    assert_eq!(
                        parsed,
                        Arguments { message: message.into(), context_id },
                        "{arguments}"
                    );
                }
                (Err(error), Err(want)) => {
                    assert!(error.message().starts_with(want), "{arguments}: {error}");
                    assert_eq!(error.code(), ToolErrorCode::InvalidArguments);
                    assert!(!error.is_retryable());
                }
                (parsed, want) => panic!("{arguments}: {parsed:?}, not {want:?}"),
            }
        }
    }
}
