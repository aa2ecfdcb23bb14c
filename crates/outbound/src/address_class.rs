//! Classification of IP addresses.
//!
//! The tables follow the IANA special-purpose address registries. An address counts as public only
//! if it is known to be: unassigned address space is not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::loopback::is_loopback_ip;
use crate::network::Network;

/// Class of an IP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressClass {
    /// Cloud metadata services, which expose credentials of the machine. Never allowed.
    Metadata,
    /// The local machine.
    Loopback,
    /// Private, tunnel, multicast, documentation and reserved addresses.
    Special,
    /// The public internet.
    Global,
}

impl AddressClass {
    /// Classifies an address. An IPv6 address that embeds IPv4 addresses is also judged by those.
    pub(crate) fn classify(address: IpAddr) -> Self {
        let address = address.to_canonical();
        let inside = |networks: &[Network]| networks.iter().any(|it| it.contains(address));
        let embedded = match address {
            IpAddr::V4(_) => Vec::new(),
            IpAddr::V6(it) => embedded(it),
        };
        let embeds = |want: Self| embedded.iter().any(|it| Self::classify((*it).into()) == want);
        if inside(&METADATA) || embeds(Self::Metadata) {
            return Self::Metadata;
        }
        if is_loopback_ip(address) {
            return Self::Loopback;
        }
        let is_global = match address {
            IpAddr::V4(_) => !inside(&SPECIAL_V4),
            // DNS64 maps the public IPv4 internet to addresses of this network.
            IpAddr::V6(_) if NAT64.contains(address) => embeds(Self::Global),
            IpAddr::V6(_) => {
                UNICAST.contains(address) && !inside(&SPECIAL_V6) && embedded.is_empty()
            }
        };
        if is_global { Self::Global } else { Self::Special }
    }
}

/// Names of metadata services. They are rejected by name because they may resolve only inside the
/// cloud.
const METADATA_NAMES: [&str; 6] = [
    "instance-data",
    "instance-data.ec2.internal",
    "metadata",
    "metadata.goog",
    "metadata.google.internal",
    "metadata.tencentyun.com",
];

/// Returns whether `name` is the name of a cloud metadata service.
pub(crate) fn is_metadata_host(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    METADATA_NAMES.iter().any(|it| it.eq_ignore_ascii_case(name))
}

/// Addresses of metadata services. Contains all link-local addresses, which clouds use for them.
const METADATA: [Network; 7] = [
    Network::v4([100, 100, 100, 200], 32),
    Network::v4([168, 63, 129, 16], 32),
    Network::v4([169, 254, 0, 0], 16),
    Network::v4([192, 0, 0, 192], 32),
    Network::v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32),
    Network::v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128),
    Network::v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),
];

/// IPv4 networks that are not public.
const SPECIAL_V4: [Network; 14] = [
    Network::v4([0, 0, 0, 0], 8),  // this network, the unspecified address
    Network::v4([10, 0, 0, 0], 8), // private
    Network::v4([100, 64, 0, 0], 10), // shared address space of carrier-grade NAT
    Network::v4([127, 0, 0, 0], 8), // loopback
    Network::v4([172, 16, 0, 0], 12), // private
    Network::v4([192, 0, 0, 0], 24), // protocol assignments
    Network::v4([192, 0, 2, 0], 24), // documentation
    Network::v4([192, 88, 99, 0], 24), // 6to4 relays
    Network::v4([192, 168, 0, 0], 16), // private
    Network::v4([198, 18, 0, 0], 15), // benchmarking
    Network::v4([198, 51, 100, 0], 24), // documentation
    Network::v4([203, 0, 113, 0], 24), // documentation
    Network::v4([224, 0, 0, 0], 4), // multicast
    Network::v4([240, 0, 0, 0], 4), // reserved, broadcast
];

/// Allocated public unicast address space of IPv6.
const UNICAST: Network = Network::v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// IPv6 networks within [`UNICAST`] that are not public.
const SPECIAL_V6: [Network; 4] = [
    Network::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), // protocol assignments
    Network::v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), // documentation
    SIX_TO_FOUR,
    Network::v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), // documentation
];

const SIX_TO_FOUR: Network = Network::v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16);
const TEREDO: Network = Network::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32);
const NAT64: Network = Network::v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);
const NAT64_LOCAL: Network = Network::v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48);
const IPV4_COMPATIBLE: Network = Network::v6([0, 0, 0, 0, 0, 0, 0, 0], 96);
const IPV4_TRANSLATED: Network = Network::v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96);

/// Returns the IPv4 addresses embedded in an IPv6 address, to which a tunnel or translator on the
/// route may forward. IPv4-mapped addresses are excluded; they are converted to IPv4 before.
fn embedded(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let bits = u128::from(address);
    #[expect(clippy::cast_possible_truncation, reason = "an IPv4 address is 32 bits")]
    let at = |bit: u32| Ipv4Addr::from((bits >> (96 - bit)) as u32);
    let inside = |network: Network| network.contains(address.into());
    if inside(SIX_TO_FOUR) {
        vec![at(16)]
    } else if inside(TEREDO) {
        vec![at(32), Ipv4Addr::from(!u32::from(at(96)))]
    } else if inside(NAT64_LOCAL) {
        // The prefix length of a local NAT64 is unknown: the IPv4 address starts at bit 48,
        // skipping bits 64 to 71, or is at the end.
        vec![at(96), Ipv4Addr::from(u32::from(at(48)) & 0xffff_0000 | u32::from(at(72)) >> 16)]
    } else if inside(NAT64)
        || inside(IPV4_COMPATIBLE)
        || inside(IPV4_TRANSLATED)
        || is_isatap(address)
    {
        vec![at(96)]
    } else {
        Vec::new()
    }
}

/// Returns whether the interface identifier of an address is that of ISATAP.
fn is_isatap(address: Ipv6Addr) -> bool {
    let [.., global, kind, _, _] = address.segments();
    global & !0x0200 == 0 && kind == 0x5efe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_classified_by_iana_registry() {
        for (want, addresses) in [
            (
                AddressClass::Global,
                &[
                    "1.1.1.1",
                    "8.8.8.8",
                    "100.63.255.255",
                    "100.128.0.0",
                    "172.15.255.255",
                    "172.32.0.0",
                    "192.0.1.0",
                    "198.20.0.0",
                    "223.255.255.255",
                    "::ffff:8.8.8.8",
                    "64:ff9b::8.8.8.8",
                    "2001:200::1",
                    "2606:4700::1111",
                    "2a00:1450:4001::5efe",
                ][..],
            ),
            (AddressClass::Loopback, &["127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1"]),
            (
                AddressClass::Metadata,
                &[
                    "169.254.169.254",
                    "169.254.170.2",
                    "169.254.0.1",
                    "100.100.100.200",
                    "168.63.129.16",
                    "192.0.0.192",
                    "fd00:ec2::254",
                    "fd00:ec2::23",
                    "fd20:ce::254",
                    "fe80::a9fe:a9fe",
                    "febf::1",
                    "::ffff:169.254.169.254",
                    "::169.254.169.254",
                    "::ffff:0:169.254.169.254",
                    "64:ff9b::169.254.169.254",
                    "64:ff9b:1::169.254.169.254",
                    "64:ff9b:1:a9fe:a9:fe00::",
                    "2002:a9fe:a9fe::1",
                    "2001:0:a9fe:a9fe::1",
                    "2001:0:808:808::5601:5601",
                    "2a00::5efe:169.254.169.254",
                    "2a00::200:5efe:169.254.169.254",
                ],
            ),
            (
                AddressClass::Special,
                &[
                    "0.0.0.0",
                    "0.1.2.3",
                    "10.0.0.1",
                    "100.64.0.1",
                    "100.127.255.255",
                    "172.16.0.1",
                    "172.31.255.255",
                    "192.0.0.1",
                    "192.0.2.1",
                    "192.88.99.1",
                    "192.168.0.1",
                    "198.18.0.1",
                    "198.19.255.255",
                    "198.51.100.1",
                    "203.0.113.1",
                    "224.0.0.1",
                    "239.255.255.250",
                    "240.0.0.1",
                    "255.255.255.255",
                    "::",
                    "::2",
                    "::127.0.0.1",
                    "::8.8.8.8",
                    "::ffff:10.0.0.1",
                    "::ffff:0:127.0.0.1",
                    "64:ff9b::10.0.0.1",
                    "64:ff9b::127.0.0.1",
                    "64:ff9b:1::8.8.8.8",
                    "100::1",
                    "2001::1",
                    "2001:2::1",
                    "2001:10::1",
                    "2001:db8::1",
                    "2002:7f00:1::",
                    "2002:808:808::",
                    "2a00::5efe:10.0.0.1",
                    "2a00::5efe:8.8.8.8",
                    "3fff::1",
                    "4000::1",
                    "5f00::1",
                    "fc00::1",
                    "fd12:3456::1",
                    "fec0::1",
                    "ff02::1",
                ],
            ),
        ] {
            for address in addresses {
                assert_eq!(AddressClass::classify(address.parse().unwrap()), want, "{address}");
            }
        }
    }

    #[test]
    fn metadata_host_names_are_recognized() {
        for (name, want) in [
            ("metadata.google.internal", true),
            ("metadata.google.internal.", true),
            ("metadata", true),
            ("metadata.example.com", false),
        ] {
            assert_eq!(is_metadata_host(name), want, "{name}");
        }
    }
}
