//! How a server is set up: what it is reached under, what it tolerates, and its limits.

use std::net::SocketAddr;
use std::time::Duration;

use latimer_outbound::Network;
use latimer_protocol::binding::VersionPolicy;

use crate::address::BaseUrl;
use crate::binding::cors::is_origin;
use crate::engine::EngineLimits;
use crate::error::{Error, Result};
use crate::host::is_host;
#[cfg(feature = "push")]
use crate::push::PushSettings;
use crate::rate::RateLimit;

/// How a server is set up. Plain data; [`Server`](crate::Server) checks it when it starts.
///
/// ```
/// # use latimer_server::Settings;
/// let settings = Settings { listen_path: "/agents/api".into(), ..Settings::default() };
/// assert!(settings.enabled && settings.path_aliases);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether A2A is served at all. Otherwise its addresses answer that it is switched off.
    pub enabled: bool,
    /// The path under which everything of A2A is. `/` is allowed.
    pub listen_path: String,
    /// Whether the addresses that other servers have are served too: `/`, `/v1/rpc` and `/v1/…`.
    pub path_aliases: bool,
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
    /// Whether gRPC describes its services, by the same rule. Needs the feature `grpc`.
    #[cfg(feature = "grpc")]
    pub reflection: Option<bool>,
    /// Hosts that a server which only this machine can reach is called by, beside `localhost`, its
    /// addresses and the public URL; `*` is any. Requests for others are refused, because they come
    /// from pages that pretend to be on this machine.
    pub allowed_hosts: Vec<String>,
    /// What to make of callers that say no version.
    pub version_policy: VersionPolicy,
    /// What a stream of server-sent events ends with.
    pub stream_terminator: StreamTerminator,
    /// How long a stream may be silent before a comment is sent to keep its connection alive.
    pub keep_alive: Duration,
    /// How long a card may be kept without asking again.
    pub card_max_age: Duration,
    /// Whether the card has the members of 0.3 beside those of 1.0, for callers that say no version.
    pub superset_card: bool,
    /// How long turns may go on once the server is told to stop.
    pub drain_timeout: Duration,
    /// What callers can ask for.
    pub limits: EngineLimits,
    /// How webhooks are told about tasks. Needs the feature `push`.
    #[cfg(feature = "push")]
    pub push: PushSettings,
    /// How often they can ask.
    pub rate: RateLimit,
    /// What requests and connections may cost.
    pub http: HttpLimits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            listen_path: "/a2a".into(),
            path_aliases: true,
            agent_card_path: None,
            public_url: None,
            trusted_proxies: Vec::new(),
            allowed_origins: Vec::new(),
            public_paths: Vec::new(),
            card_requires_auth: false,
            metrics: None,
            #[cfg(feature = "grpc")]
            reflection: None,
            allowed_hosts: Vec::new(),
            version_policy: VersionPolicy::Lenient,
            stream_terminator: StreamTerminator::None,
            keep_alive: Duration::from_secs(15),
            card_max_age: Duration::from_secs(300),
            superset_card: true,
            drain_timeout: Duration::from_secs(30),
            limits: EngineLimits::default(),
            #[cfg(feature = "push")]
            push: PushSettings::default(),
            rate: RateLimit::default(),
            http: HttpLimits::default(),
        }
    }
}

impl Settings {
    /// Whether nobody but this machine reaches a server that listens here: it has no name that leads
    /// here from elsewhere, and no proxy passes others on.
    #[must_use]
    pub fn is_loopback_only(&self, listen_address: SocketAddr) -> bool {
        let is_loopback = |url: &str| url.parse::<BaseUrl>().is_ok_and(|it| it.is_loopback());
        latimer_outbound::is_loopback_ip(listen_address.ip())
            && self.trusted_proxies.is_empty()
            && self.public_url.as_deref().is_none_or(is_loopback)
    }

    /// Checks what a server would not start with.
    ///
    /// # Errors
    /// The first setting that has no meaning.
    pub fn check(&self) -> Result<()> {
        let is_plain_path =
            |path: &str| path.starts_with('/') && !path.contains(['?', '#', '%', ' ', '{', '}']);
        if !is_plain_path(&self.listen_path) || self.listen_path.contains("//") {
            return Err(Error::setting("listen_path", "must begin with / and be a plain path"));
        }
        if self.agent_card_path.as_deref().is_some_and(|it| !is_plain_path(it)) {
            return Err(Error::setting("agent_card_path", "must begin with / and be a plain path"));
        }
        if let Some(invalid) = self.allowed_origins.iter().find(|it| *it != "*" && !is_origin(it)) {
            let problem = format!("{invalid:?} is not an origin: write it like https://a.example");
            return Err(Error::setting("allowed_origins", problem));
        }
        if let Some(invalid) = self.allowed_hosts.iter().find(|it| *it != "*" && !is_host(it)) {
            let problem = format!("{invalid:?} is not a host: write it like agents.example.com");
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
    pub max_body_bytes: usize,
    /// How long a body may take to arrive.
    pub body_timeout: Duration,
    /// The longest path with its query, in bytes.
    pub max_url_bytes: usize,
    /// How many headers a request may have.
    pub max_headers: usize,
    /// How large they may be together, in bytes; at least 8192.
    pub max_header_bytes: usize,
    /// How long they may take to arrive; also how long a connection of HTTP/1.1 may be idle.
    pub header_timeout: Duration,
    /// How many connections may be open. More wait to be accepted.
    pub max_connections: usize,
    /// How many calls may be under way on one connection of HTTP/2.
    pub max_calls_per_connection: u32,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_body_bytes: 10 * 1024 * 1024,
            body_timeout: Duration::from_secs(30),
            max_url_bytes: 8 * 1024,
            max_headers: 100,
            max_header_bytes: 64 * 1024,
            header_timeout: Duration::from_secs(60),
            max_connections: 10_000,
            max_calls_per_connection: 1000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_only_requires_local_listener_and_no_proxy() {
        for (listen_address, url, proxies, want) in [
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
            let actual = settings.is_loopback_only(listen_address.parse().unwrap());
            assert_eq!(actual, want, "{listen_address} {url:?} {proxies:?}");
        }
    }
}
