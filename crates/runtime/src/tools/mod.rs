//! What an agent can use: tools, of which agents elsewhere are one kind.
//!
//! A [`Tool`] says what it is and what it takes, in the words that models are told of tools in, and
//! does what it is asked. A [`Toolbox`] has tools by their names, and lets only those be used that need
//! nothing but what is granted. [`AgentTool`] is an agent elsewhere as a tool.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `toolbox` | tools by name, and what they may |
//! | `occasion` | where a call comes from, and when to stop |
//! | `error` | what went wrong, as a model is told |
//! | `agent` | an agent elsewhere as a tool |

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

/// Something that an agent can use.
#[async_trait]
pub trait Tool: fmt::Debug + Send + Sync + 'static {
    /// What it is. Its name and what it needs stay as they are; the rest may change with what it
    /// learns.
    fn definition(&self) -> ToolDefinition;

    /// Does what it is for. It ends soon after the occasion is [canceled](ToolContext::cancellation_token), and
    /// whoever drops the future wants it no more: either way nothing goes on behind it.
    ///
    /// # Errors
    /// In words that may be shown to a model and to whoever it works for.
    async fn call(
        &self,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError>;
}

/// What a tool is, as a model is told.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// Its name, by which it is called.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments, which are an object.
    pub input_schema: Value,
    /// What must be granted before it may be called, such as `network:fetch`.
    pub capabilities: Vec<String>,
}

/// For the card of an agent that has the tool.
impl From<&ToolDefinition> for card::ManifestTool {
    fn from(definition: &ToolDefinition) -> Self {
        Self {
            name: definition.name.clone(),
            description: Some(definition.description.clone()),
            capabilities: definition.capabilities.clone(),
        }
    }
}

/// What came of a call, as a model is told.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutput {
    /// What was said.
    pub text: String,
    /// What came beside it as JSON.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<Value>,
    /// Where the task stands that was made of the call, if there is one: done, or waiting for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<TaskState>,
    /// The conversation. A call with the same one goes on with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<ContextId>,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
}
