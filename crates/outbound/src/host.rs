//! Hosts, in one spelling each.

use std::fmt;
use std::net::IpAddr;

use crate::address_class::{AddressClass, is_metadata_host};

/// A host by its address or its name, in one spelling each: whatever a browser takes for an address
/// is one, an IPv4 address is no IPv6 address, and a name is lower case without a dot at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    Address(IpAddr),
    Name(String),
}

impl Host {
    /// Reads what stands between `://` and the port of a URL.
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

    /// Whether it is a metadata service by what it is called.
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
