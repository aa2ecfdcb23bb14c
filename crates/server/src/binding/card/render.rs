//! Cards with what only the server knows: where the agent is, and what is served there.

use latimer_protocol::card::{
    AgentCard, AgentExtension, AgentInterface, CardFormat, ProtocolBinding, TransitionHistory,
    list_to_json,
};
use latimer_protocol::{Reply, Request, Version};
use serde_json::Value;
use tracing::error;

use super::{FormName, Key, Which};
use crate::address::Address;
use crate::agent::Agent;
use crate::binding::{At, Front};
use crate::engine::CURSOR_EXTENSION;
use crate::signing::JWKS_PATH;

/// A task is a log, and keeps how its state changed.
const HISTORY: TransitionHistory = TransitionHistory::Recorded;

impl Front {
    /// Puts addresses and capabilities into a card that a call asked for.
    pub(in crate::binding) fn complete(&self, reply: &mut Reply, at: &At<'_>, asked: &Request) {
        let Reply::Card(card) = reply else { return };
        let named = at.named(asked);
        let Some(agent) = self.meant(named).or(self.registry.primary()) else { return };
        let own = named.filter(|name| at.agent.is_some() || !self.is_primary(name));
        let (address, signed) = self.address(at);
        self.fill_in(card, agent, &address, own);
        if signed.is_some() {
            self.sign(card, &address);
        }
    }

    pub(super) fn render(&self, key: &Key) -> Value {
        let form = match key.form {
            FormName::Superset => CardFormat::Superset(HISTORY),
            FormName::V1_0 => CardFormat::V1_0,
            FormName::Oldest => CardFormat::V0_1(HISTORY),
        };
        let named = match &key.which {
            Which::Primary => None,
            Which::Own(name) => Some(name.as_str()),
            Which::All => {
                let own =
                    |agent: &Agent| (!self.is_primary(agent.name())).then(|| agent.name().clone());
                let agents = self.registry.iter();
                let cards: Vec<_> =
                    agents.map(|agent| self.card_of(agent, key, own(agent).as_deref())).collect();
                return list_to_json(&cards, form);
            }
        };
        let card = match self.meant(named) {
            Some(agent) => self.card_of(agent, key, named),
            None => AgentCard::placeholder(key.address.url(&self.places.mount(None))),
        };
        card.to_json(form)
    }

    fn card_of(&self, agent: &Agent, key: &Key, own: Option<&str>) -> AgentCard {
        let mut card = (*agent.card()).clone();
        self.fill_in(&mut card, agent, &key.address, own);
        // The oldest form has no room for signatures.
        if key.signed.is_some() && key.form != FormName::Oldest {
            self.sign(&mut card, &key.address);
        }
        card
    }

    /// Signs a card as it stands, unless its author did.
    fn sign(&self, card: &mut AgentCard, address: &Address) {
        let Some(keyring) = self.keyring.as_ref().filter(|_| card.signatures.is_empty()) else {
            return;
        };
        if let Err(error) = keyring.sign(card, address.url(JWKS_PATH)) {
            error!(agent = card.name, %error, "card cannot be signed");
        }
    }

    /// A signed card is left as it was signed: whoever signs it says where the agent is.
    fn fill_in(&self, card: &mut AgentCard, agent: &Agent, address: &Address, own: Option<&str>) {
        if !card.signatures.is_empty() {
            return;
        }
        card.supported_interfaces = self.interfaces(address, own);
        let flags = &mut card.capabilities;
        flags.streaming = Some(agent.streams());
        flags.push_notifications = Some(self.courier.is_some() && agent.notifies());
        flags.extended_agent_card = Some(self.offers_extended(agent));
        self.security.declare(card, &agent.access().scopes);
        let flags = &mut card.capabilities;
        flags.extensions.push(AgentExtension {
            uri: CURSOR_EXTENSION.to_owned(),
            description: Some("Each event has its number in its metadata, to resume by".to_owned()),
            ..AgentExtension::default()
        });
    }

    /// Every way to call an agent, at its own address or the common one.
    fn interfaces(&self, address: &Address, own: Option<&str>) -> Vec<AgentInterface> {
        let url = address.url(&self.places.mount(own));
        let over = |binding| AgentInterface::new(url.clone(), binding);
        let mut found = vec![over(ProtocolBinding::JsonRpc), over(ProtocolBinding::HttpJson)];
        // One kit wants a host and a port for 1.0, and another a URL for 0.3.
        found.extend(address.host_and_port().map(|host| {
            let interface = AgentInterface::new(host, ProtocolBinding::Grpc);
            match own {
                Some(agent) => interface.with_tenant(agent),
                None => interface,
            }
        }));
        let older = [over(ProtocolBinding::JsonRpc), over(ProtocolBinding::HttpJson)];
        found.extend(older.map(|it| it.with_version(Version::V0_3)));
        // It has no tenants: only the primary agent can be called.
        if own.is_none_or(|name| self.is_primary(name)) {
            let origin =
                address.host_and_port().map(|it| AgentInterface::new(it, ProtocolBinding::Grpc));
            found.extend(origin.map(|it| it.with_version(Version::V0_3)));
        }
        found
    }

    fn is_primary(&self, name: &str) -> bool {
        self.registry.primary().is_some_and(|it| &**it.name() == name)
    }
}
