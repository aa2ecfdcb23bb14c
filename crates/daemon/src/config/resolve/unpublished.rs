//! Agents and servers elsewhere that are not published. Servers are checked only, so that a file that
//! loads now loads later.

use std::collections::BTreeMap;
use std::time::Duration;

use latimer_runtime::RemoteAgent;

use super::Resolver;
use super::upstream::UpstreamInput;
use crate::config::raw::{self, TransportKind};
use crate::config::{Diagnostic, McpServer, McpTransport, RemoteAgentConfig};

impl Resolver<'_> {
    pub(super) fn remote_agents(
        &mut self,
        listed: Vec<raw::RemoteAgent>,
        named: BTreeMap<String, raw::RemoteAgent>,
    ) -> Vec<RemoteAgentConfig> {
        let mut agents = Vec::new();
        for (index, raw) in listed.into_iter().enumerate() {
            let index = index.to_string();
            let path = ["a2a", "external_agents", &index];
            if raw.name.is_none() {
                self.report_error(&path, "an external agent needs `name`", "add `name`");
            }
            agents.push(self.remote_agent(&path, raw, "", Duration::from_secs(1)));
        }
        for (name, raw) in named {
            let path = ["a2a", "remote_agents", &name];
            agents.push(self.remote_agent(&path, raw, &name, Duration::from_millis(1)));
        }
        agents
    }

    /// An agent elsewhere. A number for its timeout counts units of a certain length.
    fn remote_agent(
        &mut self,
        path: &[&str],
        raw: raw::RemoteAgent,
        name: &str,
        unit: Duration,
    ) -> RemoteAgentConfig {
        let input = UpstreamInput {
            url: raw.url,
            card_url: raw.card_url,
            call_url: raw.call_url,
            root_certificates: raw.root_certificates,
            client_certificate: raw.client_certificate,
            client_key: raw.client_key,
            headers: raw.headers,
            auth_token: raw.auth_token,
            auth_token_env: raw.auth_token_env,
            auth_token_file: raw.auth_token_file,
            oauth: raw.oauth,
            timeout: raw.timeout.and_then(|it| it.to_duration(unit)),
            idle_timeout: raw.idle_timeout.0,
            stream: raw.stream,
            tenant: raw.tenant,
            version: ("version", raw.version),
            binding: raw.binding,
            signatures: raw.signatures,
            trusted_keys: raw.trusted_keys,
            hops: RemoteAgent::DEFAULT_MAX_HOPS,
            forward_user: false,
        };
        let upstream = self.upstream(path, input);
        let name = raw.name.unwrap_or_else(|| name.to_owned());
        RemoteAgentConfig { name, description: raw.description, upstream }
    }

    pub(super) fn mcp_servers(&mut self, raw: Vec<raw::McpServer>) -> Vec<McpServer> {
        if !raw.is_empty() {
            let names: Vec<_> = raw.iter().map(|it| it.name.as_str()).collect();
            let message = "this version does not connect to MCP servers";
            self.report_warning(&["mcp_servers"], format!("{message}: {}", names.join(", ")));
        }
        raw.into_iter().enumerate().map(|(index, it)| self.mcp_server(index, it)).collect()
    }

    fn mcp_server(&mut self, index: usize, raw: raw::McpServer) -> McpServer {
        let index = index.to_string();
        let raw::Transport { r#type, command, args, url } = raw.transport;
        let mut require = |key: &str, value: Option<String>| {
            let provenance = self.provenance(&["mcp_servers", &index, "transport"]);
            let message = match &value {
                None => format!("the transport of {:?} needs `{key}`", raw.name),
                Some(program) if key == "command" && program.contains("..") => {
                    format!("the command of {:?} must not contain \"..\"", raw.name)
                }
                Some(_) => return value.unwrap_or_default(),
            };
            self.errors.push(Diagnostic::new(provenance, message));
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
