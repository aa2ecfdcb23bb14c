//! A configuration as it is used: plain data.

use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use latimer_protocol::Secret;
use latimer_server::{ApiKeys, CertificateAuth, JwtSettings, Settings, Tls};
use latimer_store::{Durability, Retention};

use super::{AgentConfig, Upstream};

/// What there is to know before a server can start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The address to listen on.
    pub listen: String,
    /// What callers must show.
    pub api_key: Option<Secret>,
    /// Who else may call.
    pub auth: AuthConfig,
    /// What connections are secured with.
    pub tls: Option<Tls>,
    /// Whether callers elsewhere may do without saying who they are.
    pub dangerously_allow_unauthenticated_remote: bool,
    /// The agent that is meant when none is named.
    pub primary_agent: Option<String>,
    /// Whether A2A is served.
    pub serving: Serving,
    /// How the server is set up.
    pub settings: Settings,
    /// How the server identifies itself to remote agents, if not by the default.
    pub user_agent: Option<HeaderValue>,
    /// Agents elsewhere.
    pub remote_agents: Vec<RemoteAgentConfig>,
    /// The agents.
    pub agents: Vec<AgentConfig>,
    /// Servers of the Model Context Protocol.
    pub mcp_servers: Vec<McpServer>,
    /// Where tasks are kept.
    pub store: StoreConfig,
    /// The keys that vouch for what is said; none when nothing is signed.
    pub signing: Option<SigningConfig>,
    /// What is logged.
    pub log: LogConfig,
}

impl Config {
    /// Whether callers must say who they are.
    #[must_use]
    pub fn requires_auth(&self) -> bool {
        self.accepts_tokens() || self.auth.certificates.is_some()
    }

    /// Whether they can say so with a key or a token.
    pub(crate) fn accepts_tokens(&self) -> bool {
        self.api_key.is_some() || !self.auth.keys.is_empty() || self.auth.jwt.is_some()
    }
}

/// Who may call, besides those with the key.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AuthConfig {
    /// Those with a key of their own.
    pub keys: ApiKeys,
    /// Those with a token.
    pub jwt: Option<JwtSettings>,
    /// Those with a certificate.
    pub certificates: Option<CertificateAuth>,
}

/// Whether A2A is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// It is.
    Enabled,
    /// It was switched off: its addresses say so.
    Disabled,
    /// Nobody spoke of it: it has no addresses.
    NotConfigured,
}

/// Where tasks are kept.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoreConfig {
    /// The place.
    pub location: StoreLocation,
    /// How much, and for how long.
    pub retention: Retention,
}

/// A place to keep tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreLocation {
    /// In memory.
    Memory,
    /// In a file.
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What a stored event survives.
        durability: Durability,
    },
}

/// The keys that vouch for what is said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SigningConfig {
    /// The file of the key that signs.
    pub key_file: PathBuf,
    /// The files of further keys that are published.
    pub published_key_files: Vec<PathBuf>,
}

/// What is logged.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LogConfig {
    /// Which messages.
    pub filter: String,
    /// Whether they are written for programs.
    pub json: bool,
}

/// An agent elsewhere.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RemoteAgentConfig {
    /// Its name.
    pub name: String,
    /// What it is for, if its card is not to say that.
    pub description: Option<String>,
    /// Where it is, and how it is called.
    pub upstream: Upstream,
}

/// A server of the Model Context Protocol.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How to reach it.
    pub transport: McpTransport,
    /// How long a request may take.
    pub timeout: Duration,
    /// Variables of the environment that it gets.
    pub env: Vec<String>,
    /// Whether it sees the home of the server.
    pub inherit_home: bool,
}

/// How to reach a server of the Model Context Protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpTransport {
    /// As a program.
    Stdio {
        /// The program and its arguments.
        command: Vec<String>,
    },
    /// At an address, the old way.
    Sse {
        /// The address.
        url: String,
    },
    /// At an address.
    Http {
        /// The address.
        url: String,
    },
}
