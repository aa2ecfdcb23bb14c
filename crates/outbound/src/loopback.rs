//! Hosts and addresses that mean the local machine.

use std::net::IpAddr;

/// Returns whether an IP address is a loopback address. IPv4-mapped IPv6 addresses count as the IPv4
/// address that they contain.
///
/// ```
/// # use latimer_outbound::is_loopback_ip;
/// assert!(is_loopback_ip("127.0.0.2".parse()?));
/// assert!(is_loopback_ip("::ffff:127.0.0.1".parse()?));
/// assert!(!is_loopback_ip("192.168.0.1".parse()?));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[must_use]
pub fn is_loopback_ip(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Returns whether a host means the local machine, without resolving it: a loopback address, with or
/// without brackets, or `localhost` and the names below it (RFC 6761), in any letter case. The host
/// has no port.
///
/// ```
/// # use latimer_outbound::is_loopback_host;
/// for host in ["localhost", "LOCALHOST.", "agent.localhost", "127.0.0.1", "[::1]", "::1"] {
///     assert!(is_loopback_host(host), "{host}");
/// }
/// for host in ["localhost.example.com", "notlocalhost", "10.0.0.1", ""] {
///     assert!(!is_loopback_host(host), "{host}");
/// }
/// ```
#[must_use]
pub fn is_loopback_host(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let unbracketed = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    match unbracketed.parse() {
        Ok(address) => is_loopback_ip(address),
        Err(_) => host.rsplit('.').next().is_some_and(|it| it.eq_ignore_ascii_case("localhost")),
    }
}
