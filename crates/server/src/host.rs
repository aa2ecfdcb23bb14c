//! Host names and origins that a loopback server accepts.
//!
//! A web page can let its own host name resolve to 127.0.0.1 and then call a server there (DNS
//! rebinding). Browsers send the host name in `Host` or `Origin`, so a loopback server rejects
//! names that are not its own. Servers that other machines can reach have host names that are not
//! configured; authentication or a proxy protects them.

use std::net::SocketAddr;

use http::header::{HOST, ORIGIN};
use http::request::Parts;
use latimer_outbound::{is_loopback_host, is_loopback_ip};
use latimer_protocol::{Error, ErrorKind};

use crate::address::BaseUrl;
use crate::settings::Settings;

/// Setting that allows every host or origin.
const WILDCARD: &str = "*";

/// Host names and origins that a loopback server accepts.
#[derive(Clone, Debug)]
pub(crate) struct HostAllowList {
    /// Values of `Host` that need no parsing.
    common_host_values: [String; 2],
    /// Accepted besides loopback names.
    allowed_hosts: Vec<String>,
    allowed_origins: Vec<String>,
}

impl HostAllowList {
    /// Creates the list for a server. `None` if it accepts all names: it does not listen on
    /// loopback, or the settings allow all hosts.
    pub(crate) fn new(
        settings: &Settings,
        public_url: Option<&BaseUrl>,
        listen_address: Option<SocketAddr>,
    ) -> Option<Self> {
        let listen_address = listen_address.filter(|it| is_loopback_ip(it.ip()))?;
        let mut allowed_hosts = settings.allowed_hosts.clone();
        if allowed_hosts.iter().any(|it| it == WILDCARD) {
            return None;
        }
        allowed_hosts.extend(public_url.and_then(|it| host_of(it.authority())).map(str::to_owned));
        let common_host_values =
            [listen_address.to_string(), format!("localhost:{}", listen_address.port())];
        Some(Self {
            common_host_values,
            allowed_hosts,
            allowed_origins: settings.allowed_origins.clone(),
        })
    }

    /// Checks the host names of a request: those of the URI and of every `Host` header.
    ///
    /// # Errors
    /// Returns [`ErrorKind::PermissionDenied`] if one of them is not accepted.
    pub(crate) fn check_host(&self, head: &Parts) -> Result<(), Error> {
        let authority = head.uri.authority().map(|it| it.as_str().as_bytes());
        let hosts = head.headers.get_all(HOST).into_iter().map(|it| it.as_bytes());
        let is_uncommon =
            |value: &&[u8]| self.common_host_values.iter().all(|it| it.as_bytes() != *value);
        for value in authority.into_iter().chain(hosts).filter(is_uncommon) {
            let host = std::str::from_utf8(value).ok().and_then(host_of);
            let Some(host) = host else {
                return Err(permission_denied("the Host header is not a valid host"));
            };
            if !self.allows(host) {
                let message =
                    format!("the host {host} is not allowed; to allow it, add it to allowed_hosts");
                return Err(permission_denied(message));
            }
        }
        Ok(())
    }

    /// Checks the origins of a request. Requests without one are accepted.
    ///
    /// # Errors
    /// Returns [`ErrorKind::PermissionDenied`] if an origin is not accepted.
    pub(crate) fn check_origin(&self, head: &Parts) -> Result<(), Error> {
        for origin in head.headers.get_all(ORIGIN) {
            let allowed = self
                .allowed_origins
                .iter()
                .any(|it| it == WILDCARD || it.as_bytes() == origin.as_bytes());
            let host = origin.to_str().ok().and_then(origin_host);
            if !allowed && !host.is_some_and(|it| self.allows(it)) {
                let message = "this origin is not allowed; to allow it, add it to allowed_origins";
                return Err(permission_denied(message));
            }
        }
        Ok(())
    }

    fn allows(&self, host: &str) -> bool {
        is_loopback_host(host) || self.allowed_hosts.iter().any(|it| it.eq_ignore_ascii_case(host))
    }
}

fn permission_denied(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::PermissionDenied, message)
}

/// Returns whether a string is a host without a port.
pub(crate) fn is_host(text: &str) -> bool {
    host_of(text).is_some_and(|it| it.len() == text.len())
}

/// Returns the host of a host with an optional port. `None` if the string is malformed.
fn host_of(text: &str) -> Option<&str> {
    let (host, port) = match text.rfind(':') {
        Some(at) if !text.ends_with(']') => (&text[..at], &text[at + 1..]),
        _ => (text, ""),
    };
    let (inner, is_ip_literal) = match host.strip_prefix('[') {
        Some(rest) => (rest.strip_suffix(']')?, true),
        None => (host, false),
    };
    let is_valid_byte = |byte: u8| match is_ip_literal {
        true => byte.is_ascii_hexdigit() || b":.".contains(&byte),
        false => byte.is_ascii_alphanumeric() || b".-_".contains(&byte),
    };
    let is_valid = !inner.is_empty() && inner.len() <= 253 && inner.bytes().all(is_valid_byte);
    (is_valid && port.bytes().all(|it| it.is_ascii_digit())).then_some(host)
}

/// Returns the host of an HTTP origin.
fn origin_host(origin: &str) -> Option<&str> {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))?;
    host_of(authority)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn allow_list(listen_address: &str) -> Option<HostAllowList> {
        let settings = Settings {
            allowed_hosts: vec!["Agents.Internal".into()],
            allowed_origins: vec!["https://app.example".into()],
            ..Settings::default()
        };
        let public_url = "https://public.example:8443/x".parse().unwrap();
        HostAllowList::new(&settings, Some(&public_url), Some(listen_address.parse().unwrap()))
    }

    fn head(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn host_allow_list_applies_only_to_loopback_listeners() {
        for (listen_address, want) in [
            ("127.0.0.1:80", true),
            ("127.1.2.3:80", true),
            ("[::1]:80", true),
            ("0.0.0.0:80", false),
            ("192.0.2.1:80", false),
        ] {
            assert_eq!(allow_list(listen_address).is_some(), want, "{listen_address}");
        }
        let none = HostAllowList::new(&Settings::default(), None, None);
        assert!(none.is_none(), "without a listen address all hosts are accepted");
        let any = Settings { allowed_hosts: vec!["*".into()], ..Settings::default() };
        let listen_address = Some("127.0.0.1:80".parse().unwrap());
        assert!(HostAllowList::new(&any, None, listen_address).is_none());
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
    fn loopback_server_accepts_only_its_own_hosts() {
        let allow_list = allow_list("127.0.0.1:80").unwrap();
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
            assert_eq!(
                allow_list.check_host(&head("/", &[("host", host)])).is_ok(),
                want,
                "{host}"
            );
        }
        assert!(allow_list.check_host(&head("/", &[])).is_ok(), "browsers always send a host");
        // HTTP/2 has the host in the URI. Every host of a request must be accepted.
        for (uri, headers, want) in [
            ("http://localhost/", &[][..], true),
            ("http://evil.example/", &[], false),
            ("http://localhost/", &[("host", "evil.example")], false),
            ("http://evil.example/", &[("host", "localhost")], false),
            ("/", &[("host", "localhost"), ("host", "evil.example")], false),
        ] {
            assert_eq!(
                allow_list.check_host(&head(uri, headers)).is_ok(),
                want,
                "{uri} {headers:?}"
            );
        }
    }

    #[test]
    fn loopback_server_accepts_only_local_or_allowed_origins() {
        let allow_list = allow_list("127.0.0.1:80").unwrap();
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
            assert_eq!(allow_list.check_origin(&head).is_ok(), want, "{origin}");
        }
        assert!(
            allow_list.check_origin(&head("/", &[])).is_ok(),
            "requests without an origin are accepted"
        );
    }
}
