//! Error of the guard.

/// Reason why the guard rejects a URL. Displays as a predicate of the URL, safe for untrusted
/// clients: it does not reveal what a host name resolves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Forbidden {
    /// The URL is malformed or has no host.
    #[error("is malformed or has no host")]
    Url,
    /// The scheme is not HTTPS, and plain HTTP is not allowed for this target.
    #[error("must begin with https://")]
    Scheme,
    /// The URL contains a user name or password, which would be written to logs.
    #[error("must not contain a user name or password")]
    UserInfo,
    /// The port is 0, to which no connection is possible.
    #[error("must not have the port 0")]
    Port,
    /// The address is not on the public internet and not on the allow list.
    #[error("points to an address that is not allowed")]
    Address,
}
