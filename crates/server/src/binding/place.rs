//! Whose a path is. There is one table of addresses, and it is this one.

use crate::settings::Settings;
use crate::signing::JWKS_PATH;

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place<'p> {
    /// The one address of JSON-RPC.
    JsonRpc(Option<&'p str>),
    /// The addresses of HTTP+JSON; the rest of the path says which.
    Rest(Option<&'p str>, &'p str),
    /// A card.
    Card(Option<&'p str>, Shape),
    /// The list of all cards.
    Agents,
    /// The keys that signatures are proven with.
    Keys,
    /// gRPC.
    Grpc,
    /// Whether the process is alive.
    Health,
    /// Whether it takes calls.
    Ready,
    /// What it has counted.
    Metrics,
    /// What could not be delivered; the rest of the path says what to do about it.
    DeadLetters(&'p str),
    /// Nothing of ours.
    Nothing,
}

/// In which shape a path has the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Shape {
    /// In the newest that the caller understands.
    Newest,
    /// As before 0.2.
    Oldest,
}

/// Where everything is.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// Without a slash at its end; empty when it is the root.
    base: String,
    aliases: bool,
    card: Option<String>,
}

/// Of the card, beside the well-known ones.
const CARD_ALIAS: &str = "/api/a2a/agent-card.json";
/// Where an operator finds what could not be delivered.
const DEAD_LETTERS: &str = "/api/push/dead";
/// Where 0.2 looks for the extended card.
const EXTENDED_CARD_0_2: &str = "/agent/authenticatedExtendedCard";

impl Places {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            base: settings.listen_path.trim_end_matches('/').to_owned(),
            aliases: settings.aliases,
            card: settings.agent_card_path.clone(),
        }
    }

    /// The path of JSON-RPC and HTTP+JSON; that of one agent's own, or of the primary one.
    pub(super) fn mount(&self, agent: Option<&str>) -> String {
        match agent {
            Some(agent) => format!("{}/agents/{agent}", self.base),
            None => self.base.clone(),
        }
    }

    /// What is at a path.
    pub(super) fn find<'p>(&self, path: &'p str) -> Place<'p> {
        // Before all others, because there are more calls than anything else.
        let below = path.strip_prefix(self.base.as_str()).filter(|it| starts_segment(it));
        if matches!(below, Some("" | "/")) {
            return Place::JsonRpc(None);
        }
        if let Some(place) = self.fixed(path) {
            return place;
        }
        match below {
            Some(below) => self.below(below),
            None => Place::Nothing,
        }
    }

    /// Addresses that do not move with the base.
    fn fixed<'p>(&self, path: &'p str) -> Option<Place<'p>> {
        if let Some(place) = well_known(path, None) {
            return Some(place);
        }
        if let Some(rest) = path.strip_prefix(DEAD_LETTERS).filter(|it| starts_segment(it)) {
            return Some(Place::DeadLetters(rest));
        }
        Some(match path {
            "/" | "/v1/rpc" if self.aliases => Place::JsonRpc(None),
            CARD_ALIAS => Place::Card(None, Shape::Newest),
            EXTENDED_CARD_0_2 => Place::Rest(None, path),
            JWKS_PATH => Place::Keys,
            "/health" => Place::Health,
            "/ready" => Place::Ready,
            "/metrics" => Place::Metrics,
            _ if self.card.as_deref() == Some(path) => Place::Card(None, Shape::Newest),
            _ if self.aliases && path.starts_with("/v1/") => Place::Rest(None, path),
            _ if is_grpc(path) => Place::Grpc,
            _ => return None,
        })
    }

    fn below<'p>(&self, below: &'p str) -> Place<'p> {
        if let Some(place) = well_known(below, None) {
            return place;
        }
        let Some(agents) = below.strip_prefix("/agents").filter(|it| starts_segment(it)) else {
            return Place::Rest(None, below);
        };
        let Some(named) = agents.strip_prefix('/').filter(|it| !it.is_empty()) else {
            return Place::Agents;
        };
        let end = named.find('/').unwrap_or(named.len());
        let (name, rest) = named.split_at(end);
        match rest {
            "" | "/" => Place::JsonRpc(Some(name)),
            _ => well_known(rest, Some(name)).unwrap_or(Place::Rest(Some(name), rest)),
        }
    }
}

fn well_known<'p>(path: &str, agent: Option<&'p str>) -> Option<Place<'p>> {
    match path.strip_prefix("/.well-known/")? {
        "agent-card.json" => Some(Place::Card(agent, Shape::Newest)),
        "agent.json" => Some(Place::Card(agent, Shape::Oldest)),
        _ => None,
    }
}

fn starts_segment(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

/// Whether a path is that of a service: its first segment has a package, and there is a second.
fn is_grpc(path: &str) -> bool {
    let service = path.strip_prefix('/').and_then(|it| it.split_once('/')).map(|(it, _)| it);
    service
        .is_some_and(|it| ["lf.a2a.", "a2a.v", "grpc."].iter().any(|start| it.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_leads_where_the_table_says() {
        use Place as P;
        let at = |listen_path: &str, aliases| {
            Places::new(&Settings {
                listen_path: listen_path.into(),
                aliases,
                agent_card_path: Some("/cards/mine.json".into()),
                ..Settings::default()
            })
        };
        let (usual, root, plain) = (at("/a2a", true), at("/", true), at("/x/y/", false));
        for (places, path, want) in [
            (&usual, "/a2a", P::JsonRpc(None)),
            (&usual, "/a2a/", P::JsonRpc(None)),
            (&usual, "/", P::JsonRpc(None)),
            (&usual, "/v1/rpc", P::JsonRpc(None)),
            (&usual, "/a2ab", P::Nothing),
            (&usual, "/a2a/message:send", P::Rest(None, "/message:send")),
            (&usual, "/a2a/v1/card", P::Rest(None, "/v1/card")),
            (&usual, "/v1/card", P::Rest(None, "/v1/card")),
            (&usual, "/agent/authenticatedExtendedCard", P::Rest(None, EXTENDED_CARD_0_2)),
            (&usual, "/a2a/agents", P::Agents),
            (&usual, "/a2a/agents/", P::Agents),
            (&usual, "/a2a/agents/x", P::JsonRpc(Some("x"))),
            (&usual, "/a2a/agents/x/", P::JsonRpc(Some("x"))),
            (&usual, "/a2a/agents/x/tasks/1", P::Rest(Some("x"), "/tasks/1")),
            (&usual, "/a2a/agents/x/v1/card", P::Rest(Some("x"), "/v1/card")),
            (&usual, "/a2a/agents/x/.well-known/agent.json", P::Card(Some("x"), Shape::Oldest)),
            (&usual, "/a2a/agentsx", P::Rest(None, "/agentsx")),
            (&usual, "/.well-known/agent-card.json", P::Card(None, Shape::Newest)),
            (&usual, "/a2a/.well-known/agent-card.json", P::Card(None, Shape::Newest)),
            (&usual, "/.well-known/agent.json", P::Card(None, Shape::Oldest)),
            (&usual, "/.well-known/jwks.json", P::Keys),
            (&usual, "/a2a/.well-known/jwks.json", P::Rest(None, "/.well-known/jwks.json")),
            (&usual, "/.well-known/openid-configuration", P::Nothing),
            (&usual, "/api/a2a/agent-card.json", P::Card(None, Shape::Newest)),
            (&usual, "/cards/mine.json", P::Card(None, Shape::Newest)),
            (&usual, "/lf.a2a.v1.A2AService/GetTask", P::Grpc),
            (&usual, "/a2a.v1.A2AService/GetTask", P::Grpc),
            (&usual, "/grpc.health.v1.Health/Check", P::Grpc),
            (&usual, "/health", P::Health),
            (&usual, "/ready", P::Ready),
            (&usual, "/metrics", P::Metrics),
            (&usual, "/api/push/dead", P::DeadLetters("")),
            (&usual, "/api/push/dead/x/replay", P::DeadLetters("/x/replay")),
            (&usual, "/api/push/deadly", P::Nothing),
            (&usual, "/else", P::Nothing),
            (&usual, "*", P::Nothing),
            (&usual, "", P::Nothing),
            (&root, "/", P::JsonRpc(None)),
            (&root, "", P::JsonRpc(None)),
            (&root, "/message:send", P::Rest(None, "/message:send")),
            (&root, "/agents/x", P::JsonRpc(Some("x"))),
            (&root, "/health", P::Health),
            (&plain, "/x/y", P::JsonRpc(None)),
            (&plain, "/", P::Nothing),
            (&plain, "/v1/rpc", P::Nothing),
            (&plain, "/v1/card", P::Nothing),
            (&plain, "/x/y/v1/card", P::Rest(None, "/v1/card")),
        ] {
            assert_eq!(places.find(path), want, "{path} at {:?}", places.base);
        }
        assert_eq!(usual.mount(None), "/a2a");
        assert_eq!(usual.mount(Some("x")), "/a2a/agents/x");
        assert_eq!(root.mount(Some("x")), "/agents/x");
    }
}
