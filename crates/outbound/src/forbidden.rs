//! Why an address may not be called.

/// Why an address may not be called, in words for whoever named it.
///
/// They do not say what a name resolves to: that is nobody's business outside the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Forbidden {
    /// It cannot be read, or names no host.
    #[error("names no host, or cannot be read")]
    Url,
    /// It is neither HTTPS nor one of the places that plain HTTP is allowed to.
    #[error("must begin with https://")]
    Scheme,
    /// It carries a user name or a password, which would end up in logs.
    #[error("must not contain a user name or password")]
    UserInfo,
    /// It leads to a place that is not on the public internet and not on the list.
    #[error("leads to an address that is not allowed")]
    Address,
}
