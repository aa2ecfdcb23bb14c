//! What the addresses in a card mean, to whoever looked for it under one that works. Pure.

use std::net::IpAddr;

use latimer_protocol::Version;
use latimer_protocol::card::{AgentInterface, ProtocolBinding};
use url::{Host, Url};

use crate::negotiate::Doubt;
use crate::transport::Endpoint;

/// The addresses that are known beside those in a card.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    /// Where the caller says that the agent is.
    pub(crate) agent: Option<Url>,
    /// Where the caller says that its card is, if not at a place that follows from that.
    pub(crate) card: Option<Url>,
    /// Where the card was found.
    pub(crate) found: Option<Url>,
    /// Whether the agent is called where the caller says, whatever the card says.
    pub(crate) only: bool,
}

impl Named {
    /// Interfaces with the addresses that they mean.
    pub(crate) fn meant(&self, interfaces: &[AgentInterface]) -> Vec<AgentInterface> {
        let meant = |it: &AgentInterface| AgentInterface { url: self.address(it), ..it.clone() };
        interfaces.iter().map(meant).collect()
    }

    /// Whether the card may be another agent's, whose interfaces mean these addresses.
    pub(crate) fn doubt(&self, meant: &[AgentInterface]) -> Option<Doubt> {
        let (agent, found) = (self.agent.as_ref()?, self.found.as_ref()?);
        let mut addresses = meant.iter().filter(|it| it.protocol_binding != ProtocolBinding::Grpc);
        let there =
            |it: &AgentInterface| Url::parse(&it.url).is_ok_and(|url| is_below(&url, agent));
        let wanted = self.card.is_some() || is_below(found, agent) || addresses.clone().any(there);
        (!wanted && addresses.next().is_some()).then_some(Doubt::Elsewhere)
    }

    fn address(&self, interface: &AgentInterface) -> String {
        if let Some(agent) = self.agent.as_ref().filter(|_| self.only) {
            return agent.to_string();
        }
        let url = self.whole(interface);
        let endpoint = match interface.protocol_binding {
            ProtocolBinding::Grpc => Endpoint::grpc(&url, Version::V1_0),
            _ => Endpoint::new(&url, Version::V1_0),
        };
        // What cannot be read stays as it is, and is passed over for that.
        let Ok(endpoint) = endpoint else { return url };
        self.host(endpoint.url()).map_or(url, |it| it.to_string())
    }

    /// An address with its scheme and host, which a card may leave out.
    fn whole(&self, interface: &AgentInterface) -> String {
        let url = &interface.url;
        let grpc = interface.protocol_binding == ProtocolBinding::Grpc;
        let relative = match grpc {
            true => url.starts_with('/'),
            false => Url::parse(url) == Err(url::ParseError::RelativeUrlWithoutBase),
        };
        match (self.found.as_ref().filter(|_| relative), self.own().next()) {
            (Some(found), _) if !url.is_empty() => {
                found.join(url).map_or_else(|_| url.clone(), |it| it.to_string())
            }
            // As secure as what the caller named.
            (None, Some(own)) if grpc && !url.contains("://") => {
                format!("{}://{url}", own.scheme())
            }
            _ => url.clone(),
        }
    }

    /// The same address with the host that the caller named, if it is another word for that.
    fn host(&self, url: &Url) -> Option<Url> {
        let own = match url.host()? {
            host if is_unspecified(&host) => self.own().next()?,
            // This machine has many names, and the agent was found under one of them.
            host if is_loopback(&host) => self.own().find(|own| {
                own.host().is_some_and(|it| is_loopback(&it))
                    && own.port_or_known_default() == url.port_or_known_default()
            })?,
            _ => return None,
        };
        let mut url = url.clone();
        url.set_host(own.host_str()).ok()?;
        Some(url)
    }

    /// The addresses that the caller named, that of the agent first.
    fn own(&self) -> impl Iterator<Item = &Url> {
        self.agent.iter().chain(&self.card)
    }
}

fn address(host: &Host<&str>) -> Option<IpAddr> {
    match host {
        Host::Ipv4(it) => Some((*it).into()),
        Host::Ipv6(it) => Some(IpAddr::from(*it).to_canonical()),
        Host::Domain(_) => None,
    }
}

/// Whether an address is another one, or below it.
fn is_below(url: &Url, other: &Url) -> bool {
    let base = other.path().trim_end_matches('/');
    let rest = url.path().strip_prefix(base);
    url.origin() == other.origin() && rest.is_some_and(|it| it.is_empty() || it.starts_with('/'))
}

/// Whether it is what servers listen on, and nobody can be called at.
fn is_unspecified(host: &Host<&str>) -> bool {
    address(host).is_some_and(|it| it.is_unspecified())
}

fn is_loopback(host: &Host<&str>) -> bool {
    *host == Host::Domain("localhost") || address(host).is_some_and(|it| it.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(agent: Option<&str>, card: Option<&str>, found: &str) -> Named {
        let read = |url: &str| Url::parse(url).unwrap();
        Named {
            agent: agent.map(read),
            card: card.map(read),
            found: Some(read(found)),
            only: false,
        }
    }

    fn meant(named: &Named, binding: ProtocolBinding, url: &str) -> String {
        named.meant(&[AgentInterface::new(url, binding)]).remove(0).url
    }

    #[test]
    fn an_address_is_meant_as_it_is_unless_it_is_another_word_for_a_named_one() {
        use ProtocolBinding::{Grpc, JsonRpc};
        let local = named(Some("http://127.0.0.1:9000/x"), None, "http://127.0.0.1:9000/w/a.json");
        let world = named(Some("https://a.example/x"), None, "https://a.example/w/a.json");
        let apart =
            named(Some("http://[::1]:9000"), Some("http://c.example/c.json"), "http://c.example/c");
        for (named, binding, url, want) in [
            (&local, JsonRpc, "http://127.0.0.1:9000/a2a", "http://127.0.0.1:9000/a2a"),
            (&local, JsonRpc, "http://localhost:9000/a2a", "http://127.0.0.1:9000/a2a"),
            (&local, JsonRpc, "http://LocalHost:9000/a2a", "http://127.0.0.1:9000/a2a"),
            (&local, JsonRpc, "http://[::1]:9000/a2a", "http://127.0.0.1:9000/a2a"),
            (&local, JsonRpc, "http://localhost:9001/a2a", "http://localhost:9001/a2a"),
            (&local, JsonRpc, "http://localhost/a2a", "http://localhost/a2a"),
            (&local, JsonRpc, "http://10.0.0.1:9000/a2a", "http://10.0.0.1:9000/a2a"),
            (&local, JsonRpc, "http://0.0.0.0:9000/a2a", "http://127.0.0.1:9000/a2a"),
            (&local, JsonRpc, "http://[::]:9001/a2a", "http://127.0.0.1:9001/a2a"),
            (&local, JsonRpc, "/a2a", "http://127.0.0.1:9000/a2a"),
            (&local, JsonRpc, "a2a", "http://127.0.0.1:9000/w/a2a"),
            (&local, JsonRpc, "", ""),
            (&local, Grpc, "localhost:9000", "http://127.0.0.1:9000/"),
            (&local, Grpc, "0.0.0.0:9000", "http://127.0.0.1:9000/"),
            (&local, Grpc, "b.example:443", "http://b.example:443"),
            (&world, JsonRpc, "http://localhost:443/a2a", "http://localhost:443/a2a"),
            (&world, JsonRpc, "https://0.0.0.0/a2a", "https://a.example/a2a"),
            (&world, Grpc, "b.example:443", "https://b.example:443"),
            (&apart, JsonRpc, "http://localhost:9000/", "http://[::1]:9000/"),
            (&apart, JsonRpc, "http://0.0.0.0:9000/", "http://[::1]:9000/"),
            (&apart, JsonRpc, "/a2a", "http://c.example/a2a"),
        ] {
            assert_eq!(meant(named, binding, url), want, "{url} of {named:?}");
        }
    }

    #[test]
    fn a_card_that_nobody_found_is_taken_by_its_word() {
        for url in ["/a2a", "http://0.0.0.0:1/", "localhost:50051"] {
            assert_eq!(meant(&Named::default(), ProtocolBinding::Grpc, url), url);
        }
    }

    #[test]
    fn a_card_that_was_found_above_its_agent_has_to_name_it() {
        use ProtocolBinding::{Grpc, JsonRpc};
        let root = "https://a.example/.well-known/agent-card.json";
        let below = "https://a.example/x/y/.well-known/agent-card.json";
        let card = "https://c.example/card.json";
        for (agent, card, found, binding, url, want) in [
            ("https://a.example/x/y", None, root, JsonRpc, "https://a.example/x", true),
            ("https://a.example/x/y", None, root, JsonRpc, "https://a.example/x/yz", true),
            ("https://a.example/x/y", None, root, JsonRpc, "https://b.example/x/y", true),
            ("https://a.example/x/y/", None, root, JsonRpc, "https://a.example/x/y", false),
            ("https://a.example/x/y", None, root, JsonRpc, "https://a.example/x/y/z", false),
            ("https://a.example/x/y", None, below, JsonRpc, "https://a.example/x", false),
            ("https://a.example", None, root, JsonRpc, "https://a.example/x", false),
            ("https://a.example/x/y", Some(card), card, JsonRpc, "https://a.example/x", false),
            ("https://a.example/x/y", None, root, Grpc, "https://a.example:443", false),
        ] {
            let named = named(Some(agent), card, found);
            let doubt = named.doubt(&[AgentInterface::new(url, binding)]);
            assert_eq!(doubt.is_some(), want, "{agent} {found} {url}");
        }
    }

    #[test]
    fn an_agent_can_be_called_where_its_caller_says() {
        let local = named(Some("http://127.0.0.1:9000/x"), None, "http://127.0.0.1:9000/w/a.json");
        let only = Named { only: true, ..local };
        for url in ["https://b.example/a2a", "b.example:443", ""] {
            assert_eq!(meant(&only, ProtocolBinding::JsonRpc, url), "http://127.0.0.1:9000/x");
        }
    }
}
