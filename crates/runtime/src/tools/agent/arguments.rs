//! What an agent is told through a tool.

use latimer_protocol::ContextId;
use serde_json::{Map, Value, json};

use crate::tools::{ToolError, ToolErrorCode};

/// What is said, and in which conversation.
#[derive(Debug, PartialEq)]
pub(super) struct Arguments {
    pub(super) message: String,
    pub(super) context_id: Option<ContextId>,
}

impl Arguments {
    /// Their JSON Schema.
    pub(super) fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "message": {
                    "type": "string",
                    "minLength": 1,
                    "description": "What to say to the agent",
                },
                "contextId": {
                    "type": "string",
                    "description": "The contextId of an earlier result, to go on with that \
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
                    context_id =
                        Some(id.map_err(|it| {
                            invalid_arguments(format!("contextId is no name: {it}"))
                        })?);
                }
                ("message" | "contextId", _) => {
                    return Err(invalid_arguments(format!("{name} must be a text")));
                }
                _ => {
                    return Err(invalid_arguments(format!(
                        "{name:?} is not known; message and contextId are"
                    )));
                }
            }
        }
        match message.filter(|it| !it.trim().is_empty()) {
            Some(message) => Ok(Self { message, context_id }),
            None => Err(invalid_arguments("message must say something")),
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
            (json!({}), Err("message must say something")),
            (json!({"message": " \n"}), Err("message must say something")),
            (json!({"message": ["hi"]}), Err("message must be a text")),
            (json!({"message": "hi", "contextId": 7}), Err("contextId must be a text")),
            (json!({"message": "hi", "contextId": null}), Err("contextId must be a text")),
            (json!({"message": "hi", "contextId": ""}), Err("contextId is no name: ")),
            (
                json!({"message": "hi", "taskId": "t"}),
                Err("\"taskId\" is not known; message and contextId are"),
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
