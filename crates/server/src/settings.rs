//! How a server is set up: what it is reached under, what it tolerates, and its limits.

use std::net::SocketAddr;
use std::time::Duration;

use latimer_outbound::Network;
use latimer_protocol::binding::VersionPolicy;

use crate::address::Address;
use crate::binding::cors::is_origin;
use crate::engine::Limits;
use crate::error::{Error, Result, is_local};
use crate::host::is_host;
use crate::push::PushSettings;
use crate::rate::Rate;

/// How a server is set up. Plain data; [`Server`](crate::Server) checks it when it starts.
///
/// ```
/// # use latimer_server::Settings;
/// let settings = Settings { listen_path: "/agents/api".into(), ..Settings::default() };
/// assert!(settings.enabled && settings.aliases);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether A2A is served at all. Otherwise its addresses answer that it is switched off.
    pub enabled: bool,
    /// The path under which everything of A2A is. `/` is allowed.
    pub listen_path: String,
    /// Whether the addresses that other servers have are served too: `/`, `/v1/rpc` and `/v1/…`.
    pub aliases: bool,
    /// Another path for the card, beside those where everybody looks.
    pub agent_card_path: Option<String>,
    /// What callers reach the server under, as `https://agents.example.com`. When it is not given,
    /// a card says what its caller did.
    pub public_url: Option<String>,
    /// Proxies whose word about the caller's address counts.
    pub trusted_proxies: Vec<Network>,
    /// Origins whose pages may call the agents from a browser; `*` is any. Cards are for all.
    pub allowed_origins: Vec<String>,
    /// Paths that need no credentials; `/*` at the end of one is everything below it. Whoever shows
    /// some all the same is known by them.
    pub public_paths: Vec<String>,
    /// Whether cards need credentials, too.
    pub card_requires_auth: bool,
    /// Whether `/metrics` is served. With authentication, it needs credentials. When this is not
    /// given and nobody is authenticated, it is served to this machine alone.
    pub metrics: Option<bool>,
    /// Whether gRPC describes its services, by the same rule.
    pub reflection: Option<bool>,
    /// Hosts that a server which only this machine can reach is called by, beside `localhost`, its
    /// addresses and the public URL; `*` is any. Requests for others are refused, because they come
    /// from pages that pretend to be on this machine.
    pub allowed_hosts: Vec<String>,
    /// What to make of callers that say no version.
    pub version_rule: VersionPolicy,
    /// What a stream of server-sent events ends with.
    pub stream_terminator: StreamTerminator,
    /// How long a stream may be silent before a comment is sent to keep its connection alive.
    pub keep_alive: Duration,
    /// How long a card may be kept without asking again.
    pub card_max_age: Duration,
    /// Whether the card has the members of 0.3 beside those of 1.0, for callers that say no version.
    pub superset_card: bool,
    /// How long turns may go on once the server is told to stop.
    pub drain: Duration,
    /// What callers can ask for.
    pub limits: Limits,
    /// How webhooks are told about tasks.
    pub push: PushSettings,
    /// How often they can ask.
    pub rate: Rate,
    /// What requests and connections may cost.
    pub http: HttpLimits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            listen_path: "/a2a".into(),
            aliases: true,
            agent_card_path: None,
            public_url: None,
            trusted_proxies: Vec::new(),
            allowed_origins: Vec::new(),
            public_paths: Vec::new(),
            card_requires_auth: false,
            metrics: None,
            reflection: None,
            allowed_hosts: Vec::new(),
            version_rule: VersionPolicy::Lenient,
            stream_terminator: StreamTerminator::None,
            keep_alive: Duration::from_secs(15),
            card_max_age: Duration::from_secs(300),
            superset_card: true,
            drain: Duration::from_secs(30),
            limits: Limits::default(),
            push: PushSettings::default(),
            rate: Rate::default(),
            http: HttpLimits::default(),
        }
    }
}

impl Settings {
    /// Whether nobody but this machine reaches a server that listens here: it has no name that leads
    /// here from elsewhere, and no proxy passes others on.
    #[must_use]
    pub fn is_private(&self, listens: SocketAddr) -> bool {
        let here = |url: &str| url.parse::<Address>().is_ok_and(|it| it.is_loopback());
        is_local(listens)
            && self.trusted_proxies.is_empty()
            && self.public_url.as_deref().is_none_or(here)
    }

    /// Checks what a server would not start with.
    ///
    /// # Errors
    /// The first setting that has no meaning.
    pub fn check(&self) -> Result<()> {
        let plain =
            |path: &str| path.starts_with('/') && !path.contains(['?', '#', '%', ' ', '{', '}']);
        if !plain(&self.listen_path) || self.listen_path.contains("//") {
            return Err(Error::setting("listen_path", "must begin with / and be a plain path"));
        }
        if self.agent_card_path.as_deref().is_some_and(|it| !plain(it)) {
            return Err(Error::setting("agent_card_path", "must begin with / and be a plain path"));
        }
        if let Some(wrong) = self.allowed_origins.iter().find(|it| *it != "*" && !is_origin(it)) {
            let problem = format!("{wrong:?} is not an origin: write it like https://a.example");
            return Err(Error::setting("allowed_origins", problem));
        }
        if let Some(wrong) = self.allowed_hosts.iter().find(|it| *it != "*" && !is_host(it)) {
            let problem = format!("{wrong:?} is not a host: write it like agents.example.com");
            return Err(Error::setting("allowed_hosts", problem));
        }
        if self.keep_alive.is_zero() {
            return Err(Error::setting("keep_alive", "must be longer than nothing"));
        }
        Ok(())
    }
}

/// What a stream of server-sent events ends with. The specification has nothing there, and strict
/// readers stumble over anything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamTerminator {
    /// Nothing: the stream closes.
    #[default]
    None,
    /// An event of the name `done`.
    DoneEvent,
    /// A line that says `[DONE]`.
    DoneLine,
}

/// What requests and connections may cost. Whatever exceeds a limit is refused in the words of its
/// binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// The largest body of a request, in bytes.
    pub body: usize,
    /// How long a body may take to arrive.
    pub body_time: Duration,
    /// The longest path with its query, in bytes.
    pub url: usize,
    /// How many headers a request may have.
    pub headers: usize,
    /// How large they may be together, in bytes; at least 8192.
    pub header_bytes: usize,
    /// How long they may take to arrive; also how long a connection of HTTP/1.1 may be idle.
    pub header_time: Duration,
    /// How many connections may be open. More wait to be accepted.
    pub connections: usize,
    /// How many calls may be under way on one connection of HTTP/2.
    pub calls_per_connection: u32,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            body: 10 * 1024 * 1024,
            body_time: Duration::from_secs(30),
            url: 8 * 1024,
            headers: 100,
            header_bytes: 64 * 1024,
            header_time: Duration::from_secs(60),
            connections: 10_000,
            calls_per_connection: 1000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_a_name_or_a_proxy_elsewhere_is_not_private() {
        for (listens, url, proxies, want) in [
            ("127.0.0.1:1", None, &[][..], true),
            ("[::1]:1", None, &[], true),
            ("[::ffff:127.0.0.1]:1", Some("http://localhost:1"), &[], true),
            ("0.0.0.0:1", None, &[], false),
            ("192.0.2.1:1", None, &[], false),
            ("127.0.0.1:1", Some("https://agents.example"), &[], false),
            ("127.0.0.1:1", None, &["127.0.0.1"], false),
        ] {
            let settings = Settings {
                public_url: url.map(str::to_owned),
                trusted_proxies: proxies.iter().map(|it| it.parse().unwrap()).collect(),
                ..Settings::default()
            };
            let found = settings.is_private(listens.parse().unwrap());
            assert_eq!(found, want, "{listens} {url:?} {proxies:?}");
        }
    }
}
