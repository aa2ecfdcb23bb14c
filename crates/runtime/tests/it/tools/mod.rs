//! Tools, and agents elsewhere as tools, against real servers.

mod calls;
mod cancel;
mod cards;
mod circle;
mod definitions;
mod errors;
mod inside;

use std::net::SocketAddr;

use latimer_protocol::Version;
use latimer_protocol::card::ProtocolBinding;
use latimer_runtime::tools::{AgentTool, NETWORK_FETCH, Occasion, Output, ToolError, Toolbox};
use serde_json::{Map, Value, json};

use crate::remote::{Pair, card, hasty};

/// One way to call an agent for each version.
const VERSIONS: [Pair; 3] = [
    (ProtocolBinding::JsonRpc, Version::V1_0),
    (ProtocolBinding::Grpc, Version::V0_3),
    (ProtocolBinding::JsonRpc, Version::V0_1),
];

/// The agent at an address as a tool, which calls it in one way only.
fn tool(name: &str, address: SocketAddr, pair: &Pair) -> AgentTool {
    AgentTool::new(name, card(address, pair)).client(hasty)
}

/// A toolbox with this tool, which may be used.
fn toolbox(tool: AgentTool) -> Toolbox {
    Toolbox::new().granting(NETWORK_FETCH).with(tool).unwrap()
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other}"),
    }
}

/// Says something to the agent of the only tool.
async fn say(tools: &Toolbox, text: &str) -> Result<Output, ToolError> {
    call(tools, json!({ "message": text })).await
}

/// Calls the only tool.
async fn call(tools: &Toolbox, arguments: Value) -> Result<Output, ToolError> {
    let name = &tools.definitions()[0].name;
    tools.call(name, members(arguments), &Occasion::default()).await
}
