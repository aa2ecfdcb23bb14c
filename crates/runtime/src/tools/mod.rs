//! Tools that agents and language models can call.
//!
//! A [`Tool`] has a definition in the form that model APIs expect, and can be called. A [`Toolbox`]
//! looks up tools by name and checks that their capabilities have been granted. [`AgentTool`] calls
//! a remote agent.
//!
//! | module | contents |
//! | --- | --- |
//! | `toolbox` | tools by name, and granted capabilities |
//! | `context` | context of a call: turn and cancellation |
//! | `error` | errors of calls |
//! | `agent` | a remote agent as a tool |

mod agent;
mod context;
mod error;
mod toolbox;

use std::fmt;

use async_trait::async_trait;
use latimer_protocol::{ContextId, TaskId, TaskState, card};
use serde::Serialize;
use serde_json::{Map, Value};

pub use agent::{AgentTool, NETWORK_FETCH};
pub use context::ToolContext;
pub use error::{ToolError, ToolErrorCode};
pub use toolbox::{DuplicateTool, Toolbox};

/// A tool that an agent or a language model can call.
///
/// ```
/// use async_trait::async_trait;
/// use latimer_runtime::tools::{
///     Tool, ToolContext, ToolDefinition, ToolError, ToolErrorCode, ToolOutput, Toolbox,
/// };
/// use serde_json::{Map, Value, json};
///
/// #[derive(Debug)]
/// struct WordCount;
///
/// #[async_trait]
/// impl Tool for WordCount {
///     fn definition(&self) -> ToolDefinition {
///         ToolDefinition {
///             name: "word_count".to_owned(),
///             description: "Counts the words of a text".to_owned(),
///             input_schema: json!({
///                 "type": "object",
///                 "properties": {"text": {"type": "string"}},
///                 "required": ["text"],
///             }),
///             capabilities: Vec::new(),
///         }
///     }
///
///     async fn call(
///         &self,
///         arguments: Map<String, Value>,
///         _context: &ToolContext,
///     ) -> Result<ToolOutput, ToolError> {
///         let Some(text) = arguments.get("text").and_then(Value::as_str) else {
///             return Err(ToolError::new(ToolErrorCode::InvalidArguments, "text must be a string"));
///         };
///         let text = text.split_whitespace().count().to_string();
///         Ok(ToolOutput { text, ..ToolOutput::default() })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tools = Toolbox::new().with_tool(WordCount)?;
/// let arguments = Map::from_iter([("text".to_owned(), json!("three short words"))]);
/// let output = tools.call("word_count", arguments, &ToolContext::default()).await?;
/// assert_eq!(output.text, "3");
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait Tool: fmt::Debug + Send + Sync + 'static {
    /// Returns the definition of the tool. Its name and capabilities never change; description and
    /// schema may.
    fn definition(&self) -> ToolDefinition;

    /// Calls the tool. Returns soon after the context is
    /// [canceled](ToolContext::cancellation_token). Neither cancellation nor dropping the future
    /// leaves work running.
    ///
    /// # Errors
    /// [`ToolError`] with a message that can be shown to a model and its users.
    async fn call(
        &self,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError>;
}

/// Definition of a tool, in the form that model APIs expect.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// Name by which the tool is called.
    pub name: String,
    /// Effect of the tool, for a model.
    pub description: String,
    /// JSON Schema of the arguments, which are an object.
    pub input_schema: Value,
    /// Capabilities that must be granted before the tool can be called, such as `network:fetch`.
    pub capabilities: Vec<String>,
}

/// Converts the definition for the card of an agent that has the tool.
impl From<&ToolDefinition> for card::ManifestTool {
    fn from(definition: &ToolDefinition) -> Self {
        Self {
            name: definition.name.clone(),
            description: Some(definition.description.clone()),
            capabilities: definition.capabilities.clone(),
        }
    }
}

/// Result of a call, in the form that models read.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutput {
    /// Text of the result.
    pub text: String,
    /// JSON values of the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<Value>,
    /// State of the task that the call created, if any: completed, running or waiting for input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<TaskState>,
    /// Context of the call. Another call with this id continues the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ContextId>,
    /// Id of the task that the call created, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
}
