//! Tools by name, and what they may.

use std::collections::{BTreeMap, BTreeSet};

use latimer_protocol::card;
use serde_json::{Map, Value};

use super::{Tool, ToolContext, ToolDefinition, ToolError, ToolErrorCode, ToolOutput};

/// Tools by name, of which those may be used that need nothing but what is granted.
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

/// Two tools have one name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are two tools of the name {0}: give one of them another")]
pub struct DuplicateTool(String);

impl Toolbox {
    /// No tools, and nothing granted.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets tools be used that need this.
    #[must_use]
    pub fn grant(mut self, capability: impl Into<String>) -> Self {
        self.granted.insert(capability.into());
        self
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// When there is one of its name.
    pub fn with_tool(mut self, tool: impl Tool) -> Result<Self, DuplicateTool> {
        let name = tool.definition().name;
        if self.tools.contains_key(&name) {
            return Err(DuplicateTool(name));
        }
        self.tools.insert(name, Box::new(tool));
        Ok(self)
    }

    /// What each tool is, for a model: by name, so that they are the same text each time.
    #[must_use]
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.tools.values().map(|it| it.definition()).collect()
    }

    /// What each tool is, for a card: [`build_agent_card`](card::build_agent_card) makes skills of
    /// them.
    #[must_use]
    pub fn manifest(&self) -> Vec<card::ManifestTool> {
        self.definitions().iter().map(card::ManifestTool::from).collect()
    }

    /// Calls a tool by its name.
    ///
    /// # Errors
    /// When there is none, when it needs what is not granted, and when it fails.
    pub async fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let Some(tool) = self.tools.get(name) else {
            let names: Vec<_> = self.tools.keys().map(String::as_str).collect();
            let message = format!("there is no such tool; there are: {}", names.join(", "));
            return Err(ToolError::new(ToolErrorCode::UnknownTool, message));
        };
        let required = tool.definition().capabilities;
        if let Some(missing) = required.iter().find(|it| !self.granted.contains(*it)) {
            let message = format!("{name} needs the capability {missing}, which is not granted");
            return Err(ToolError::new(ToolErrorCode::MissingCapability, message));
        }
        tool.call(arguments, context).await
    }
}
