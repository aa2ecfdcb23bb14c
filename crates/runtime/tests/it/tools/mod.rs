//! Tests of tools, and of agent tools against running servers.

mod calls;
mod cancel;
mod cards;
mod definitions;
mod errors;
mod hop_loops;
mod nested_agents;

use std::net::SocketAddr;

use latimer_protocol::Version;
use latimer_protocol::card::ProtocolBinding;
use latimer_runtime::tools::{
    AgentTool, NETWORK_FETCH, ToolContext, ToolError, ToolOutput, Toolbox,
};
use serde_json::{Map, Value, json};

use crate::remote::{BindingVersion, card_for, short_timeouts};

/// One binding for each version.
const VERSIONS: [BindingVersion; 3] = [
    (ProtocolBinding::JsonRpc, Version::V1_0),
    (ProtocolBinding::Grpc, Version::V0_3),
    (ProtocolBinding::JsonRpc, Version::V0_1),
];

/// Creates a tool for the agent at an address that supports only one binding and version.
fn tool(name: &str, address: SocketAddr, pair: &BindingVersion) -> AgentTool {
    AgentTool::new(name, card_for(address, pair)).configure_client(short_timeouts)
}

/// Creates a toolbox with one tool and its capability.
fn toolbox(tool: AgentTool) -> Toolbox {
    Toolbox::new().grant(NETWORK_FETCH).with_tool(tool).unwrap()
}

fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other}"),
    }
}

/// Calls the only tool with a message.
async fn call_with_text(tools: &Toolbox, text: &str) -> Result<ToolOutput, ToolError> {
    call_tool(tools, json!({ "message": text })).await
}

/// Calls the only tool with these arguments.
async fn call_tool(tools: &Toolbox, arguments: Value) -> Result<ToolOutput, ToolError> {
    let name = &tools.definitions()[0].name;
    tools.call(name, into_object(arguments), &ToolContext::default()).await
}
