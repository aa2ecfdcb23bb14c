//! The address policy.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use crate::address_class::AddressClass;
use crate::allow_rule::AllowRule;
use crate::forbidden::Forbidden;
use crate::host::Host;
use crate::loopback::is_loopback_host;
use crate::resolve::{Resolve, SystemResolver};
use crate::target::{Scheme, Target};

/// Exceptions of a [`Guard`] in addition to HTTPS on the public internet, which is always allowed.
///
/// ```
/// # use latimer_outbound::Rules;
/// let rules = Rules { allow: vec!["10.1.0.0/16".parse()?], allow_loopback: true };
/// assert_eq!(Rules::default(), Rules { allow: Vec::new(), allow_loopback: false });
/// # let _ = rules;
/// # Ok::<(), latimer_outbound::InvalidAllowRule>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Additional targets, which are also allowed over plain HTTP.
    pub allow: Vec<AllowRule>,
    /// Whether loopback addresses are allowed, also over plain HTTP.
    pub allow_loopback: bool,
}

/// Policy that decides which network addresses may be connected to. Cheap to clone.
///
/// A URL is checked twice: with [`check`](Self::check) when a client submits it, so that errors are
/// reported at once, and by the connector of the HTTP client when the socket is opened, because the
/// host name may resolve to another address by then.
///
/// ```
/// # use latimer_outbound::{Forbidden, Guard, Rules};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Forbidden> {
/// let guard = Guard::new(Rules::default());
/// assert_eq!(guard.check("https://10.0.0.7/").await, Err(Forbidden::Address));
/// assert_eq!(guard.check("http://93.184.216.34/").await, Err(Forbidden::Scheme));
/// guard.check("https://93.184.216.34/").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Guard {
    rules: Arc<Rules>,
    resolver: Arc<dyn Resolve>,
}

impl Guard {
    /// Creates a guard that uses the resolver of the operating system.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self::with_resolver(rules, Arc::new(SystemResolver::new()))
    }

    /// Creates a guard that uses the given resolver.
    #[must_use]
    pub fn with_resolver(rules: Rules, resolver: Arc<dyn Resolve>) -> Self {
        Self { rules: Arc::new(rules), resolver }
    }

    /// Parses a URL and checks it, including the addresses that its host name resolves to. Waits
    /// for the lookup. A name that does not resolve is accepted over HTTPS or if a host rule allows
    /// it, because it may resolve later.
    ///
    /// # Errors
    /// [`Forbidden`] when the URL is malformed or not allowed.
    pub async fn check(&self, url: &str) -> Result<Target, Forbidden> {
        let target = self.check_without_dns(url)?;
        match self.resolve_allowed(&target).await {
            Err(ResolveError::Forbidden(forbidden)) => Err(forbidden),
            // Plain HTTP requires an allowed target, and an unresolved name matches no network
            // rule.
            Err(ResolveError::Unresolved(_))
                if target.scheme() == Scheme::Http && !self.allows_by_name(&target) =>
            {
                Err(Forbidden::Scheme)
            }
            Err(ResolveError::Unresolved(_)) | Ok(_) => Ok(target),
        }
    }

    /// Parses a URL and checks it without resolving its host name: its form, metadata names, and
    /// the host if it is an IP address. `localhost` and the names below it are loopback addresses
    /// (RFC 6761), whether they resolve or not.
    ///
    /// # Errors
    /// [`Forbidden`] when the URL is malformed or not allowed.
    pub fn check_without_dns(&self, url: &str) -> Result<Target, Forbidden> {
        let target = Target::parse(url)?;
        if target.host().is_metadata() {
            return Err(Forbidden::Address);
        }
        match target.host() {
            Host::Address(address) => self.check_address(&target, *address)?,
            Host::Name(name) if is_loopback_host(name) => {
                let [v4, v6] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
                self.check_address(&target, v4)
                    .or_else(|_| self.check_address(&target, v6))
                    .map_err(|forbidden| name_error(&target, forbidden))?;
            }
            Host::Name(_) => {}
        }
        Ok(target)
    }

    /// Resolves a target. Returns all its addresses, or an error if one of them is not allowed.
    pub(crate) async fn resolve_allowed(
        &self,
        target: &Target,
    ) -> Result<Vec<SocketAddr>, ResolveError> {
        let resolved = match target.host() {
            Host::Address(address) => vec![*address],
            Host::Name(name) => self.resolver.resolve(name).await?,
        };
        if resolved.is_empty() {
            return Err(std::io::Error::from(std::io::ErrorKind::NotFound).into());
        }
        let check = |address: IpAddr| {
            let address = address.to_canonical();
            self.check_address(target, address)?;
            Ok(SocketAddr::new(address, target.port()))
        };
        let addresses: Result<_, Forbidden> = resolved.into_iter().map(check).collect();
        Ok(addresses.map_err(|forbidden| name_error(target, forbidden))?)
    }

    /// Returns whether a host rule allows the target, whatever its name resolves to.
    fn allows_by_name(&self, target: &Target) -> bool {
        self.rules.allow.iter().any(|it| it.matches_host(target.host(), target.port()))
    }

    fn check_address(&self, target: &Target, address: IpAddr) -> Result<(), Forbidden> {
        let class = AddressClass::classify(address);
        let is_allowed = |it: &AllowRule| it.allows(target.host(), target.port(), address);
        match class {
            AddressClass::Metadata => Err(Forbidden::Address),
            AddressClass::Loopback if self.rules.allow_loopback => Ok(()),
            _ if self.rules.allow.iter().any(is_allowed) => Ok(()),
            AddressClass::Loopback | AddressClass::Special => Err(Forbidden::Address),
            AddressClass::Global if target.scheme() == Scheme::Http => Err(Forbidden::Scheme),
            AddressClass::Global => Ok(()),
        }
    }
}

/// Returns the error for a forbidden address of a target. Over plain HTTP it is the same for every
/// address of a name, so that it does not reveal what the name resolves to.
fn name_error(target: &Target, forbidden: Forbidden) -> Forbidden {
    match (target.scheme(), target.host()) {
        (Scheme::Http, Host::Name(_)) => Forbidden::Scheme,
        (Scheme::Http, Host::Address(_)) | (Scheme::Https, _) => forbidden,
    }
}

/// Error of resolving a target.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResolveError {
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    #[error("the host name does not resolve")]
    Unresolved(#[from] std::io::Error),
}
