//! What a daemon says when it is ready.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::config::{Behind, Config, Place, Serving};

/// What a daemon serves, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Banner {
    /// Where A2A is served; none when it is not.
    pub a2a: Option<String>,
    /// Where the card of the primary agent is; none when A2A is not served.
    pub card: Option<String>,
    /// Why A2A is not served, when it is not.
    pub silence: Option<&'static str>,
    /// The agents.
    pub agents: Vec<Published>,
    /// Where tasks are kept.
    pub store: String,
    /// How many tasks of a former process were taken over.
    pub recovered: u64,
    /// Whether callers can show a key or a token.
    pub protected: bool,
}

/// An agent that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Published {
    /// Its name.
    pub name: String,
    /// What stands behind it.
    pub kind: &'static str,
    /// Where it is.
    pub url: String,
}

impl Banner {
    pub(crate) fn new(config: &Config, address: SocketAddr, recovered: u64) -> Self {
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let local = format!("{scheme}://{}", reachable(address));
        let root = config.settings.public_url.as_deref().unwrap_or(&local).trim_end_matches('/');
        let base = format!("{root}{}", config.settings.listen_path.trim_end_matches('/'));
        let silence = match config.serving {
            Serving::On => None,
            Serving::Disabled => Some("switched off by `a2a.enabled`"),
            Serving::Absent => Some("not served: there is no [a2a] and there are no [[agents]]"),
        };
        let on = |url: String| silence.is_none().then_some(url);
        let agents = config.agents.iter().map(|agent| Published {
            name: agent.name.clone(),
            kind: kind(&agent.behind),
            url: format!("{base}/agents/{}", agent.name),
        });
        Self {
            card: on(format!("{root}/.well-known/agent-card.json")),
            agents: agents.filter(|_| silence.is_none()).collect(),
            a2a: on(base),
            silence,
            store: match &config.store.place {
                Place::Memory => "memory: tasks are gone when this ends".to_owned(),
                Place::Sqlite { path, .. } => format!("sqlite {}", path.display()),
            },
            recovered,
            protected: config.takes_tokens(),
        }
    }

    /// A command that calls the primary agent, to be pasted into a shell.
    #[must_use]
    pub fn curl(&self) -> Option<String> {
        let url = self.a2a.as_ref().filter(|_| !self.agents.is_empty())?;
        let key = match self.protected {
            true => " \\\n  -H \"Authorization: Bearer $LATIMER_API_KEY\"",
            false => "",
        };
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}}}"#;
        Some(format!("curl {url}{key} \\\n  -H 'Content-Type: application/json' \\\n  -d '{body}'"))
    }
}

/// The address under which this machine reaches what listens everywhere.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

fn kind(behind: &Behind) -> &'static str {
    match behind {
        Behind::Echo => "echo",
        Behind::Demo(_) => "demo",
        Behind::Command(_) => "command",
        Behind::A2a(_) => "a2a",
        Behind::Mcp { .. } => "mcp",
        Behind::Model { .. } => "model",
    }
}
