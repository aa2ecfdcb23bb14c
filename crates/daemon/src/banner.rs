//! Summary of a running daemon.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::config::{Config, ServingMode, StoreLocation};

/// Human-readable summary of a running daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Banner {
    /// URL of the A2A endpoints; `None` if A2A is not served.
    pub a2a_url: Option<String>,
    /// URL of the primary agent's card; `None` if A2A is not served.
    pub card_url: Option<String>,
    /// Reason why A2A is not served; `None` if it is.
    pub disabled_reason: Option<&'static str>,
    /// Published agents; empty if A2A is not served.
    pub agents: Vec<PublishedAgent>,
    /// Kind of the store, and its file if it has one.
    pub store: String,
    /// Number of tasks of ended processes that were claimed at startup.
    pub recovered_tasks: u64,
    /// Whether callers can authenticate with a key or a token.
    pub accepts_tokens: bool,
}

/// A published agent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishedAgent {
    /// Name of the agent.
    pub name: String,
    /// Kind of the agent, as in the configuration.
    pub kind: &'static str,
    /// URL of the agent.
    pub url: String,
}

impl Banner {
    pub(crate) fn new(config: &Config, address: SocketAddr, recovered_tasks: u64) -> Self {
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let local_url = format!("{scheme}://{}", loopback_if_unspecified(address));
        let root =
            config.settings.public_url.as_deref().unwrap_or(&local_url).trim_end_matches('/');
        let base = format!("{root}{}", config.settings.listen_path.trim_end_matches('/'));
        let disabled_reason = match config.serving {
            ServingMode::Enabled => None,
            ServingMode::Disabled => {
                Some("disabled: `a2a.enabled` is false, or there are no agents")
            }
            ServingMode::NotConfigured => {
                Some("not configured: there is no [a2a] section and no agent")
            }
        };
        let if_enabled = |url: String| disabled_reason.is_none().then_some(url);
        let agents = config.agents.iter().map(|agent| PublishedAgent {
            name: agent.name.clone(),
            kind: agent.kind.name(),
            url: format!("{base}/agents/{}", agent.name),
        });
        Self {
            card_url: if_enabled(format!("{root}/.well-known/agent-card.json")),
            agents: agents.filter(|_| disabled_reason.is_none()).collect(),
            a2a_url: if_enabled(base),
            disabled_reason,
            store: match &config.store.location {
                StoreLocation::Memory => "memory: tasks are lost when the server stops".to_owned(),
                StoreLocation::Sqlite { path, .. } => format!("sqlite {}", path.display()),
            },
            recovered_tasks,
            accepts_tokens: config.accepts_tokens(),
        }
    }

    /// Returns a shell command that calls the primary agent; `None` if there is no agent. Each run
    /// sends another message id, because the same one would return the result of the first run.
    #[must_use]
    pub fn curl(&self) -> Option<String> {
        let url = self.a2a_url.as_ref().filter(|_| !self.agents.is_empty())?;
        let key = match self.accepts_tokens {
            true => " \\\n  -H \"Authorization: Bearer $LATIMER_API_KEY\"",
            false => "",
        };
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m-'$(date +%s%N)'","role":"ROLE_USER","parts":[{"text":"hello"}]}}}"#;
        Some(format!("curl {url}{key} \\\n  -H 'Content-Type: application/json' \\\n  -d '{body}'"))
    }
}

/// Replaces an unspecified address, such as `0.0.0.0`, by a loopback address.
fn loopback_if_unspecified(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}
