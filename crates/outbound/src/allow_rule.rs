//! Exceptions: what may be called although it is not on the public internet.

use std::net::IpAddr;
use std::str::FromStr;

use crate::address_class::AddressClass;
use crate::host::Host;
use crate::network::Network;

/// What may be called wherever it is, also over plain HTTP: one port of one host, or a network.
///
/// A host is allowed by the name or address it is called by. Metadata services are never allowed:
/// not by themselves, which is an error, and not as part of a network.
///
/// ```
/// # use latimer_outbound::AllowRule;
/// for text in ["hooks.internal:8443", "127.0.0.1:9000", "[::1]:9000", "10.1.0.0/16", "10.0.0.7"] {
///     text.parse::<AllowRule>()?;
/// }
/// assert!("hooks.internal".parse::<AllowRule>().is_err(), "no port");
/// # Ok::<(), latimer_outbound::InvalidAllowRule>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowRule(AllowRuleKind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum AllowRuleKind {
    HostPort { host: Host, port: u16 },
    Network(Network),
}

/// A text that allows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAllowRule {
    /// It is neither a host with its port nor a network.
    #[error(
        "is not a target: write a host and port, as hooks.internal:8443, or a network, as 10.0.0.0/8"
    )]
    Malformed,
    /// It is where clouds keep the secrets of their machines.
    #[error("is a metadata address, and those are never allowed")]
    Metadata,
}

impl AllowRule {
    /// Whether it allows to call `port` of `host` at `address`.
    pub(crate) fn allows(&self, host: &Host, port: u16, address: IpAddr) -> bool {
        match &self.0 {
            AllowRuleKind::HostPort { .. } => self.matches_host(host, port),
            AllowRuleKind::Network(network) => network.contains(address),
        }
    }

    /// Whether it is this `port` of this `host`.
    pub(crate) fn matches_host(&self, host: &Host, port: u16) -> bool {
        match &self.0 {
            AllowRuleKind::HostPort { host: own, port: own_port } => {
                own == host && *own_port == port
            }
            AllowRuleKind::Network(_) => false,
        }
    }
}

impl From<Network> for AllowRule {
    fn from(network: Network) -> Self {
        Self(AllowRuleKind::Network(network))
    }
}

impl FromStr for AllowRule {
    type Err = InvalidAllowRule;

    fn from_str(text: &str) -> Result<Self, InvalidAllowRule> {
        if let Ok(network) = text.parse::<Network>() {
            return match AddressClass::classify(network.address()) {
                AddressClass::Metadata => Err(InvalidAllowRule::Metadata),
                AddressClass::Loopback | AddressClass::Special | AddressClass::Global => {
                    Ok(network.into())
                }
            };
        }
        let (host, port) = text.rsplit_once(':').ok_or(InvalidAllowRule::Malformed)?;
        let host = Host::parse(host).ok_or(InvalidAllowRule::Malformed)?;
        let port = port.parse().map_err(|_| InvalidAllowRule::Malformed)?;
        if host.is_metadata() {
            return Err(InvalidAllowRule::Metadata);
        }
        Ok(Self(AllowRuleKind::HostPort { host, port }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_port_and_network_rules_parse() {
        for (text, want) in [
            ("hooks.internal:8443", None),
            ("127.1:80", None),
            ("[::1]:80", None),
            ("10.0.0.0/8", None),
            ("0.0.0.0/0", None),
            ("::1", None),
            ("", Some(InvalidAllowRule::Malformed)),
            ("hooks.internal", Some(InvalidAllowRule::Malformed)),
            ("hooks.internal:https", Some(InvalidAllowRule::Malformed)),
            ("https://hooks.internal:8443", Some(InvalidAllowRule::Malformed)),
            ("user@host:1", Some(InvalidAllowRule::Malformed)),
            ("10.0.0.0/33", Some(InvalidAllowRule::Malformed)),
            ("169.254.169.254:80", Some(InvalidAllowRule::Metadata)),
            ("169.254.169.254", Some(InvalidAllowRule::Metadata)),
            ("[::ffff:169.254.169.254]:80", Some(InvalidAllowRule::Metadata)),
            ("Metadata.Google.Internal.:80", Some(InvalidAllowRule::Metadata)),
        ] {
            assert_eq!(text.parse::<AllowRule>().err(), want, "{text}");
        }
    }
}
