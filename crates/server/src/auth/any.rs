//! Several ways to know callers.

use std::sync::Arc;

use async_trait::async_trait;
use latimer_protocol::Caller;

use super::{AuthError, Authenticate, PresentedCredentials, SecurityDeclaration};

/// Several ways to know callers, tried one after the other: the first that knows a caller lets it
/// in. What nobody can read ends the search, so that no two readers see two things in it.
#[derive(Clone, Debug, Default)]
pub struct AnyOf(Vec<Arc<dyn Authenticate>>);

impl AnyOf {
    /// The same ways, and one more.
    #[must_use]
    pub fn with(mut self, method: impl Authenticate) -> Self {
        self.0.push(Arc::new(method));
        self
    }

    /// Whether there is none, which lets nobody in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[async_trait]
impl Authenticate for AnyOf {
    async fn authenticate(&self, presented: PresentedCredentials<'_>) -> Result<Caller, AuthError> {
        let mut rejection = AuthError::Missing;
        for method in &self.0 {
            match method.authenticate(presented).await {
                Ok(caller) => return Ok(caller),
                Err(AuthError::Missing) => {}
                // A later method may accept other credentials of the same request.
                Err(error @ AuthError::Invalid(_)) => rejection = error,
                Err(
                    error @ (AuthError::Malformed(_)
                    | AuthError::Scope(_)
                    | AuthError::Forbidden(_)
                    | AuthError::Unavailable(_)),
                ) => return Err(error),
            }
        }
        Err(rejection)
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
