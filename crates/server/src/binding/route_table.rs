//! Mapping of paths to resources.

use latimer_protocol::card::ProtocolBinding;

use crate::settings::Settings;

/// Resource at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteTarget<'p> {
    /// JSON-RPC, with the agent that the path names.
    JsonRpc(Option<&'p str>),
    /// HTTP+JSON, with the agent that the path names and the remaining path.
    Rest(Option<&'p str>, &'p str),
    /// Agent card.
    Card(Option<&'p str>, CardShape),
    /// List of all cards.
    CardList,
    /// Public keys of card signatures.
    Jwks,
    /// gRPC.
    Grpc,
    /// Liveness check.
    Health,
    /// Readiness check.
    Ready,
    /// Metrics.
    Metrics,
    /// Dead letters, with the remaining path.
    DeadLetters(&'p str),
    /// Unknown path.
    NotFound,
}

/// Format of the card at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CardShape {
    /// Newest format that the client supports.
    Newest,
    /// Format before 0.2.
    Legacy,
}

/// Table of all paths, derived from the settings.
#[derive(Clone, Debug)]
pub(crate) struct RouteTable {
    /// Base path without a trailing slash; empty for the root.
    base: String,
    path_aliases: bool,
    card_path: Option<String>,
    /// The bindings that are mounted, in the order in which cards list them.
    bindings: Vec<ProtocolBinding>,
}

/// Path of the card in addition to the well-known paths.
const CARD_ALIAS_PATH: &str = "/api/a2a/agent-card.json";
/// Path of the published keys.
pub(super) const JWKS_PATH: &str = "/.well-known/jwks.json";
/// Path of the dead-letter API.
const DEAD_LETTERS_PATH: &str = "/api/push/dead";
/// Path of the extended card in 0.2.
const EXTENDED_CARD_PATH_0_2: &str = "/agent/authenticatedExtendedCard";

impl RouteTable {
    /// Creates the table for the paths in the settings. Cards list `bindings` in this order.
    pub(crate) fn new(settings: &Settings, bindings: Vec<ProtocolBinding>) -> Self {
        Self {
            base: settings.listen_path.trim_end_matches('/').to_owned(),
            path_aliases: settings.path_aliases,
            card_path: settings.agent_card_path.clone(),
            bindings,
        }
    }

    /// Returns the mounted bindings, in the order in which cards list them.
    pub(super) fn bindings(&self) -> &[ProtocolBinding] {
        &self.bindings
    }

    /// Returns the path of JSON-RPC and HTTP+JSON, for one agent or for the primary agent.
    pub(super) fn base_path(&self, agent: Option<&str>) -> String {
        match agent {
            Some(agent) => format!("{}/agents/{agent}", self.base),
            None => self.base.clone(),
        }
    }

    /// Returns the resource at a path.
    pub(super) fn route<'p>(&self, path: &'p str) -> RouteTarget<'p> {
        // Checked first because most requests are JSON-RPC calls.
        let below_base = path.strip_prefix(self.base.as_str()).filter(|it| starts_segment(it));
        if matches!(below_base, Some("" | "/")) {
            return RouteTarget::JsonRpc(None);
        }
        if let Some(target) = self.fixed_route(path) {
            return target;
        }
        match below_base {
            Some(below_base) => self.route_below_base(below_base),
            None => RouteTarget::NotFound,
        }
    }

    /// Routes paths that do not depend on the base path.
    fn fixed_route<'p>(&self, path: &'p str) -> Option<RouteTarget<'p>> {
        if let Some(target) = well_known(path, None) {
            return Some(target);
        }
        if let Some(subpath) = path.strip_prefix(DEAD_LETTERS_PATH).filter(|it| starts_segment(it))
        {
            return Some(RouteTarget::DeadLetters(subpath));
        }
        Some(match path {
            "/" | "/v1/rpc" if self.path_aliases => RouteTarget::JsonRpc(None),
            CARD_ALIAS_PATH => RouteTarget::Card(None, CardShape::Newest),
            EXTENDED_CARD_PATH_0_2 => RouteTarget::Rest(None, path),
            JWKS_PATH => RouteTarget::Jwks,
            "/health" | "/healthz" | "/livez" => RouteTarget::Health,
            "/ready" | "/readyz" => RouteTarget::Ready,
            "/metrics" => RouteTarget::Metrics,
            _ if self.card_path.as_deref() == Some(path) => {
                RouteTarget::Card(None, CardShape::Newest)
            }
            _ if self.path_aliases && path.starts_with("/v1/") => RouteTarget::Rest(None, path),
            _ if is_grpc(path) && self.bindings.contains(&ProtocolBinding::Grpc) => {
                RouteTarget::Grpc
            }
            _ => return None,
        })
    }

    fn route_below_base<'p>(&self, below_base: &'p str) -> RouteTarget<'p> {
        if let Some(target) = well_known(below_base, None) {
            return target;
        }
        let Some(agents) = below_base.strip_prefix("/agents").filter(|it| starts_segment(it))
        else {
            return RouteTarget::Rest(None, below_base);
        };
        let Some(name_and_path) = agents.strip_prefix('/').filter(|it| !it.is_empty()) else {
            return RouteTarget::CardList;
        };
        let end = name_and_path.find('/').unwrap_or(name_and_path.len());
        let (name, subpath) = name_and_path.split_at(end);
        match subpath {
            "" | "/" => RouteTarget::JsonRpc(Some(name)),
            _ => well_known(subpath, Some(name)).unwrap_or(RouteTarget::Rest(Some(name), subpath)),
        }
    }
}

fn well_known<'p>(path: &str, agent: Option<&'p str>) -> Option<RouteTarget<'p>> {
    match path.strip_prefix("/.well-known/")? {
        "agent-card.json" => Some(RouteTarget::Card(agent, CardShape::Newest)),
        "agent.json" => Some(RouteTarget::Card(agent, CardShape::Legacy)),
        _ => None,
    }
}

fn starts_segment(remainder: &str) -> bool {
    remainder.is_empty() || remainder.starts_with('/')
}

/// Returns whether a path belongs to a gRPC service: its first segment starts with a known package,
/// and it has a second segment.
fn is_grpc(path: &str) -> bool {
    let service = path.strip_prefix('/').and_then(|it| it.split_once('/')).map(|(it, _)| it);
    service
        .is_some_and(|it| ["lf.a2a.", "a2a.v", "grpc."].iter().any(|start| it.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_resolve_to_expected_targets() {
        use RouteTarget as P;
        let table_for = |listen_path: &str, path_aliases| {
            let settings = Settings {
                listen_path: listen_path.into(),
                path_aliases,
                agent_card_path: Some("/cards/mine.json".into()),
                ..Settings::default()
            };
            RouteTable::new(&settings, vec![ProtocolBinding::JsonRpc, ProtocolBinding::Grpc])
        };
        let without_grpc = RouteTable::new(&Settings::default(), vec![ProtocolBinding::JsonRpc]);
        let (standard, root, without_aliases) =
            (table_for("/a2a", true), table_for("/", true), table_for("/x/y/", false));
        for (table, path, want) in [
            (&standard, "/a2a", P::JsonRpc(None)),
            (&standard, "/a2a/", P::JsonRpc(None)),
            (&standard, "/", P::JsonRpc(None)),
            (&standard, "/v1/rpc", P::JsonRpc(None)),
            (&standard, "/a2ab", P::NotFound),
            (&standard, "/a2a/message:send", P::Rest(None, "/message:send")),
            (&standard, "/a2a/v1/card", P::Rest(None, "/v1/card")),
            (&standard, "/v1/card", P::Rest(None, "/v1/card")),
            (&standard, "/agent/authenticatedExtendedCard", P::Rest(None, EXTENDED_CARD_PATH_0_2)),
            (&standard, "/a2a/agents", P::CardList),
            (&standard, "/a2a/agents/", P::CardList),
            (&standard, "/a2a/agents/x", P::JsonRpc(Some("x"))),
            (&standard, "/a2a/agents/x/", P::JsonRpc(Some("x"))),
            (&standard, "/a2a/agents/x/tasks/1", P::Rest(Some("x"), "/tasks/1")),
            (&standard, "/a2a/agents/x/v1/card", P::Rest(Some("x"), "/v1/card")),
            (
                &standard,
                "/a2a/agents/x/.well-known/agent.json",
                P::Card(Some("x"), CardShape::Legacy),
            ),
            (&standard, "/a2a/agentsx", P::Rest(None, "/agentsx")),
            (&standard, "/.well-known/agent-card.json", P::Card(None, CardShape::Newest)),
            (&standard, "/a2a/.well-known/agent-card.json", P::Card(None, CardShape::Newest)),
            (&standard, "/.well-known/agent.json", P::Card(None, CardShape::Legacy)),
            (&standard, "/.well-known/jwks.json", P::Jwks),
            (&standard, "/a2a/.well-known/jwks.json", P::Rest(None, "/.well-known/jwks.json")),
            (&standard, "/.well-known/openid-configuration", P::NotFound),
            (&standard, "/api/a2a/agent-card.json", P::Card(None, CardShape::Newest)),
            (&standard, "/cards/mine.json", P::Card(None, CardShape::Newest)),
            (&standard, "/lf.a2a.v1.A2AService/GetTask", P::Grpc),
            (&standard, "/a2a.v1.A2AService/GetTask", P::Grpc),
            (&standard, "/grpc.health.v1.Health/Check", P::Grpc),
            (&standard, "/health", P::Health),
            (&standard, "/healthz", P::Health),
            (&standard, "/livez", P::Health),
            (&standard, "/ready", P::Ready),
            (&standard, "/readyz", P::Ready),
            (&standard, "/metrics", P::Metrics),
            (&standard, "/api/push/dead", P::DeadLetters("")),
            (&standard, "/api/push/dead/x/replay", P::DeadLetters("/x/replay")),
            (&standard, "/api/push/deadly", P::NotFound),
            (&standard, "/else", P::NotFound),
            (&standard, "*", P::NotFound),
            (&standard, "", P::NotFound),
            (&without_grpc, "/a2a.v1.A2AService/GetTask", P::NotFound),
            (&without_grpc, "/grpc.health.v1.Health/Check", P::NotFound),
            (&root, "/", P::JsonRpc(None)),
            (&root, "", P::JsonRpc(None)),
            (&root, "/message:send", P::Rest(None, "/message:send")),
            (&root, "/agents/x", P::JsonRpc(Some("x"))),
            (&root, "/health", P::Health),
            (&without_aliases, "/x/y", P::JsonRpc(None)),
            (&without_aliases, "/", P::NotFound),
            (&without_aliases, "/v1/rpc", P::NotFound),
            (&without_aliases, "/v1/card", P::NotFound),
            (&without_aliases, "/x/y/v1/card", P::Rest(None, "/v1/card")),
        ] {
            assert_eq!(table.route(path), want, "{path} at {:?}", table.base);
        }
        assert_eq!(standard.base_path(None), "/a2a");
        assert_eq!(standard.base_path(Some("x")), "/a2a/agents/x");
        assert_eq!(root.base_path(Some("x")), "/agents/x");
    }
}
