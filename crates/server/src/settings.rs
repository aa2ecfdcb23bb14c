//! Settings of a server: its paths and addresses, its tolerance for old clients, and its limits.

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

/// Settings of a server. A [`Server`](crate::Server) [checks](Self::check) them when it is assembled.
///
/// ```
/// # use latimer_server::Settings;
/// let settings = Settings { listen_path: "/agents/api".into(), ..Settings::default() };
/// assert!(settings.enabled && settings.path_aliases);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether A2A is served. If `false`, calls and cards are rejected because A2A is disabled.
    pub enabled: bool,
    /// Path below which A2A is served. `/` serves it at the root.
    pub listen_path: String,
    /// Whether A2A is also served at `/`, `/v1/rpc` and `/v1/…`, the paths of other A2A servers.
    pub path_aliases: bool,
    /// Path of the card in addition to the well-known paths.
    pub agent_card_path: Option<String>,
    /// URL under which clients reach the server, such as `https://agents.example.com`. If it is
    /// `None`, cards contain the host that a trusted proxy or the client sent with the request.
    pub public_url: Option<String>,
    /// Networks of the reverse proxies whose `Forwarded` and `X-Forwarded-*` headers are trusted.
    pub trusted_proxies: Vec<Network>,
    /// Web origins whose pages may call the agents from a browser (CORS). `*` allows every origin.
    /// Cards are readable from every origin.
    pub allowed_origins: Vec<String>,
    /// Paths that do not require authentication. A trailing `/*` matches everything below.
    /// Credentials sent anyway are verified, and invalid ones are rejected.
    pub public_paths: Vec<String>,
    /// Whether cards require authentication.
    pub card_requires_auth: bool,
    /// Whether `/metrics` is served. It requires authentication if the server does. If the setting is
    /// `None`, a server without authentication serves it only on loopback.
    pub metrics: Option<bool>,
    /// Whether gRPC reflection is served. It requires authentication if the server does. If the
    /// setting is `None`, a server without authentication serves it only on loopback. Requires the
    /// feature `grpc`.
    #[cfg(feature = "grpc")]
    pub reflection: Option<bool>,
    /// Hosts that a server on loopback accepts in addition to `localhost`, its addresses and the
    /// host of the public URL. Requests for other hosts are rejected against DNS rebinding. `*`
    /// accepts every host.
    pub allowed_hosts: Vec<String>,
    /// Policy for requests that declare no version.
    pub version_policy: VersionPolicy,
    /// Last element of a stream of server-sent events.
    pub stream_terminator: StreamTerminator,
    /// Interval without events after which a stream sends a comment that keeps its connection open.
    /// Must not be zero.
    pub keep_alive: Duration,
    /// Time for which clients may cache a card before they revalidate it.
    pub card_max_age: Duration,
    /// Whether cards contain the members of 0.3 in addition to those of 1.0, for clients that
    /// declare no version.
    pub superset_card: bool,
    /// Maximum time for running turns to end during a shutdown.
    pub drain_timeout: Duration,
    /// Limits of the task engine.
    pub limits: EngineLimits,
    /// Settings of webhook deliveries. Requires the feature `push`.
    #[cfg(feature = "push")]
    pub push: PushSettings,
    /// Rate limits of callers.
    pub rate: RateLimit,
    /// Limits of requests and connections.
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
            keep_alive: Duration::from_secs(3),
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
    /// Returns whether only local clients can reach a server with this listen address: the address is
    /// loopback, no trusted proxy is configured, and the public URL, if any, has a loopback host.
    #[must_use]
    pub fn is_loopback_only(&self, listen_address: SocketAddr) -> bool {
        let is_loopback = |url: &str| url.parse::<BaseUrl>().is_ok_and(|it| it.is_loopback());
        latimer_outbound::is_loopback_ip(listen_address.ip())
            && self.trusted_proxies.is_empty()
            && self.public_url.as_deref().is_none_or(is_loopback)
    }

    /// Checks the settings without starting a server.
    ///
    /// # Errors
    /// Returns [`Error::Setting`] with the first invalid setting.
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
            return Err(Error::setting("keep_alive", "must be greater than zero"));
        }
        Ok(())
    }
}

/// Last element of a stream of server-sent events. The specification has none, and strict clients
/// reject the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamTerminator {
    /// No element: the stream ends after its last event.
    #[default]
    None,
    /// An event named `done`.
    DoneEvent,
    /// A line with `[DONE]`.
    DoneLine,
}

/// Limits of requests and connections. Requests that exceed a limit are rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// Maximum size of a request body, in bytes.
    pub max_body_bytes: usize,
    /// Maximum time to receive a request body.
    pub body_timeout: Duration,
    /// Maximum length of a path with its query, in bytes.
    pub max_url_bytes: usize,
    /// Maximum number of headers of a request.
    pub max_headers: usize,
    /// Maximum size of all headers of a request together, in bytes. At least 8192.
    pub max_header_bytes: usize,
    /// Maximum time to receive the headers of a request; also the maximum idle time of an HTTP/1.1
    /// connection.
    pub header_timeout: Duration,
    /// Maximum time that an HTTP/2 connection may have no request. Pings do not count.
    pub http2_idle_timeout: Duration,
    /// Maximum number of open connections. Beyond it, a new connection replaces those that have been
    /// idle longest. If none is idle, a small reserve answers health and readiness checks and rejects
    /// all else with 503.
    pub max_connections: usize,
    /// Maximum number of open connections of one client address, or of an IPv6 network of 56 bits.
    /// Beyond it, a new connection replaces an idle one of the address, or is closed. It does not
    /// apply to trusted proxies, and to loopback only with [`RateLimit::include_loopback`]. Zero
    /// disables the limit.
    pub max_connections_per_address: usize,
    /// Maximum number of concurrent requests on one HTTP/2 connection.
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
            http2_idle_timeout: Duration::from_secs(60),
            max_connections: 10_000,
            max_connections_per_address: 1_000,
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
