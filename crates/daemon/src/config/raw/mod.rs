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
pub use agent::{AgentConfig, AgentKind, Allow, CardConfig, ContextConcurrency, Skill};
pub use agent_kind::{A2aKeys, CommandInput, CommandKeys, DemoKeys, McpKeys, ModelKeys};
pub(crate) use auth::{ApiKey, Auth, CertificateName, ClientCertificateMode, Jwt, Tls};
pub(crate) use mcp::{McpServer, Transport, TransportKind};
pub(crate) use push::{Push, V0_3Body};
pub(crate) use service::{Durability, Limits, Log, LogFormat, Server, Signing, Store, StoreKind};
pub use upstream::{Binding, ClientIdentity, OAuth, SignaturePolicy, Token, Upstream};

use super::section::section;
use super::url::HttpUrl;

section! {
    /// Keys outside of any section.
    pub(crate) Root {
        /// The address to listen on, with a port. Port 0 lets the system choose one. Anything but a
        /// loopback address needs an `api_key`, or somebody in `auth` or `tls` who may call.
        listen: String, default("\"127.0.0.1:50051\"") => "\"0.0.0.0:8080\"";
        /// How callers reach the server, when that is not what they connect to: behind a proxy, for
        /// example. Cards are made with it.
        public_url: HttpUrl, optional("what callers connect to") => "\"https://agents.example.com\"";
        /// What callers must show as a bearer token or in the header `X-API-Key`. Whoever does is the
        /// caller `api-key`. Cards and the health of the server are open all the same.
        api_key: Secret, optional("everybody on this machine may call") => "\"correct horse battery staple\"";
        /// Paths that need neither a key nor anything like it; `/*` at the end of one is everything
        /// below it. Whoever shows a key all the same is known by it, and a wrong one is refused.
        public_paths: Vec<String>, default("[]") => "[\"/metrics\"]";
        /// Asks for a key or the like before cards are shown, too.
        card_requires_auth: bool, default("false") => "true";
        /// Lets anybody who can reach the server call the agents without saying who they are, also
        /// from other machines.
        dangerously_allow_unauthenticated_remote: bool, default("false") => "true";
        /// The agent that is meant when none is named.
        primary_agent: String, optional("the first of `[[agents]]`") => "\"shout\"";
        /// How A2A is served, and which agents elsewhere are known.
        a2a: A2a, section;
        /// The agents that are served. Without this and without a file, there is one that echoes.
        agents: Vec<AgentConfig>, section;
        /// Who may call, besides those with the `api_key`.
        auth: Auth, section;
        /// Certificates: that of the server, and those that callers show.
        tls: Tls, section;
        /// Where tasks are kept, and for how long.
        store: Store, section;
        /// What callers may ask for at most.
        limits: Limits, section;
        /// How webhooks are told about tasks.
        push: Push, section;
        /// What the server writes to its log.
        log: Log, section;
        /// How the server as such behaves.
        server: Server, section;
        /// The keys that vouch for cards and webhooks.
        signing: Signing, section;
        /// Servers of the Model Context Protocol. They are kept; this version does not connect to
        /// them.
        mcp_servers: Vec<McpServer>, section;
    }
}
