//! Remote agents that are not published, and MCP servers.
//!
//! This version does not connect to MCP servers. Their keys are checked all the same, so that a later
//! version that connects to them accepts the same files.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Resolver;
use crate::config::raw::{self, TransportKind};
use crate::config::{Diagnostic, McpServer, McpTransport, RemoteAgentConfig};

/// Returns the agents of `external_agents`, followed by those of `remote_agents`.
pub(super) fn collect_remote_agents(
    listed: Vec<raw::ExternalAgent>,
    named: BTreeMap<String, raw::RemoteAgent>,
) -> Vec<RemoteAgentConfig> {
    let listed = listed.into_iter().map(|raw::ExternalAgent { name, description, upstream }| {
        RemoteAgentConfig { name, description, upstream }
    });
    let named = named.into_iter().map(|(table, agent)| RemoteAgentConfig {
        name: agent.name.unwrap_or(table),
        description: agent.description,
        upstream: agent.upstream,
    });
    listed.chain(named).collect()
}

impl Resolver<'_> {
    pub(super) fn resolve_mcp_servers(&mut self, raw: Vec<raw::McpServer>) -> Vec<McpServer> {
        if !raw.is_empty() {
            let names: Vec<_> = raw.iter().map(|it| it.name.as_str()).collect();
            let message = "this version does not connect to MCP servers";
            self.report_warning(&["mcp_servers"], format!("{message}: {}", names.join(", ")));
        }
        raw.into_iter().enumerate().map(|(index, it)| self.resolve_mcp_server(index, it)).collect()
    }

    fn resolve_mcp_server(&mut self, index: usize, raw: raw::McpServer) -> McpServer {
        let index = index.to_string();
        let raw::Transport { r#type, command, args, url } = raw.transport;
        let mut require = |key: &str, value: Option<String>| {
            let provenance = self.provenance(&["mcp_servers", &index, "transport"]);
            let message = match &value {
                None => format!("`transport` of {:?} needs `{key}`", raw.name),
                Some(program) if key == "command" && program.contains("..") => {
                    format!("`command` of {:?} must not contain `..`", raw.name)
                }
                Some(_) => return value.unwrap_or_default(),
            };
            self.diagnostics.push(Diagnostic::new(provenance, message));
            String::new()
        };
        let transport = match r#type {
            TransportKind::Stdio => {
                let program = require("command", command);
                McpTransport::Stdio { command: [program].into_iter().chain(args).collect() }
            }
            TransportKind::Sse => McpTransport::Sse { url: require("url", url) },
            TransportKind::Http => McpTransport::Http { url: require("url", url) },
        };
        McpServer {
            name: raw.name,
            transport,
            timeout: Duration::from_secs(raw.timeout_secs),
            env: raw.env,
            inherit_home: raw.inherit_home,
        }
    }
}
