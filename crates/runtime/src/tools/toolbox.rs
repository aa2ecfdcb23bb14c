//! Tools by name, and the capabilities granted to them.

use std::collections::{BTreeMap, BTreeSet};

use latimer_protocol::card;
use serde_json::{Map, Value};

use super::{Tool, ToolContext, ToolDefinition, ToolError, ToolErrorCode, ToolOutput};

/// A set of tools, looked up by name. A tool can be called only if every capability it declares has
/// been granted.
///
/// ```
/// use latimer_runtime::tools::{AgentTool, NETWORK_FETCH, Toolbox};
///
/// # fn main() -> Result<(), latimer_runtime::tools::DuplicateTool> {
/// let tools = Toolbox::new()
///     .grant(NETWORK_FETCH)
///     .with_tool(AgentTool::new("partner", "https://partner.example.com"))?;
/// assert_eq!(tools.definitions()[0].name, "a2a_partner");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Toolbox {
    tools: BTreeMap<String, Box<dyn Tool>>,
    granted: BTreeSet<String>,
}

/// Error of adding a tool whose name is taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("two tools are named {0}: rename one of them")]
pub struct DuplicateTool(String);

impl Toolbox {
    /// Creates a toolbox without tools and capabilities.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Grants a capability to all tools.
    #[must_use]
    pub fn grant(mut self, capability: impl Into<String>) -> Self {
        self.granted.insert(capability.into());
        self
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// [`DuplicateTool`] when a tool with the same name exists.
    pub fn with_tool(mut self, tool: impl Tool) -> Result<Self, DuplicateTool> {
        let name = tool.definition().name;
        if self.tools.contains_key(&name) {
            return Err(DuplicateTool(name));
        }
        self.tools.insert(name, Box::new(tool));
        Ok(self)
    }

    /// Returns the definitions of all tools for a model, sorted by name, so that the prompt is
    /// stable.
    #[must_use]
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.tools.values().map(|it| it.definition()).collect()
    }

    /// Returns the tools for a card: [`build_agent_card`](card::build_agent_card) converts them to
    /// skills.
    #[must_use]
    pub fn manifest(&self) -> Vec<card::ManifestTool> {
        self.definitions().iter().map(card::ManifestTool::from).collect()
    }

    /// Calls a tool by name.
    ///
    /// # Errors
    /// [`ToolError`] when no tool has this name, a capability has not been granted, or the call
    /// fails.
    pub async fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let Some(tool) = self.tools.get(name) else {
            let names: Vec<_> = self.tools.keys().map(String::as_str).collect();
            let message = format!("unknown tool {name:?}; available tools: {}", names.join(", "));
            return Err(ToolError::new(ToolErrorCode::UnknownTool, message));
        };
        let required = tool.definition().capabilities;
        if let Some(missing) = required.iter().find(|it| !self.granted.contains(*it)) {
            let message = format!("{name} requires the capability {missing}, which is not granted");
            return Err(ToolError::new(ToolErrorCode::MissingCapability, message));
        }
        tool.call(arguments, context).await
    }
}
