//! Who may use an agent.

use latimer_protocol::Caller;

use super::AuthError;

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
