//! Normalized hosts.

use std::fmt;
use std::net::IpAddr;

use crate::address_class::{AddressClass, is_metadata_host};

/// Normalized IP address or name of a host. Every notation that browsers accept as an IPv4 address
/// is parsed as one, IPv4-mapped IPv6 addresses become IPv4, and names are lower case without a
/// trailing dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    Address(IpAddr),
    Name(String),
}

impl Host {
    /// Parses the host part of a URL; `None` if it is not a valid host.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        url::Host::parse(text).ok().and_then(Self::new)
    }

    pub(crate) fn new<S: AsRef<str>>(host: url::Host<S>) -> Option<Self> {
        match host {
            url::Host::Ipv4(address) => Some(Self::Address(address.into())),
            url::Host::Ipv6(address) => Some(Self::Address(IpAddr::from(address).to_canonical())),
            url::Host::Domain(name) => {
                let name = name.as_ref().trim_end_matches('.');
                (!name.is_empty()).then(|| Self::Name(name.to_owned()))
            }
        }
    }

    /// Returns whether the address or name itself identifies a cloud metadata service.
    pub(crate) fn is_metadata(&self) -> bool {
        match self {
            Self::Address(address) => AddressClass::classify(*address) == AddressClass::Metadata,
            Self::Name(name) => is_metadata_host(name),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(IpAddr::V6(address)) => write!(out, "[{address}]"),
            Self::Address(address) => write!(out, "{address}"),
            Self::Name(name) => out.write_str(name),
        }
    }
}
