//! Who may use an agent.

use latimer_protocol::{Caller, Error, ErrorKind};

use super::{AUTH_ERROR_KEY, INSUFFICIENT_SCOPE};

/// The fact of an error that names scopes.
pub(crate) const SCOPE_KEY: &str = "scope";

/// Who may use an agent: everybody whom the server lets in, unless something is listed.
///
/// ```
/// # use latimer_server::Access;
/// # use latimer_protocol::Caller;
/// let access = Access { principals: vec!["key:ci".into()], scopes: vec!["deploy".into()] };
/// assert!(access.check(&Caller::new("key:ci").with_scopes(["deploy"])).is_ok());
/// assert!(access.check(&Caller::new("key:ci")).is_err());
/// assert!(access.check(&Caller::new("key:ops").with_scopes(["deploy"])).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Callers by their names. It must be one of these, if there are any.
    pub principals: Vec<String>,
    /// Scopes. It must have all of these.
    pub scopes: Vec<String>,
}

impl Access {
    /// Whether everybody may.
    #[must_use]
    pub fn is_unrestricted(&self) -> bool {
        self.principals.is_empty() && self.scopes.is_empty()
    }

    /// Whether a caller may.
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] when it may not, and [`ErrorKind::Unauthenticated`] when it
    /// did not say who it is.
    pub fn check(&self, caller: &Caller) -> Result<(), Error> {
        if self.is_unrestricted() {
            return Ok(());
        }
        if caller.is_anonymous() {
            return Err(ErrorKind::Unauthenticated.into());
        }
        let is_caller = |it: &String| **it == **caller.id();
        if !self.principals.is_empty() && !self.principals.iter().any(is_caller) {
            return Err(Error::new(ErrorKind::PermissionDenied, "you may not use this agent"));
        }
        require_scopes(&self.scopes, caller)
    }
}

/// Whether a caller has all of these scopes.
pub(super) fn require_scopes(scopes: &[String], caller: &Caller) -> Result<(), Error> {
    if scopes.iter().all(|it| caller.scopes().contains(it)) {
        return Ok(());
    }
    let scopes = scopes.join(" ");
    let message = format!("that needs the scope {scopes}");
    let error = Error::new(ErrorKind::PermissionDenied, message);
    Err(error.with_metadata(AUTH_ERROR_KEY, INSUFFICIENT_SCOPE).with_metadata(SCOPE_KEY, scopes))
}
