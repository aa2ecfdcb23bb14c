//! Exceptions: what may be called although it is not on the public internet.

use std::net::IpAddr;
use std::str::FromStr;

use crate::host::Host;
use crate::network::Network;
use crate::reach::Reach;

/// What may be called wherever it is, also over plain HTTP: one port of one host, or a network.
///
/// A host is allowed by the name or address it is called by. Metadata services are never allowed:
/// not by themselves, which is an error, and not as part of a network.
///
/// ```
/// # use latimer_outbound::Allowed;
/// for text in ["hooks.internal:8443", "127.0.0.1:9000", "[::1]:9000", "10.1.0.0/16", "10.0.0.7"] {
///     text.parse::<Allowed>()?;
/// }
/// assert!("hooks.internal".parse::<Allowed>().is_err(), "no port");
/// # Ok::<(), latimer_outbound::InvalidAllowed>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Origin { host: Host, port: u16 },
    Network(Network),
}

/// A text that allows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAllowed {
    /// It is neither a host with its port nor a network.
    #[error(
        "is not a target: write a host and port, as hooks.internal:8443, or a network, as 10.0.0.0/8"
    )]
    Unreadable,
    /// It is where clouds keep the secrets of their machines.
    #[error("is a metadata address, and those are never allowed")]
    Metadata,
}

impl Allowed {
    /// Whether it allows to call `port` of `host` at `address`.
    pub(crate) fn allows(&self, host: &Host, port: u16, address: IpAddr) -> bool {
        match &self.0 {
            Kind::Origin { .. } => self.names(host, port),
            Kind::Network(network) => network.contains(address),
        }
    }

    /// Whether it is this `port` of this `host`.
    pub(crate) fn names(&self, host: &Host, port: u16) -> bool {
        match &self.0 {
            Kind::Origin { host: own, port: own_port } => own == host && *own_port == port,
            Kind::Network(_) => false,
        }
    }
}

impl From<Network> for Allowed {
    fn from(network: Network) -> Self {
        Self(Kind::Network(network))
    }
}

impl FromStr for Allowed {
    type Err = InvalidAllowed;

    fn from_str(text: &str) -> Result<Self, InvalidAllowed> {
        if let Ok(network) = text.parse::<Network>() {
            return match Reach::of(network.address()) {
                Reach::Metadata => Err(InvalidAllowed::Metadata),
                Reach::Loopback | Reach::Special | Reach::Global => Ok(network.into()),
            };
        }
        let (host, port) = text.rsplit_once(':').ok_or(InvalidAllowed::Unreadable)?;
        let host = Host::parse(host).ok_or(InvalidAllowed::Unreadable)?;
        let port = port.parse().map_err(|_| InvalidAllowed::Unreadable)?;
        if host.is_metadata() {
            return Err(InvalidAllowed::Metadata);
        }
        Ok(Self(Kind::Origin { host, port }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_of_a_host_or_a_network_is_allowed() {
        for (text, want) in [
            ("hooks.internal:8443", None),
            ("127.1:80", None),
            ("[::1]:80", None),
            ("10.0.0.0/8", None),
            ("0.0.0.0/0", None),
            ("::1", None),
            ("", Some(InvalidAllowed::Unreadable)),
            ("hooks.internal", Some(InvalidAllowed::Unreadable)),
            ("hooks.internal:https", Some(InvalidAllowed::Unreadable)),
            ("https://hooks.internal:8443", Some(InvalidAllowed::Unreadable)),
            ("user@host:1", Some(InvalidAllowed::Unreadable)),
            ("10.0.0.0/33", Some(InvalidAllowed::Unreadable)),
            ("169.254.169.254:80", Some(InvalidAllowed::Metadata)),
            ("169.254.169.254", Some(InvalidAllowed::Metadata)),
            ("[::ffff:169.254.169.254]:80", Some(InvalidAllowed::Metadata)),
            ("Metadata.Google.Internal.:80", Some(InvalidAllowed::Metadata)),
        ] {
            assert_eq!(text.parse::<Allowed>().err(), want, "{text}");
        }
    }
}
