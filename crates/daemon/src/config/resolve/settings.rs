//! Settings of the server.

use latimer_protocol::binding::VersionPolicy;
use latimer_server::{
    CallerLimits, EngineLimits, HttpLimits, Network, RateLimit, Settings, StreamTerminator,
};

use super::Resolver;
use crate::config::{ServingMode, raw};

impl Resolver<'_> {
    pub(super) fn resolve_settings(&mut self, raw: &raw::Root, serving: ServingMode) -> Settings {
        let raw::Root { a2a, server, .. } = raw;
        self.check_path("listen_path", Some(&a2a.listen_path));
        self.check_path("agent_card_path", a2a.agent_card_path.as_deref());
        Settings {
            enabled: serving != ServingMode::Disabled,
            listen_path: a2a.listen_path.clone(),
            path_aliases: a2a.aliases,
            agent_card_path: a2a.agent_card_path.clone(),
            public_url: raw.public_url.as_ref().map(|it| it.as_str().to_owned()),
            trusted_proxies: self.resolve_networks(&server.trusted_proxies),
            allowed_origins: a2a.server.allowed_origins.clone(),
            public_paths: raw.public_paths.clone(),
            card_requires_auth: raw.card_requires_auth,
            metrics: server.metrics,
            reflection: server.reflection,
            allowed_hosts: server.allowed_hosts.clone(),
            version_policy: match a2a.strict_version {
                true => VersionPolicy::Strict,
                false => VersionPolicy::Lenient,
            },
            stream_terminator: match a2a.stream_terminator {
                raw::Terminator::None => StreamTerminator::None,
                raw::Terminator::DoneEvent => StreamTerminator::DoneEvent,
                raw::Terminator::DoneLine => StreamTerminator::DoneLine,
            },
            keep_alive: server.keep_alive,
            card_max_age: server.card_max_age,
            superset_card: a2a.superset_card,
            drain_timeout: server.drain,
            limits: engine_limits(&raw.limits),
            push: self.resolve_push(&raw.push),
            rate: rate_limit(&raw.limits),
            http: http_limits(&raw.limits),
        }
    }

    fn check_path(&mut self, key: &str, path: Option<&str>) {
        let is_plain =
            |it: &&str| it.starts_with('/') && !it.contains(['?', '#', '%', ' ', '{', '}']);
        if let Some(path) = path.filter(|it| !is_plain(it)) {
            let message = format!("`a2a.{key}`: {path:?} is not a plain path");
            let hint = "use the form \"/a2a\", without `?`, `#`, `%`, spaces and braces";
            self.report_error(&["a2a", key], message, hint);
        }
    }

    fn resolve_networks(&mut self, entries: &[String]) -> Vec<Network> {
        let mut networks = Vec::new();
        for (index, text) in entries.iter().enumerate() {
            match text.parse() {
                Ok(network) => networks.push(network),
                Err(_) => {
                    let path = ["server", "trusted_proxies", &index.to_string()];
                    let message = format!("`server.trusted_proxies`: {text:?} is not a network");
                    self.report_error(&path, message, "use the form \"10.0.0.0/8\"");
                }
            }
        }
        networks
    }
}

fn engine_limits(raw: &raw::Limits) -> EngineLimits {
    EngineLimits {
        max_parts: saturating_usize(raw.max_parts),
        max_streams: saturating_usize(raw.max_streams),
        max_turns: saturating_usize(raw.max_turns),
        max_recovering: saturating_usize(raw.max_turns / 4).max(1),
        per_caller: CallerLimits {
            max_tasks: saturating_usize(raw.max_tasks_per_caller),
            max_streams: saturating_usize(raw.max_streams_per_caller),
        },
    }
}

fn rate_limit(raw: &raw::Limits) -> RateLimit {
    RateLimit {
        per_minute: raw.rate,
        burst: raw.burst,
        auth_failures_per_minute: raw.auth_failures,
        include_loopback: raw.rate_loopback,
    }
}

fn http_limits(raw: &raw::Limits) -> HttpLimits {
    HttpLimits {
        max_body_bytes: raw.max_body.0,
        body_timeout: raw.body_time,
        max_url_bytes: raw.max_url.0,
        max_headers: saturating_usize(raw.max_headers),
        max_header_bytes: raw.max_header_bytes.0,
        header_timeout: raw.header_time,
        http2_idle_timeout: raw.http2_idle_time,
        max_connections: saturating_usize(raw.max_connections),
        max_connections_per_address: saturating_usize(raw.max_connections_per_address),
        max_calls_per_connection: raw.max_calls_per_connection,
    }
}

/// Converts a limit. A value that exceeds the range means no limit.
pub(super) fn saturating_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
