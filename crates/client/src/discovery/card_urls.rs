//! Resolution of the URLs in a card. Does no I/O.

use std::net::IpAddr;

use latimer_outbound::is_loopback_ip;
use latimer_protocol::Version;
use latimer_protocol::card::{AgentInterface, ProtocolBinding};
use url::{Host, Url};

use crate::negotiate::CardMismatch;
use crate::transport::Endpoint;

/// Known URLs of an agent and its card, apart from those in the card.
#[derive(Clone, Debug, Default)]
pub(crate) struct CardUrls {
    /// URL of the agent, as given by the caller.
    pub(crate) agent: Option<Url>,
    /// URL of the card, as given by the caller.
    pub(crate) card: Option<Url>,
    /// URL where the card was found.
    pub(crate) found_at: Option<Url>,
    /// Whether to call the caller's URL in place of those in the card.
    pub(crate) agent_url_only: bool,
}

impl CardUrls {
    /// Resolves the URLs of interfaces.
    pub(crate) fn resolve(&self, interfaces: &[AgentInterface]) -> Vec<AgentInterface> {
        let resolved =
            |it: &AgentInterface| AgentInterface { url: self.resolve_url(it), ..it.clone() };
        interfaces.iter().map(resolved).collect()
    }

    /// Returns the reason why a card with these resolved URLs may describe another agent; `None` if
    /// there is none.
    pub(crate) fn check_agent(&self, resolved: &[AgentInterface]) -> Option<CardMismatch> {
        let (agent, found_at) = (self.agent.as_ref()?, self.found_at.as_ref()?);
        let mut http_interfaces =
            resolved.iter().filter(|it| it.protocol_binding != ProtocolBinding::Grpc);
        let is_at_agent_url =
            |it: &AgentInterface| Url::parse(&it.url).is_ok_and(|url| is_at_or_below(&url, agent));
        let is_plausible = self.card.is_some()
            || is_at_or_below(found_at, agent)
            || http_interfaces.clone().any(is_at_agent_url);
        (!is_plausible && http_interfaces.next().is_some())
            .then_some(CardMismatch::NoInterfaceAtUrl)
    }

    fn resolve_url(&self, interface: &AgentInterface) -> String {
        if let Some(agent) = self.agent.as_ref().filter(|_| self.agent_url_only) {
            return agent.to_string();
        }
        let url = self.complete_url(interface);
        let endpoint = match interface.protocol_binding {
            ProtocolBinding::Grpc => Endpoint::grpc(&url, Version::V1_0),
            _ => Endpoint::new(&url, Version::V1_0),
        };
        // An invalid URL stays as it is, and negotiation rejects it.
        let Ok(endpoint) = endpoint else { return url };
        self.with_caller_host(endpoint.url()).map_or(url, |it| it.to_string())
    }

    /// Adds the scheme and host that a card may omit.
    fn complete_url(&self, interface: &AgentInterface) -> String {
        let url = &interface.url;
        let grpc = interface.protocol_binding == ProtocolBinding::Grpc;
        let is_relative = match grpc {
            true => url.starts_with('/'),
            false => Url::parse(url) == Err(url::ParseError::RelativeUrlWithoutBase),
        };
        match (self.found_at.as_ref().filter(|_| is_relative), self.caller_urls().next()) {
            (Some(found_at), _) if !url.is_empty() => {
                found_at.join(url).map_or_else(|_| url.clone(), |it| it.to_string())
            }
            // The scheme of the caller's URL.
            (None, Some(caller_url)) if grpc && !url.contains("://") => {
                format!("{}://{url}", caller_url.scheme())
            }
            _ => url.clone(),
        }
    }

    /// Replaces the host with that of the caller's URL, if both mean the same machine.
    fn with_caller_host(&self, url: &Url) -> Option<Url> {
        let caller_url = match url.host()? {
            host if is_unspecified(&host) => self.caller_urls().next()?,
            // A loopback address has several names; the caller's name is known to work.
            host if is_loopback(&host) => self.caller_urls().find(|caller_url| {
                caller_url.host().is_some_and(|it| is_loopback(&it))
                    && caller_url.port_or_known_default() == url.port_or_known_default()
            })?,
            _ => return None,
        };
        let mut url = url.clone();
        url.set_host(caller_url.host_str()).ok()?;
        Some(url)
    }

    /// Returns the URLs given by the caller, that of the agent first.
    fn caller_urls(&self) -> impl Iterator<Item = &Url> {
        self.agent.iter().chain(&self.card)
    }
}

fn ip_address(host: &Host<&str>) -> Option<IpAddr> {
    match host {
        Host::Ipv4(it) => Some((*it).into()),
        Host::Ipv6(it) => Some(IpAddr::from(*it).to_canonical()),
        Host::Domain(_) => None,
    }
}

/// Returns whether a URL is `parent` or below it.
fn is_at_or_below(url: &Url, parent: &Url) -> bool {
    let base = parent.path().trim_end_matches('/');
    let suffix = url.path().strip_prefix(base);
    url.origin() == parent.origin() && suffix.is_some_and(|it| it.is_empty() || it.starts_with('/'))
}

/// Returns whether a host is an address that servers listen on, which cannot be called.
fn is_unspecified(host: &Host<&str>) -> bool {
    ip_address(host).is_some_and(|it| it.is_unspecified())
}

/// Returns whether a host is a plain name or address of this machine. Names below `localhost` do not
/// count: a server may have several agents and select one by such a name.
fn is_loopback(host: &Host<&str>) -> bool {
    *host == Host::Domain("localhost") || ip_address(host).is_some_and(is_loopback_ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card_urls(agent: Option<&str>, card: Option<&str>, found: &str) -> CardUrls {
        let parse = |url: &str| Url::parse(url).unwrap();
        CardUrls {
            agent: agent.map(parse),
            card: card.map(parse),
            found_at: Some(parse(found)),
            agent_url_only: false,
        }
    }

    fn resolve_one(urls: &CardUrls, binding: ProtocolBinding, url: &str) -> String {
        urls.resolve(&[AgentInterface::new(url, binding)]).remove(0).url
    }

    #[test]
    fn url_host_is_replaced_only_by_equivalent_caller_host() {
        use ProtocolBinding::{Grpc, JsonRpc};
        let local =
            card_urls(Some("http://127.0.0.1:9000/x"), None, "http://127.0.0.1:9000/w/a.json");
        let public = card_urls(Some("https://a.example/x"), None, "https://a.example/w/a.json");
        let separate = card_urls(
            Some("http://[::1]:9000"),
            Some("http://c.example/c.json"),
            "http://c.example/c",
        );
        for (urls, binding, url, want) in [
            (&local, JsonRpc, "http://127.0.0.1:9000/a2a", "http://127.0.0.1:9000/a2a"),
            (&local, JsonRpc, "http://localhost:9000/a2a", "http://127.0.0.1:9000/a2a"),
            (&local, JsonRpc, "http://LocalHost:9000/a2a", "http://127.0.0.1:9000/a2a"),
            (&local, JsonRpc, "http://[::1]:9000/a2a", "http://127.0.0.1:9000/a2a"),
            (&local, JsonRpc, "http://localhost:9001/a2a", "http://localhost:9001/a2a"),
            (&local, JsonRpc, "http://a.localhost:9000/a2a", "http://a.localhost:9000/a2a"),
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
            (&public, JsonRpc, "http://localhost:443/a2a", "http://localhost:443/a2a"),
            (&public, JsonRpc, "https://0.0.0.0/a2a", "https://a.example/a2a"),
            (&public, Grpc, "b.example:443", "https://b.example:443"),
            (&separate, JsonRpc, "http://localhost:9000/", "http://[::1]:9000/"),
            (&separate, JsonRpc, "http://0.0.0.0:9000/", "http://[::1]:9000/"),
            (&separate, JsonRpc, "/a2a", "http://c.example/a2a"),
        ] {
            assert_eq!(resolve_one(urls, binding, url), want, "{url} of {urls:?}");
        }
    }

    #[test]
    fn urls_of_undiscovered_card_are_unchanged() {
        for url in ["/a2a", "http://0.0.0.0:1/", "localhost:50051"] {
            assert_eq!(resolve_one(&CardUrls::default(), ProtocolBinding::Grpc, url), url);
        }
    }

    #[test]
    fn card_found_above_agent_must_list_agent_url() {
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
            let urls = card_urls(Some(agent), card, found);
            let mismatch = urls.check_agent(&[AgentInterface::new(url, binding)]);
            assert_eq!(mismatch.is_some(), want, "{agent} {found} {url}");
        }
    }

    #[test]
    fn agent_url_only_replaces_every_card_url() {
        let local =
            card_urls(Some("http://127.0.0.1:9000/x"), None, "http://127.0.0.1:9000/w/a.json");
        let agent_only = CardUrls { agent_url_only: true, ..local };
        for url in ["https://b.example/a2a", "b.example:443", ""] {
            assert_eq!(
                resolve_one(&agent_only, ProtocolBinding::JsonRpc, url),
                "http://127.0.0.1:9000/x"
            );
        }
    }
}
