//! Rendering of cards: interfaces, capabilities, security schemes and signature.

use latimer_protocol::card::{
    AgentCard, AgentExtension, AgentInterface, CardFormat, ProtocolBinding, TransitionHistory,
    list_to_json,
};
use latimer_protocol::{Reply, ReplyKind, Request, Version};
use serde_json::Value;
use tracing::error;

use super::{CardCacheKey, CardSelector, CardVariant};
use crate::address::BaseUrl;
use crate::agent::Agent;
use crate::binding::route_table::JWKS_PATH;
use crate::binding::{Frontend, RequestContext};
use crate::engine::CURSOR_EXTENSION;

/// State transitions are part of every task's log.
const TRANSITION_HISTORY: TransitionHistory = TransitionHistory::Recorded;

impl Frontend {
    /// Adds interfaces and capabilities to a card in a reply, and signs it.
    pub(in crate::binding) fn complete_card(
        &self,
        kind: &mut ReplyKind,
        ctx: &RequestContext<'_>,
        request: &Request,
    ) {
        let ReplyKind::Single(Reply::Card(card)) = kind else { return };
        let agent_name = ctx.target_agent(request);
        let Some(agent) = self.agent_or_primary(agent_name).or(self.registry.primary()) else {
            return;
        };
        let path_agent = agent_name.filter(|name| ctx.agent.is_some() || !self.is_primary(name));
        let (base_url, signing_kid) = self.base_url_and_kid(ctx);
        self.fill_in(card, agent, &base_url, path_agent);
        if signing_kid.is_some() {
            self.sign(card, &base_url);
        }
    }

    pub(super) fn render(&self, key: &CardCacheKey) -> Value {
        let format = match key.variant {
            CardVariant::Superset => CardFormat::Superset(TRANSITION_HISTORY),
            CardVariant::V1_0 => CardFormat::V1_0,
            CardVariant::Legacy => CardFormat::V0_1(TRANSITION_HISTORY),
        };
        let agent_name = match &key.selector {
            CardSelector::Primary => None,
            CardSelector::Agent(name) => Some(name.as_str()),
            CardSelector::All => {
                let path_agent_of =
                    |agent: &Agent| (!self.is_primary(agent.name())).then(|| agent.name().clone());
                let agents = self.registry.iter();
                let cards: Vec<_> = agents
                    .map(|agent| self.build_card(agent, key, path_agent_of(agent).as_deref()))
                    .collect();
                return list_to_json(&cards, format);
            }
        };
        let card = match self.agent_or_primary(agent_name) {
            Some(agent) => self.build_card(agent, key, agent_name),
            None => AgentCard::placeholder(key.base_url.url(&self.route_table.base_path(None))),
        };
        card.to_json(format)
    }

    fn build_card(&self, agent: &Agent, key: &CardCacheKey, path_agent: Option<&str>) -> AgentCard {
        let mut card = (*agent.card()).clone();
        self.fill_in(&mut card, agent, &key.base_url, path_agent);
        // The legacy format has no signatures.
        if key.signing_kid.is_some() && key.variant != CardVariant::Legacy {
            self.sign(&mut card, &key.base_url);
        }
        card
    }

    /// Signs a card, unless its author has signed it.
    fn sign(&self, card: &mut AgentCard, base_url: &BaseUrl) {
        let Some(keyring) = self.keyring.as_ref().filter(|_| card.signatures.is_empty()) else {
            return;
        };
        if let Err(error) = keyring.sign(card, base_url.url(JWKS_PATH)) {
            error!(agent = card.name, %error, "signing agent card failed");
        }
    }

    /// Sets interfaces, capabilities and security schemes. A card that its author has signed stays
    /// unchanged.
    fn fill_in(
        &self,
        card: &mut AgentCard,
        agent: &Agent,
        base_url: &BaseUrl,
        path_agent: Option<&str>,
    ) {
        if !card.signatures.is_empty() {
            return;
        }
        card.supported_interfaces = self.interfaces(base_url, path_agent);
        let capabilities = &mut card.capabilities;
        capabilities.streaming = Some(agent.supports_streaming());
        capabilities.push_notifications = Some(self.offers_webhooks() && agent.supports_webhooks());
        capabilities.extended_agent_card = Some(self.offers_extended_card(agent));
        self.security.apply_to(card, &agent.access().scopes);
        let capabilities = &mut card.capabilities;
        capabilities.extensions.push(AgentExtension {
            uri: CURSOR_EXTENSION.to_owned(),
            description: Some(
                "The metadata of each event contain its revision, for resuming streams".to_owned(),
            ),
            ..AgentExtension::default()
        });
    }

    /// Returns all interfaces of an agent, at its own path or the root path.
    fn interfaces(&self, base_url: &BaseUrl, path_agent: Option<&str>) -> Vec<AgentInterface> {
        let url = base_url.url(&self.route_table.base_path(path_agent));
        let mut interfaces = Vec::new();
        for version in [Version::V1_0, Version::V0_3] {
            interfaces.extend(self.route_table.bindings().iter().filter_map(|binding| {
                let interface = match binding {
                    ProtocolBinding::Grpc => self.grpc_interface(base_url, path_agent, version)?,
                    _ => AgentInterface::new(url.clone(), binding.clone()),
                };
                Some(interface.with_version(version))
            }));
        }
        interfaces
    }

    /// Returns the gRPC interface: clients expect host and port, not a URL. gRPC of 0.3 has no
    /// tenants, so it reaches only the primary agent.
    fn grpc_interface(
        &self,
        base_url: &BaseUrl,
        path_agent: Option<&str>,
        version: Version,
    ) -> Option<AgentInterface> {
        let interface = AgentInterface::new(base_url.host_and_port()?, ProtocolBinding::Grpc);
        match path_agent {
            Some(agent) if version == Version::V1_0 => Some(interface.with_tenant(agent)),
            Some(agent) if !self.is_primary(agent) => None,
            Some(_) | None => Some(interface),
        }
    }

    fn is_primary(&self, name: &str) -> bool {
        self.registry.primary().is_some_and(|it| &**it.name() == name)
    }
}
