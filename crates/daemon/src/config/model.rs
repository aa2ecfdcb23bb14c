//! The configuration that the daemon runs with: plain data.

use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use latimer_protocol::Secret;
use latimer_server::{ApiKeys, CertificateAuth, JwtSettings, Settings, Tls};
use latimer_store::{Durability, Retention};

use super::{AgentConfig, Upstream};

/// Configuration of a daemon.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Socket address to listen on.
    pub listen: String,
    /// Secret of the principal `api-key`, if there is one.
    pub api_key: Option<Secret>,
    /// Other authentication methods.
    pub auth: AuthConfig,
    /// TLS of the server, if it is enabled.
    pub tls: Option<Tls>,
    /// Whether a non-loopback address may be served without authentication.
    pub dangerously_allow_unauthenticated_remote: bool,
    /// Name of the agent that receives calls which select none; the first agent if unset.
    pub primary_agent: Option<String>,
    /// Whether A2A is served.
    pub serving: ServingMode,
    /// Settings of the server.
    pub settings: Settings,
    /// `User-Agent` header for remote agents; the default of the client if unset.
    pub user_agent: Option<HeaderValue>,
    /// Remote agents that are discovered and not published.
    pub remote_agents: Vec<RemoteAgentConfig>,
    /// Agents to serve.
    pub agents: Vec<AgentConfig>,
    /// MCP servers.
    pub mcp_servers: Vec<McpServer>,
    /// Location and retention of tasks.
    pub store: StoreConfig,
    /// Keys that sign cards and webhook deliveries; nothing is signed if unset.
    pub signing: Option<SigningConfig>,
    /// Log messages.
    pub log: LogConfig,
}

impl Config {
    /// Returns whether callers must authenticate.
    #[must_use]
    pub fn requires_auth(&self) -> bool {
        self.accepts_tokens() || self.auth.certificates.is_some()
    }

    /// Returns whether callers can authenticate with a key or a token.
    pub(crate) fn accepts_tokens(&self) -> bool {
        self.api_key.is_some() || !self.auth.keys.is_empty() || self.auth.jwt.is_some()
    }
}

/// Authentication methods besides the `api_key`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AuthConfig {
    /// API keys with names.
    pub keys: ApiKeys,
    /// Tokens of a provider.
    pub jwt: Option<JwtSettings>,
    /// Client certificates.
    pub certificates: Option<CertificateAuth>,
}

/// Whether A2A is served, and the response to calls if it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServingMode {
    /// A2A is served.
    Enabled,
    /// A2A is disabled: its endpoints respond with 503.
    Disabled,
    /// A2A is not configured: its endpoints respond with 404.
    NotConfigured,
}

/// Location and retention of tasks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoreConfig {
    /// Location of stored tasks.
    pub location: StoreLocation,
    /// Limits on stored tasks.
    pub retention: Retention,
}

/// Location of stored tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreLocation {
    /// Memory of the process.
    Memory,
    /// SQLite file.
    Sqlite {
        /// Path of the file.
        path: PathBuf,
        /// Guarantee before an event becomes visible.
        durability: Durability,
    },
}

/// Keys that sign cards and webhook deliveries.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SigningConfig {
    /// File of the key that signs.
    pub key_file: PathBuf,
    /// Files of further keys that are published.
    pub published_key_files: Vec<PathBuf>,
}

/// Log messages.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LogConfig {
    /// Minimum level, globally or per module.
    pub filter: String,
    /// Whether lines are JSON instead of text.
    pub json: bool,
}

/// A remote agent that is discovered and not published.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RemoteAgentConfig {
    /// Name of the agent in the log.
    pub name: String,
    /// Description that replaces the one in its card.
    pub description: Option<String>,
    /// URL of the agent, and settings for calls to it.
    pub upstream: Upstream,
}

/// An MCP server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpServer {
    /// Name of the server.
    pub name: String,
    /// Connection to the server.
    pub transport: McpTransport,
    /// Time allowed for one request.
    pub timeout: Duration,
    /// Environment variables to pass to it.
    pub env: Vec<String>,
    /// Whether it gets the home directory of the server.
    pub inherit_home: bool,
}

/// Connection to an MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpTransport {
    /// A program, through its standard input and output.
    Stdio {
        /// Program and arguments.
        command: Vec<String>,
    },
    /// HTTP with server-sent events, which preceded streamable HTTP.
    Sse {
        /// URL of the server.
        url: String,
    },
    /// Streamable HTTP.
    Http {
        /// URL of the server.
        url: String,
    },
}
