//! Exceptions to the address policy.

use std::net::IpAddr;
use std::str::FromStr;

use crate::address_class::AddressClass;
use crate::host::Host;
use crate::network::Network;

/// Exception that allows one port of one host, or a network, also over plain HTTP.
///
/// A host rule matches the name or address in the URL, whatever the name resolves to. Cloud
/// metadata services are never allowed: a rule for one is an error, and a network rule excludes
/// them.
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

/// Error of parsing an [`AllowRule`]. Displays as a predicate of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAllowRule {
    /// The input is neither a host with a port nor a network.
    #[error(
        "is not a target: expected a host and port such as hooks.internal:8443, or a network such as 10.0.0.0/8"
    )]
    Malformed,
    /// The input is a cloud metadata service.
    #[error("is a cloud metadata address, which is never allowed")]
    Metadata,
}

impl AllowRule {
    /// Returns whether the rule allows connecting to `address` for `host` and `port`.
    pub(crate) fn allows(&self, host: &Host, port: u16, address: IpAddr) -> bool {
        match &self.0 {
            AllowRuleKind::HostPort { .. } => self.matches_host(host, port),
            AllowRuleKind::Network(network) => network.contains(address),
        }
    }

    /// Returns whether this is a rule for exactly `host` and `port`.
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
