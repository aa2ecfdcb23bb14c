//! IP networks in CIDR notation.

use std::net::IpAddr;
#[cfg(feature = "guard")]
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network such as `10.0.0.0/8`, or a single IP address.
///
/// ```
/// # use latimer_outbound::Network;
/// let network: Network = "10.0.0.0/8".parse()?;
/// assert!(network.contains("10.1.2.3".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix_len: u32,
}

#[cfg(feature = "guard")]
impl Network {
    pub(crate) const fn v4([a, b, c, d]: [u8; 4], prefix_len: u32) -> Self {
        Self { address: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), prefix_len }
    }

    pub(crate) const fn v6([a, b, c, d, e, f, g, h]: [u16; 8], prefix_len: u32) -> Self {
        Self { address: IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)), prefix_len }
    }

    /// Returns the address without the prefix length.
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }
}

impl Network {
    /// Returns whether the network contains an address. IPv4-mapped IPv6 addresses count as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let (address, width) = address_bits(address.to_canonical());
        let (own, own_width) = address_bits(self.address);
        let shift = own_width - self.prefix_len;
        width == own_width && (shift == 128 || (address ^ own) >> shift == 0)
    }
}

/// Returns an address as an integer, and its width in bits.
fn address_bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(it) => (u32::from(it).into(), 32),
        IpAddr::V6(it) => (it.into(), 128),
    }
}

/// Error of parsing a [`Network`]. Displays as a predicate of the input: "… is not a network".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a network: expected an IP address or CIDR notation such as 10.0.0.0/8")]
pub struct InvalidNetwork;

impl FromStr for Network {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address = address.parse::<IpAddr>().map_err(|_| InvalidNetwork)?.to_canonical();
        let (_, width) = address_bits(address);
        let prefix_len = bits.map_or(Ok(width), str::parse).map_err(|_| InvalidNetwork)?;
        if prefix_len > width { Err(InvalidNetwork) } else { Ok(Self { address, prefix_len }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_contains_only_its_addresses() {
        for (network, address, want) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("0.0.0.0/0", "1.2.3.4", true),
            ("0.0.0.0/0", "::2", false),
            ("::/0", "::2", true),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("fd00::/8", "fd12::1", true),
        ] {
            let parsed: Network = network.parse().unwrap();
            assert_eq!(parsed.contains(address.parse().unwrap()), want, "{network} {address}");
        }
        for text in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "h", "10.0.0.0/-1"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
