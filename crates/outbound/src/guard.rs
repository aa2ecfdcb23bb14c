//! The guard: which addresses may be called.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::address_class::AddressClass;
use crate::allow_rule::AllowRule;
use crate::forbidden::Forbidden;
use crate::host::Host;
use crate::resolve::{Resolve, SystemResolver};
use crate::target::{Scheme, Target};

/// Which addresses may be called beside HTTPS on the public internet. Plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Exceptions, which plain HTTP may go to as well.
    pub allow: Vec<AllowRule>,
    /// Whether this machine may be called, also over plain HTTP.
    pub allow_loopback: bool,
}

/// Says which addresses may be called. Cheap to clone.
///
/// An address is looked at twice: when somebody names it, with [`check`](Self::check), so that a
/// mistake is told at once, and again where the socket is opened, because a name may have come to
/// mean something else.
#[derive(Clone, Debug)]
pub struct Guard {
    rules: Arc<Rules>,
    resolver: Arc<dyn Resolve>,
}

impl Guard {
    /// A guard that resolves names as the operating system does.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self::with_resolver(rules, Arc::new(SystemResolver::new()))
    }

    /// A guard that resolves names in another way.
    #[must_use]
    pub fn with_resolver(rules: Rules, resolver: Arc<dyn Resolve>) -> Self {
        Self { rules: Arc::new(rules), resolver }
    }

    /// Looks at all of an address that somebody names: what [`check_without_dns`](Self::check_without_dns) looks at, and
    /// what its name resolves to. A name that does not resolve passes, for now.
    ///
    /// # Errors
    /// [`Forbidden`] when it may not be called.
    pub async fn check(&self, url: &str) -> Result<Target, Forbidden> {
        let target = self.check_without_dns(url)?;
        match self.resolve_allowed(&target).await {
            Err(ResolveError::Forbidden(forbidden)) => Err(forbidden),
            // Plain HTTP goes to known places only, and this is none.
            Err(ResolveError::Unresolved(_))
                if target.scheme() == Scheme::Http && !self.allows_by_name(&target) =>
            {
                Err(Forbidden::Scheme)
            }
            Err(ResolveError::Unresolved(_)) | Ok(_) => Ok(target),
        }
    }

    /// Looks at what an address says by itself: its scheme, and its host if that is an address.
    ///
    /// # Errors
    /// [`Forbidden`] when it may not be called.
    pub fn check_without_dns(&self, url: &str) -> Result<Target, Forbidden> {
        let target = Target::parse(url)?;
        if target.host().is_metadata() {
            return Err(Forbidden::Address);
        }
        match target.host() {
            Host::Address(address) => self.check_address(&target, *address)?,
            Host::Name(_) => {}
        }
        Ok(target)
    }

    /// Where to connect to. All addresses of a name are allowed, or none.
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
        Ok(addresses.map_err(|forbidden| match (target.scheme(), target.host()) {
            // Whatever a name resolves to, the answer is one and the same.
            (Scheme::Http, Host::Name(_)) => Forbidden::Scheme,
            (Scheme::Http, Host::Address(_)) | (Scheme::Https, _) => forbidden,
        })?)
    }

    /// Whether a target is an exception by its name, wherever that leads.
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

/// Why there is no address to connect to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResolveError {
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    #[error("the name does not resolve")]
    Unresolved(#[from] std::io::Error),
}
