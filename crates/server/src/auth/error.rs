//! Error of authentication and authorization.

use std::borrow::Cow;

use latimer_protocol::{Challenge, Error, ErrorKind};

/// Reason why a caller was not authenticated or not authorized. The texts are sent to the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The request has no credentials of this method. Rejected with 401; on public paths the caller
    /// is anonymous instead.
    #[error("no credentials were sent")]
    Missing,
    /// The credentials cannot be read. Rejected with 401, and [`AnyOf`](super::AnyOf) tries no
    /// further method: two methods could read the same credentials differently.
    #[error("{0}")]
    Malformed(Cow<'static, str>),
    /// The credentials are readable but not valid. Rejected with 401 on public paths too, unless
    /// another method accepts the credentials of the request.
    #[error("{0}")]
    Invalid(Cow<'static, str>),
    /// The caller lacks at least one of these scopes. Rejected with 403.
    #[error("this requires the scope {}", .0.join(" "))]
    Scope(Vec<String>),
    /// The caller is known and not allowed. Rejected with 403.
    #[error("{0}")]
    Forbidden(Cow<'static, str>),
    /// The credentials cannot be verified now, for example because the identity provider is
    /// unreachable. Rejected with 503.
    #[error("{0}")]
    Unavailable(Cow<'static, str>),
}

impl AuthError {
    /// Creates [`AuthError::Malformed`].
    pub(super) fn malformed(message: impl Into<Cow<'static, str>>) -> Self {
        Self::Malformed(message.into())
    }

    /// Creates [`AuthError::Invalid`].
    pub(super) fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::Invalid(message.into())
    }

    /// Returns whether the caller is unauthenticated, rather than authenticated and rejected.
    pub(crate) fn is_unauthenticated(&self) -> bool {
        match self {
            Self::Missing | Self::Malformed(_) | Self::Invalid(_) => true,
            Self::Scope(_) | Self::Forbidden(_) | Self::Unavailable(_) => false,
        }
    }
}

impl From<AuthError> for Error {
    fn from(error: AuthError) -> Self {
        let unauthenticated = |message| Self::new(ErrorKind::Unauthenticated, message);
        match error {
            // A method may overlook credentials that it does not know, so the text claims nothing
            // about the request.
            AuthError::Missing => ErrorKind::Unauthenticated.into(),
            AuthError::Malformed(message) => {
                unauthenticated(message).with_challenge(Challenge::InvalidRequest)
            }
            AuthError::Invalid(message) => {
                unauthenticated(message).with_challenge(Challenge::InvalidToken)
            }
            AuthError::Scope(scopes) => {
                let message = AuthError::Scope(scopes.clone()).to_string();
                Self::new(ErrorKind::PermissionDenied, message)
                    .with_challenge(Challenge::InsufficientScope(scopes))
            }
            AuthError::Forbidden(message) => Self::new(ErrorKind::PermissionDenied, message),
            AuthError::Unavailable(message) => Self::new(ErrorKind::Unavailable, message),
        }
    }
}
