//! Which names a server answers to that only this machine can reach.
//!
//! A page from anywhere can have a name of its own lead to 127.0.0.1 and then talk to what listens
//! there as if it came from it (DNS rebinding). What such a page cannot do is to leave out its own
//! name: it is in the `Host` header, or in the `Origin`. Addresses that others can reach are for a
//! proxy or for authentication to protect, and are called by names that nobody here knows.

use std::net::{IpAddr, SocketAddr};

use http::header::{HOST, ORIGIN};
use http::request::Parts;
use latimer_protocol::{Error, ErrorKind};

use crate::address::Address;
use crate::error::is_local;
use crate::settings::Settings;

/// Any host, or any origin.
const ANY: &str = "*";

/// The names that a server on loopback answers to.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    /// What most callers write, which need not be read to be known.
    usual: [String; 2],
    /// Beside those of loopback.
    names: Vec<String>,
    origins: Vec<String>,
}

impl Hosts {
    /// The names that a server that listens here answers to; none when it answers to any.
    pub(crate) fn new(
        settings: &Settings,
        public: Option<&Address>,
        local: Option<SocketAddr>,
    ) -> Option<Self> {
        let local = local.filter(|it| is_local(*it))?;
        let mut names = settings.allowed_hosts.clone();
        if names.iter().any(|it| it == ANY) {
            return None;
        }
        names.extend(public.and_then(|it| host_of(it.authority())).map(str::to_owned));
        let usual = [local.to_string(), format!("localhost:{}", local.port())];
        Some(Self { usual, names, origins: settings.allowed_origins.clone() })
    }

    /// Whether a request is for one of the names.
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] when it is for another.
    pub(crate) fn check_host(&self, head: &Parts) -> Result<(), Error> {
        let authority = head.uri.authority().map(|it| it.as_str().as_bytes());
        let hosts = head.headers.get_all(HOST).into_iter().map(|it| it.as_bytes());
        let unusual = |said: &&[u8]| self.usual.iter().all(|it| it.as_bytes() != *said);
        for said in authority.into_iter().chain(hosts).filter(unusual) {
            let host = std::str::from_utf8(said).ok().and_then(host_of);
            let Some(host) = host else { return Err(denied("the Host header names no host")) };
            if !self.knows(host) {
                let message =
                    format!("this server is not {host}; if it is, add it to allowed_hosts");
                return Err(denied(message));
            }
        }
        Ok(())
    }

    /// Whether a request comes from a page that may make it, if it comes from a page.
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] when that may not.
    pub(crate) fn check_origin(&self, head: &Parts) -> Result<(), Error> {
        for said in head.headers.get_all(ORIGIN) {
            let allowed =
                self.origins.iter().any(|it| it == ANY || it.as_bytes() == said.as_bytes());
            let host = said.to_str().ok().and_then(page_host);
            if !allowed && !host.is_some_and(|it| self.knows(it)) {
                let message = "pages of this origin may not call; if they may, add it to \
                               allowed_origins";
                return Err(denied(message));
            }
        }
        Ok(())
    }

    fn knows(&self, host: &str) -> bool {
        is_loopback(host) || self.names.iter().any(|it| it.eq_ignore_ascii_case(host))
    }
}

fn denied(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::PermissionDenied, message)
}

/// Whether a host is this machine, whatever the network says.
fn is_loopback(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return address.to_canonical().is_loopback();
    }
    let last = host.rsplit('.').next().unwrap_or_default();
    last.eq_ignore_ascii_case("localhost")
}

/// Whether a text is a host, without a port.
pub(crate) fn is_host(text: &str) -> bool {
    host_of(text).is_some_and(|it| it.len() == text.len())
}

/// The host of a host with or without a port.
fn host_of(text: &str) -> Option<&str> {
    let (host, port) = match text.rfind(':') {
        Some(at) if !text.ends_with(']') => (&text[..at], &text[at + 1..]),
        _ => (text, ""),
    };
    let (inner, address) = match host.strip_prefix('[') {
        Some(rest) => (rest.strip_suffix(']')?, true),
        None => (host, false),
    };
    let plain = |byte: u8| match address {
        true => byte.is_ascii_hexdigit() || b":.".contains(&byte),
        false => byte.is_ascii_alphanumeric() || b".-_".contains(&byte),
    };
    let fits = !inner.is_empty() && inner.len() <= 253 && inner.bytes().all(plain);
    (fits && port.bytes().all(|it| it.is_ascii_digit())).then_some(host)
}

/// The host of a page, by its origin.
fn page_host(origin: &str) -> Option<&str> {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))?;
    host_of(rest)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn hosts(local: &str) -> Option<Hosts> {
        let settings = Settings {
            allowed_hosts: vec!["Agents.Internal".into()],
            allowed_origins: vec!["https://app.example".into()],
            ..Settings::default()
        };
        let public = "https://public.example:8443/x".parse().unwrap();
        Hosts::new(&settings, Some(&public), Some(local.parse().unwrap()))
    }

    fn head(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn only_a_listener_of_this_machine_asks_for_its_name() {
        for (local, want) in [
            ("127.0.0.1:80", true),
            ("127.1.2.3:80", true),
            ("[::1]:80", true),
            ("0.0.0.0:80", false),
            ("192.0.2.1:80", false),
        ] {
            assert_eq!(hosts(local).is_some(), want, "{local}");
        }
        let none = Hosts::new(&Settings::default(), None, None);
        assert!(none.is_none(), "whoever does not listen does not know");
        let any = Settings { allowed_hosts: vec!["*".into()], ..Settings::default() };
        let local = Some("127.0.0.1:80".parse().unwrap());
        assert!(Hosts::new(&any, None, local).is_none());
        for (text, want) in [
            ("agents.internal", true),
            ("[::1]", true),
            ("", false),
            ("https://a", false),
            ("a/b", false),
            ("a:80", false),
            ("a b", false),
            ("[::1", false),
        ] {
            assert_eq!(is_host(text), want, "{text:?}");
        }
    }

    #[test]
    fn a_server_of_this_machine_answers_to_its_own_names() {
        let hosts = hosts("127.0.0.1:80").unwrap();
        for (host, want) in [
            ("localhost", true),
            ("LOCALHOST:8080", true),
            ("localhost.", true),
            ("agent.localhost:1", true),
            ("127.0.0.1", true),
            ("127.9.9.9:80", true),
            ("[::1]:80", true),
            ("[::1]", true),
            ("[::ffff:127.0.0.1]", true),
            ("agents.internal:99", true),
            ("public.example", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("notlocalhost", false),
            ("127.0.0.1.evil.example", false),
            ("192.0.2.1", false),
            ("0.0.0.0", false),
            ("[2001:db8::1]", false),
            ("", false),
            ("a b", false),
            ("localhost:80:80", false),
            ("evil.example@localhost", false),
        ] {
            assert_eq!(hosts.check_host(&head("/", &[("host", host)])).is_ok(), want, "{host}");
        }
        assert!(hosts.check_host(&head("/", &[])).is_ok(), "no page leaves it out");
        // HTTP/2 has it elsewhere; whoever says two names means the worse one.
        for (uri, headers, want) in [
            ("http://localhost/", &[][..], true),
            ("http://evil.example/", &[], false),
            ("http://localhost/", &[("host", "evil.example")], false),
            ("http://evil.example/", &[("host", "localhost")], false),
            ("/", &[("host", "localhost"), ("host", "evil.example")], false),
        ] {
            assert_eq!(hosts.check_host(&head(uri, headers)).is_ok(), want, "{uri} {headers:?}");
        }
    }

    #[test]
    fn only_pages_of_this_machine_and_those_that_are_named_may_call() {
        let hosts = hosts("127.0.0.1:80").unwrap();
        for (origin, want) in [
            ("http://localhost:3000", true),
            ("https://127.0.0.1", true),
            ("http://[::1]:5", true),
            ("https://public.example", true),
            ("http://agents.internal", true),
            ("https://app.example", true),
            ("https://app.example:1", false),
            ("https://evil.example", false),
            ("http://localhost.evil.example", false),
            ("null", false),
            ("file://", false),
            ("chrome-extension://localhost", false),
        ] {
            let head = head("/", &[("origin", origin)]);
            assert_eq!(hosts.check_origin(&head).is_ok(), want, "{origin}");
        }
        assert!(hosts.check_origin(&head("/", &[])).is_ok(), "no page, no origin");
    }
}
