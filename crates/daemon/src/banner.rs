//! What a daemon says when it is ready.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::config::{Config, Serving, StoreLocation};

/// What a daemon serves, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Banner {
    /// Where A2A is served; none when it is not.
    pub a2a_url: Option<String>,
    /// Where the card of the primary agent is; none when A2A is not served.
    pub card_url: Option<String>,
    /// Why A2A is not served, when it is not.
    pub disabled_reason: Option<&'static str>,
    /// The agents.
    pub agents: Vec<PublishedAgent>,
    /// Where tasks are kept.
    pub store: String,
    /// How many tasks of a former process were taken over.
    pub recovered_tasks: u64,
    /// Whether callers can show a key or a token.
    pub accepts_tokens: bool,
}

/// An agent that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishedAgent {
    /// Its name.
    pub name: String,
    /// What stands behind it.
    pub kind: &'static str,
    /// Where it is.
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
            Serving::Enabled => None,
            Serving::Disabled => Some("switched off by `a2a.enabled`"),
            Serving::NotConfigured => {
                Some("not served: there is no [a2a] and there are no [[agents]]")
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
                StoreLocation::Memory => "memory: tasks are gone when this ends".to_owned(),
                StoreLocation::Sqlite { path, .. } => format!("sqlite {}", path.display()),
            },
            recovered_tasks,
            accepts_tokens: config.accepts_tokens(),
        }
    }

    /// A command that calls the primary agent, to be pasted into a shell.
    #[must_use]
    pub fn curl(&self) -> Option<String> {
        let url = self.a2a_url.as_ref().filter(|_| !self.agents.is_empty())?;
        let key = match self.accepts_tokens {
            true => " \\\n  -H \"Authorization: Bearer $LATIMER_API_KEY\"",
            false => "",
        };
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}}}"#;
        Some(format!("curl {url}{key} \\\n  -H 'Content-Type: application/json' \\\n  -d '{body}'"))
    }
}

/// The address under which this machine reaches what listens everywhere.
fn loopback_if_unspecified(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}
