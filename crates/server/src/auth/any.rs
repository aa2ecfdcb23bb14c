//! Combination of several authentication methods.

use std::sync::Arc;

use async_trait::async_trait;
use latimer_protocol::Caller;

use super::{AuthError, Authenticate, CredentialSource, PresentedCredentials, SecurityDeclaration};

/// Authentication methods that are tried in order. The first method that accepts a request decides
/// its caller.
///
/// A request may present several credentials, each of another
/// [source](Authenticate::credential_source). Each of them must be accepted by a method, so a wrong
/// key rejects a request with a valid certificate. A credential that one of several methods accepts
/// is valid: [`AuthError::Missing`] and [`AuthError::Invalid`] continue with the next method. Every
/// other error rejects the request. Malformed credentials therefore never reach a second method,
/// which could interpret them differently. If no method accepts the request, the last
/// [`AuthError::Invalid`] is returned.
///
/// ```
/// use http::HeaderMap;
/// use latimer_protocol::{Caller, Secret};
/// use latimer_server::{
///     AnyOf, ApiKeys, AuthError, Authenticate, CredentialSource, PresentedCredentials,
/// };
///
/// /// Authenticates callers by a header that a trusted proxy sets.
/// #[derive(Debug)]
/// struct ProxyAuth;
///
/// #[async_trait::async_trait]
/// impl Authenticate for ProxyAuth {
///     async fn authenticate(
///         &self,
///         presented: PresentedCredentials<'_>,
///     ) -> Result<Caller, AuthError> {
///         let user = presented.headers.get("x-user").ok_or(AuthError::Missing)?;
///         let user = user.to_str().map_err(|_| AuthError::Malformed("invalid user".into()))?;
///         Ok(Caller::new(format!("proxy:{user}")))
///     }
///
///     fn credential_source(&self) -> CredentialSource {
///         CredentialSource::Other("x-user")
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let methods = AnyOf::default()
///     .with(ApiKeys::default().with_operator_key(&Secret::new("s3cret")))
///     .with(ProxyAuth);
///
/// let mut headers = HeaderMap::new();
/// headers.insert("x-user", "alice".parse()?);
/// let caller = methods.authenticate(PresentedCredentials::new(&headers)).await?;
/// assert_eq!(&**caller.id(), "proxy:alice");
///
/// headers.insert("x-api-key", "s3cret".parse()?);
/// let caller = methods.authenticate(PresentedCredentials::new(&headers)).await?;
/// assert_eq!(&**caller.id(), "api-key");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct AnyOf(Vec<Arc<dyn Authenticate>>);

impl AnyOf {
    /// Adds a method, which is tried last.
    #[must_use]
    pub fn with(mut self, method: impl Authenticate) -> Self {
        self.0.push(Arc::new(method));
        self
    }

    /// Returns whether there are no methods; every request is then rejected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[async_trait]
impl Authenticate for AnyOf {
    async fn authenticate(&self, presented: PresentedCredentials<'_>) -> Result<Caller, AuthError> {
        let mut caller = None;
        let mut accepted: Vec<CredentialSource> = Vec::new();
        let mut rejected: Vec<(CredentialSource, AuthError)> = Vec::new();
        for method in &self.0 {
            let source = method.credential_source();
            if accepted.contains(&source) {
                continue;
            }
            match method.authenticate(presented).await {
                Ok(identified) => {
                    caller.get_or_insert(identified);
                    accepted.push(source);
                }
                Err(AuthError::Missing) => {}
                // A later method may accept the same credential.
                Err(error @ AuthError::Invalid(_)) => rejected.push((source, error)),
                Err(
                    error @ (AuthError::Malformed(_)
                    | AuthError::Scope(_)
                    | AuthError::Forbidden(_)
                    | AuthError::Unavailable(_)),
                ) => return Err(error),
            }
        }
        rejected.retain(|(source, _)| !accepted.contains(source));
        match (rejected.pop(), caller) {
            (Some((_, error)), _) => Err(error),
            (None, Some(caller)) => Ok(caller),
            (None, None) => Err(AuthError::Missing),
        }
    }

    fn challenge(&self) -> &str {
        self.0.first().map_or("Bearer", |it| it.challenge())
    }

    fn security(&self) -> SecurityDeclaration {
        let mut all = SecurityDeclaration::default();
        for SecurityDeclaration { schemes, requirements } in self.0.iter().map(|it| it.security()) {
            all.schemes.extend(schemes);
            all.requirements.extend(requirements);
        }
        all
    }
}
