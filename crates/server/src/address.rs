//! The base URL under which a client reaches the server, and the IP address of the client.
//!
//! The base URL is written into cards. It is the public URL if one is configured; otherwise the one
//! that a trusted proxy forwarded; otherwise the host that the client sent. Headers of other peers
//! are ignored, because a forged host in a card would send its readers to that host.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use http::header::{FORWARDED, HOST};
use http::uri::Authority;
use http::{HeaderMap, Uri};
use latimer_outbound::{Network, is_loopback_host, is_loopback_ip};

use crate::error::Error;

/// Headers of proxies that the base URL depends on, in the order of the `Vary` header.
pub(crate) const FORWARDING_HEADERS: [&str; 5] = [
    "Forwarded",
    "X-Forwarded-Host",
    "X-Forwarded-Port",
    "X-Forwarded-Prefix",
    "X-Forwarded-Proto",
];

/// Scheme, host, port and path prefix under which a server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BaseUrl {
    scheme: Scheme,
    authority: String,
    /// Path prefix that a proxy removes, without a final slash; usually empty.
    prefix: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl BaseUrl {
    /// Returns the URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://{}{}{path}", self.scheme, self.authority, self.prefix)
    }

    /// Returns the host, with the port if there is one.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns host and port for gRPC. `None` with a path prefix, which gRPC does not support.
    pub(crate) fn host_and_port(&self) -> Option<String> {
        if !self.prefix.is_empty() {
            return None;
        }
        let authority: Authority = self.authority.parse().ok()?;
        let port = authority.port_u16().unwrap_or(match self.scheme {
            Scheme::Http => 80,
            Scheme::Https => 443,
        });
        Some(format!("{}:{port}", authority.host()))
    }

    /// Returns whether the host is a loopback address or `localhost`, so that only clients on the
    /// same machine reach the server under this URL.
    pub(crate) fn is_loopback(&self) -> bool {
        let Ok(authority) = self.authority.parse::<Authority>() else { return false };
        is_loopback_host(authority.host())
    }
}

impl FromStr for BaseUrl {
    type Err = Error;

    fn from_str(url: &str) -> Result<Self, Error> {
        let invalid = |problem: &str| Error::setting("public_url", format!("{url:?} {problem}"));
        let uri: Uri = url.parse().map_err(|_| invalid("is not a URL"))?;
        let scheme = match uri.scheme_str() {
            Some("http") => Scheme::Http,
            Some("https") => Scheme::Https,
            _ => return Err(invalid("does not start with http:// or https://")),
        };
        let authority = uri.authority().and_then(|it| normalize_authority(it.as_str()));
        let authority = authority.ok_or_else(|| invalid("has no valid host"))?;
        if uri.query().is_some() {
            return Err(invalid("has a query"));
        }
        let prefix = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { scheme, authority, prefix })
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
        })
    }
}

/// Determines the base URL and the client IP address of a request.
#[derive(Clone, Debug)]
pub(crate) struct AddressResolver {
    pub(crate) public_url: Option<BaseUrl>,
    pub(crate) trusted_proxies: Vec<Network>,
    /// Address that the server listens on. Fallback if a request has no valid host.
    pub(crate) listen_address: Option<SocketAddr>,
    /// Scheme of the listener.
    pub(crate) scheme: Scheme,
}

impl AddressResolver {
    /// Returns the base URL under which the client of a request reaches the server.
    pub(crate) fn resolve(&self, uri: &Uri, headers: &HeaderMap, peer: Option<IpAddr>) -> BaseUrl {
        if let Some(public_url) = &self.public_url {
            return public_url.clone();
        }
        let declared =
            uri.authority().map(Authority::as_str).or_else(|| header_str(headers.get(HOST)));
        let declared_authority =
            || declared.and_then(normalize_authority).unwrap_or_else(|| self.fallback_authority());
        if !self.trusts_peer(peer) {
            return BaseUrl {
                scheme: self.scheme,
                authority: declared_authority(),
                prefix: String::new(),
            };
        }
        let forwarded = Forwarded::from_headers(headers);
        let scheme = match forwarded.proto.as_deref() {
            Some(proto) if proto.eq_ignore_ascii_case("https") => Scheme::Https,
            Some(_) => Scheme::Http,
            None => self.scheme,
        };
        let authority = forwarded
            .host
            .as_deref()
            .and_then(normalize_authority)
            .unwrap_or_else(declared_authority);
        let authority = with_port(authority, forwarded.port);
        BaseUrl { scheme, authority, prefix: forwarded.prefix.unwrap_or_default() }
    }

    /// Returns whether forwarding headers of this peer affect the base URL.
    pub(crate) fn trusts_peer(&self, peer: Option<IpAddr>) -> bool {
        self.public_url.is_none() && peer.is_some_and(|it| self.is_trusted_proxy(it))
    }

    /// Returns whether an address belongs to a trusted proxy.
    pub(crate) fn is_trusted_proxy(&self, address: IpAddr) -> bool {
        self.trusted_proxies.iter().any(|it| it.contains(address))
    }

    /// Returns the IP address of the client: the peer, or, behind trusted proxies, the last
    /// forwarded address that is not a trusted proxy. Addresses before it can be forged. A proxy
    /// writes either `Forwarded` or `X-Forwarded-For` and passes the other one on; if they
    /// disagree, both are ignored.
    pub(crate) fn client_ip(&self, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
        if !self.is_trusted_proxy(peer) {
            return peer;
        }
        let (forwarded, x_forwarded) = (forwarded_for(headers), x_forwarded_for(headers));
        match (forwarded.is_empty(), x_forwarded.is_empty()) {
            (true, _) => self.nearest_untrusted(&x_forwarded, peer),
            (false, true) => self.nearest_untrusted(&forwarded, peer),
            (false, false) => {
                let client = self.nearest_untrusted(&x_forwarded, peer);
                if client == self.nearest_untrusted(&forwarded, peer) { client } else { peer }
            }
        }
    }

    /// Returns the last address that is not a trusted proxy, or the first trusted one if all are.
    /// Stops at a node without an address.
    fn nearest_untrusted(&self, hops: &[&str], peer: IpAddr) -> IpAddr {
        let mut nearest = peer;
        for hop in hops.iter().rev() {
            let Some(address) = parse_node(hop) else { return nearest };
            nearest = address;
            if !self.is_trusted_proxy(address) {
                return nearest;
            }
        }
        nearest
    }

    /// Returns whether a base URL is known to be the server's own: the public URL, loopback, or the
    /// listen address. Only such cards are signed; otherwise a forged `Host` header would yield a
    /// signed card for another host. Forwarded hosts do not count, because most proxies pass on
    /// some header of the client.
    pub(crate) fn is_authoritative(&self, base_url: &BaseUrl) -> bool {
        self.public_url.is_some() || base_url.is_loopback() || {
            self.listen_address.is_some_and(|it| base_url.authority == it.to_string())
        }
    }

    /// Returns whether clients can reach the server under an authoritative base URL, so that their
    /// cards can be signed.
    pub(crate) fn has_authoritative(&self) -> bool {
        let is_loopback = self.listen_address.is_some_and(|it| is_loopback_ip(it.ip()));
        is_loopback || self.public_url.is_some()
    }

    fn fallback_authority(&self) -> String {
        self.listen_address.map_or_else(|| "localhost".to_owned(), |it| it.to_string())
    }
}

/// Forwarding headers, each with its last value, which the nearest proxy wrote. Earlier values can
/// be forged.
#[derive(Debug, Default)]
struct Forwarded {
    proto: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    prefix: Option<String>,
}

impl Forwarded {
    fn from_headers(headers: &HeaderMap) -> Self {
        let last = |name: &str| {
            let value = header_str(headers.get_all(name).into_iter().next_back())?;
            let value = value.rsplit(',').next()?.trim();
            Some(value.to_owned()).filter(|it| !it.is_empty())
        };
        let mut forwarded = Self {
            proto: last("x-forwarded-proto"),
            host: last("x-forwarded-host"),
            port: last("x-forwarded-port").and_then(|it| it.parse().ok()),
            prefix: last("x-forwarded-prefix").and_then(|it| parse_prefix(&it)),
        };
        // `Forwarded`, the standard header, overrides the others.
        for pair in last(FORWARDED.as_str()).unwrap_or_default().split(';') {
            let Some((name, value)) = pair.split_once('=') else { continue };
            let value = Some(value.trim().trim_matches('"').to_owned());
            match name.trim().to_ascii_lowercase().as_str() {
                "proto" => forwarded.proto = value,
                "host" => forwarded.host = value,
                _ => {}
            }
        }
        forwarded
    }
}

/// Returns whether a request has a header that a proxy adds.
pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
    ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"]
        .iter()
        .any(|it| headers.contains_key(*it))
}

/// Returns the entries of `X-Forwarded-For`, nearest hop last.
fn x_forwarded_for(headers: &HeaderMap) -> Vec<&str> {
    list_values(headers, "x-forwarded-for").collect()
}

/// Returns the `for` values of `Forwarded`, nearest hop last. An element without `for` yields an
/// empty string, which stands for a hidden address.
fn forwarded_for(headers: &HeaderMap) -> Vec<&str> {
    let clients = list_values(headers, FORWARDED.as_str()).map(|element| {
        let mut pairs = element.split(';').filter_map(|pair| pair.split_once('='));
        let for_pair = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"));
        for_pair.map_or("", |(_, value)| value)
    });
    clients.collect()
}

/// Returns the list items of all values of a header.
fn list_values<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).into_iter();
    values.flat_map(|it| it.to_str().unwrap_or_default().split(','))
}

/// Parses the address of a node, with or without a port. `None` for hidden and obfuscated nodes.
fn parse_node(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let unbracketed = text.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(text);
    let address = unbracketed.parse().or_else(|_| text.parse::<SocketAddr>().map(|it| it.ip()));
    address.ok().map(|it: IpAddr| it.to_canonical())
}

fn header_str(value: Option<&http::HeaderValue>) -> Option<&str> {
    value.and_then(|it| it.to_str().ok())
}

/// Parses a host with an optional port and converts it to lower case. `None` if the string contains
/// anything else.
fn normalize_authority(text: &str) -> Option<String> {
    let is_valid_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    let is_valid = !text.is_empty() && text.len() <= 255 && text.bytes().all(is_valid_byte);
    let authority: Authority = text.parse().ok().filter(|_| is_valid)?;
    Some(authority.as_str().to_ascii_lowercase())
}

fn with_port(authority: String, port: Option<u16>) -> String {
    let Some(port) = port else { return authority };
    match authority.parse::<Authority>() {
        Ok(it) if it.port().is_none() && ![80, 443].contains(&port) => {
            format!("{authority}:{port}")
        }
        _ => authority,
    }
}

/// Parses a path prefix. `None` if it is not a plain absolute path.
fn parse_prefix(text: &str) -> Option<String> {
    let text = text.trim_end_matches('/');
    let is_valid_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~%".contains(&byte);
    let is_valid = text.starts_with('/') && !text.starts_with("//") && text.len() <= 255;
    Some(text.to_owned()).filter(|it| is_valid && it.bytes().all(is_valid_byte))
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    fn resolver(public_url: Option<&str>) -> AddressResolver {
        AddressResolver {
            public_url: public_url.map(|it| it.parse().unwrap()),
            trusted_proxies: vec!["10.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()],
            listen_address: Some("127.0.0.1:8080".parse().unwrap()),
            scheme: Scheme::Http,
        }
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), value.parse().unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn only_trusted_proxies_change_the_address() {
        let all = [
            ("host", "inside:8080"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "evil.example, agents.example"),
            ("x-forwarded-prefix", "/team/"),
        ];
        for (peer, pairs, want) in [
            (Some("192.0.2.1"), &all[..], "http://inside:8080/a2a"),
            (None, &all, "http://inside:8080/a2a"),
            (Some("10.9.9.9"), &all, "https://agents.example/team/a2a"),
            (Some("::ffff:10.9.9.9"), &all, "https://agents.example/team/a2a"),
            (Some("10.9.9.9"), &all[..1], "http://inside:8080/a2a"),
            (
                Some("::1"),
                &[
                    ("x-forwarded-host", "other"),
                    ("forwarded", "for=x, for=y;proto=HTTPS;host=\"a.example:1\""),
                ],
                "https://a.example:1/a2a",
            ),
            (
                Some("::1"),
                &[
                    ("x-forwarded-host", "h"),
                    ("x-forwarded-port", "8443"),
                    ("x-forwarded-proto", "https"),
                ],
                "https://h:8443/a2a",
            ),
            (
                Some("::1"),
                &[("host", "h"), ("x-forwarded-host", "a/b"), ("x-forwarded-prefix", "//evil")],
                "http://h/a2a",
            ),
        ] {
            let peer = peer.map(|it| it.parse().unwrap());
            let address = resolver(None).resolve(&"/a2a".parse().unwrap(), &headers(pairs), peer);
            assert_eq!(address.url("/a2a"), want, "{peer:?} {pairs:?}");
        }
    }

    #[test]
    fn client_ip_comes_from_trusted_proxies_only() {
        let proxy = "10.0.0.1";
        for (peer, pairs, want) in [
            ("192.0.2.1", &[("x-forwarded-for", "198.51.100.7")][..], "192.0.2.1"),
            (proxy, &[], proxy),
            (proxy, &[("x-forwarded-for", "198.51.100.7")], "198.51.100.7"),
            ("::ffff:10.0.0.1", &[("x-forwarded-for", "198.51.100.7")], "198.51.100.7"),
            // Addresses before the nearest untrusted one can be forged.
            (proxy, &[("x-forwarded-for", "1.2.3.4, 198.51.100.7")], "198.51.100.7"),
            (proxy, &[("x-forwarded-for", "198.51.100.7, 10.2.2.2")], "198.51.100.7"),
            (
                proxy,
                &[("x-forwarded-for", "1.2.3.4"), ("x-forwarded-for", "198.51.100.7,10.2.2.2")],
                "198.51.100.7",
            ),
            (proxy, &[("x-forwarded-for", "198.51.100.7:99")], "198.51.100.7"),
            (proxy, &[("x-forwarded-for", "2001:db8::7")], "2001:db8::7"),
            (proxy, &[("x-forwarded-for", "10.3.3.3, 10.2.2.2")], "10.3.3.3"),
            // A hidden address ends the search.
            (proxy, &[("x-forwarded-for", "198.51.100.7, unknown")], proxy),
            (proxy, &[("x-forwarded-for", "198.51.100.7, x, 10.2.2.2")], "10.2.2.2"),
            (proxy, &[("x-forwarded-for", "")], proxy),
            (proxy, &[("forwarded", "for=198.51.100.7;proto=https")], "198.51.100.7"),
            (proxy, &[("forwarded", "for=1.2.3.4, For=\"[2001:db8::7]:8\";by=x")], "2001:db8::7"),
            (proxy, &[("forwarded", "for=\"[2001:db8::7]\", for=10.2.2.2")], "2001:db8::7"),
            (proxy, &[("forwarded", "for=198.51.100.7, proto=https")], proxy),
            (proxy, &[("forwarded", "for=_hidden")], proxy),
            // The proxy writes one of the two headers and passes the other one on.
            (proxy, &[("forwarded", "for=1.2.3.4"), ("x-forwarded-for", "198.51.100.7")], proxy),
            (
                proxy,
                &[("forwarded", "for=198.51.100.7"), ("x-forwarded-for", "198.51.100.7")],
                "198.51.100.7",
            ),
        ] {
            let client = resolver(None).client_ip(&headers(pairs), peer.parse().unwrap());
            assert_eq!(client, want.parse::<IpAddr>().unwrap(), "{peer} {pairs:?}");
        }
        let public = resolver(Some("https://a.example"));
        let forwarded = headers(&[("x-forwarded-for", "198.51.100.7")]);
        let client = public.client_ip(&forwarded, proxy.parse().unwrap());
        assert_eq!(
            client.to_string(),
            "198.51.100.7",
            "a public URL does not change the client address"
        );
    }

    #[test]
    fn public_url_overrides_host_and_forwarded_headers() {
        let pairs = headers(&[("host", "inside"), ("x-forwarded-host", "b.example")]);
        let resolver = resolver(Some("https://a.example/x/"));
        let peer = Some("10.0.0.1".parse().unwrap());
        let address = resolver.resolve(&"/".parse().unwrap(), &pairs, peer);
        assert_eq!(address.url("/a2a"), "https://a.example/x/a2a");
        assert_eq!(address.host_and_port(), None, "gRPC does not support a path prefix");
        for url in ["a.example", "ftp://a.example", "https://", "https://u@h", "https://h/?q"] {
            assert!(url.parse::<BaseUrl>().is_err(), "{url}");
        }
    }

    #[test]
    fn invalid_host_header_falls_back_to_listen_address() {
        for (declared, want) in [
            (Some("Agents.Example:99"), "http://agents.example:99"),
            (Some("[::1]:80"), "http://[::1]:80"),
            (Some("a b"), "http://127.0.0.1:8080"),
            (Some("user@host"), "http://127.0.0.1:8080"),
            (None, "http://127.0.0.1:8080"),
        ] {
            let pairs: Vec<_> = declared.map(|it| ("host", it)).into_iter().collect();
            let address = resolver(None).resolve(&"/".parse().unwrap(), &headers(&pairs), None);
            assert_eq!(address.url(""), want, "{declared:?}");
        }
    }

    #[test]
    fn only_own_addresses_are_authoritative() {
        let mut direct = resolver(None);
        direct.listen_address = Some("192.0.2.7:8080".parse().unwrap());
        let base_url = |url: &str| url.parse::<BaseUrl>().unwrap();
        for (url, want) in [
            ("http://192.0.2.7:8080", true),
            ("http://192.0.2.7", false),
            ("http://localhost:1", true),
            ("http://127.0.0.1:1", true),
            ("http://[::1]:1", true),
            ("http://[::ffff:127.0.0.1]:1", true),
            ("http://Agent.LocalHost:1", true),
            ("http://localhost.evil.example", false),
            ("http://evil.example", false),
        ] {
            assert_eq!(direct.is_authoritative(&base_url(url)), want, "{url}");
        }
        let public = resolver(Some("https://a.example"));
        assert!(public.is_authoritative(&base_url("https://a.example")));
    }

    #[test]
    fn tls_listener_resolves_to_https() {
        let secure = AddressResolver { scheme: Scheme::Https, ..resolver(None) };
        let proxy = "10.0.0.1".parse().ok();
        for (pairs, peer, want) in [
            (vec![("host", "a.example")], None, "https://a.example"),
            (vec![("host", "a.example")], proxy, "https://a.example"),
            (vec![("host", "a"), ("x-forwarded-proto", "http")], proxy, "http://a"),
            (vec![("host", "a"), ("x-forwarded-proto", "http")], None, "https://a"),
        ] {
            let address = secure.resolve(&"/".parse().unwrap(), &headers(&pairs), peer);
            assert_eq!(address.url(""), want, "{pairs:?} {peer:?}");
        }
    }

    #[test]
    fn grpc_address_has_host_and_port() {
        for (url, want) in
            [("http://h", "h:80"), ("https://h", "h:443"), ("http://[::1]:9", "[::1]:9")]
        {
            let address: BaseUrl = url.parse().unwrap();
            assert_eq!(address.host_and_port().as_deref(), Some(want));
        }
    }
}
