//! Allow list of an agent.

use latimer_protocol::Caller;

use super::AuthError;

/// Allow list of an agent. An empty list allows every caller that the server admits; a caller must
/// satisfy both lists.
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
    /// Principals of the allowed callers; an empty list allows all principals.
    pub principals: Vec<String>,
    /// Scopes, all of which a caller must have.
    pub scopes: Vec<String>,
}

impl Access {
    /// Returns whether every caller is allowed, anonymous callers included.
    #[must_use]
    pub fn is_unrestricted(&self) -> bool {
        self.principals.is_empty() && self.scopes.is_empty()
    }

    /// Checks whether a caller is allowed.
    ///
    /// # Errors
    /// Returns [`AuthError::Missing`] for an anonymous caller, [`AuthError::Forbidden`] for one that
    /// is not listed and [`AuthError::Scope`] for one that lacks a scope.
    pub fn check(&self, caller: &Caller) -> Result<(), AuthError> {
        if self.is_unrestricted() {
            return Ok(());
        }
        if caller.is_anonymous() {
            return Err(AuthError::Missing);
        }
        let is_caller = |it: &String| **it == **caller.id();
        if !self.principals.is_empty() && !self.principals.iter().any(is_caller) {
            return Err(AuthError::Forbidden("the caller is not allowed to use this agent".into()));
        }
        require_scopes(&self.scopes, caller)
    }
}

/// Checks that a caller has all of these scopes.
pub(super) fn require_scopes(scopes: &[String], caller: &Caller) -> Result<(), AuthError> {
    match scopes.iter().all(|it| caller.scopes().contains(it)) {
        true => Ok(()),
        false => Err(AuthError::Scope(scopes.to_vec())),
    }
}
