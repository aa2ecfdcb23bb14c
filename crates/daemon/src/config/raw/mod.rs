//! A configuration as it is read.

mod a2a;
mod agent;
mod agent_kind;
mod auth;
mod mcp;
mod push;
mod service;
mod upstream;

use latimer_protocol::Secret;

pub(crate) use a2a::{A2a, ExternalAgent, RemoteAgent, Terminator};
pub use agent::{AgentConfig, AgentKind, AllowKeys, CardConfig, ContextConcurrency, Skill};
pub use agent_kind::{A2aKeys, CommandInput, CommandKeys, DemoKeys, McpKeys, ModelKeys};
pub(crate) use auth::{ApiKey, Auth, CertificateName, ClientCertificateMode, Jwt, Tls};
pub(crate) use mcp::{McpServer, Transport, TransportKind};
pub(crate) use push::{Push, V0_3Body};
pub(crate) use service::{Durability, Limits, Log, LogFormat, Server, Signing, Store, StoreKind};
pub use upstream::{Binding, ClientIdentity, OAuthKeys, SignaturePolicy, TokenKeys, Upstream};

use super::section::section;
use super::url::HttpUrl;

section! {
    /// Keys outside of any section.
    pub(crate) Root {
        /// Socket address to listen on. Port 0 selects a free port; a port alone listens on
        /// `127.0.0.1`. A non-loopback address requires authentication: set `api_key`, `[auth]` or
        /// `tls.client_ca`.
        listen: String, default("\"127.0.0.1:50051\"") => "\"0.0.0.0:8080\"";
        /// URL under which clients reach the server, for example through a reverse proxy. Written
        /// into cards.
        public_url: HttpUrl, optional("the address that the client connected to") => "\"https://agents.example.com\"";
        /// Secret that clients send as a bearer token or in `X-API-Key`. Grants the principal
        /// `api-key` and operator rights. Cards and health endpoints stay public.
        api_key: Secret, optional("no key") => "\"correct horse battery staple\"";
        /// Paths that do not require authentication; a trailing `/*` matches everything below.
        /// Credentials sent anyway are verified, and invalid ones are rejected.
        public_paths: Vec<String>, default("[]") => "[\"/metrics\"]";
        /// Whether agent cards require authentication. Requires a configured authentication method.
        card_requires_auth: bool, default("false") => "true";
        /// Whether the server may listen on a non-loopback address without authentication. Every
        /// client that reaches it can then call the agents.
        dangerously_allow_unauthenticated_remote: bool, default("false") => "true";
        /// Name of the agent that receives calls which select no agent.
        primary_agent: String, optional("the first of `[[agents]]`") => "\"shout\"";
        /// How A2A is served, and remote agents that are not published.
        a2a: A2a, section;
        /// Agents to serve. Without a configuration file and without this table, one agent of `kind
        /// = "echo"` is served.
        agents: Vec<AgentConfig>, section;
        /// Clients that may call the agents, in addition to those with the `api_key`.
        auth: Auth, section;
        /// TLS of the server, and certificates of clients.
        tls: Tls, section;
        /// Where tasks are stored, and for how long.
        store: Store, section;
        /// Limits on requests, connections and callers.
        limits: Limits, section;
        /// Delivery of push notifications to webhooks.
        push: Push, section;
        /// Log messages, which are written to standard error.
        log: Log, section;
        /// Settings of the server process.
        server: Server, section;
        /// Keys that sign cards and webhook deliveries. `latimer card keygen` generates one.
        signing: Signing, section;
        /// Servers of the Model Context Protocol. They are checked, but this version does not
        /// connect to them.
        mcp_servers: Vec<McpServer>, section;
    }
}
