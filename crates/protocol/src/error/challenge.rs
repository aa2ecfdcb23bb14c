//! Reason for rejecting credentials, in the terms of RFC 6750.

use super::Error;

/// Metadata key of the reason. Clients read it, so the name is part of the wire format.
const ERROR_KEY: &str = "error";
/// Metadata key of the required scopes. Clients read it, so the name is part of the wire format.
const SCOPE_KEY: &str = "scope";

/// Reason why the credentials of a request were rejected, from which a client learns what to change
/// before it retries. HTTP bindings write it into the `WWW-Authenticate` header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// The credentials were readable but are not valid.
    InvalidToken,
    /// The credentials could not be read.
    InvalidRequest,
    /// The credentials are valid, but the caller lacks at least one of these scopes.
    InsufficientScope(Vec<String>),
}

impl Challenge {
    /// Returns the error code of RFC 6750, section 3.1.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidToken => "invalid_token",
            Self::InvalidRequest => "invalid_request",
            Self::InsufficientScope(_) => "insufficient_scope",
        }
    }
}

impl Error {
    /// Sets the reason for rejecting credentials. The metadata repeat it, for bindings without
    /// challenges: `error` holds the code, `scope` the required scopes.
    ///
    /// ```
    /// # use latimer_protocol::{Challenge, Error, ErrorKind};
    /// let error = Error::from(ErrorKind::Unauthenticated).with_challenge(Challenge::InvalidToken);
    /// assert_eq!(error.challenge(), Some(&Challenge::InvalidToken));
    /// assert_eq!(error.metadata()["error"], "invalid_token");
    /// ```
    #[must_use]
    pub fn with_challenge(mut self, challenge: Challenge) -> Self {
        self.metadata.insert(ERROR_KEY.to_owned(), challenge.code().to_owned());
        match &challenge {
            Challenge::InvalidToken | Challenge::InvalidRequest => {
                self.metadata.remove(SCOPE_KEY);
            }
            Challenge::InsufficientScope(scopes) => {
                self.metadata.insert(SCOPE_KEY.to_owned(), scopes.join(" "));
            }
        }
        self.challenge = Some(Box::new(challenge));
        self
    }

    /// Returns the reason for rejecting credentials. It is `None` for every error decoded from a
    /// response: a challenge of an upstream agent must not reach the callers of a gateway.
    #[must_use]
    pub fn challenge(&self) -> Option<&Challenge> {
        self.challenge.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn challenge_is_repeated_in_metadata() {
        for (challenge, want) in [
            (Challenge::InvalidToken, vec![("error", "invalid_token")]),
            (Challenge::InvalidRequest, vec![("error", "invalid_request")]),
            (
                Challenge::InsufficientScope(vec!["read".into(), "write".into()]),
                vec![("error", "insufficient_scope"), ("scope", "read write")],
            ),
        ] {
            let error = Error::from(ErrorKind::PermissionDenied)
                .with_challenge(Challenge::InsufficientScope(vec!["replaced".into()]))
                .with_challenge(challenge.clone());
            assert_eq!(error.challenge(), Some(&challenge));
            let metadata: Vec<_> =
                error.metadata().iter().map(|(name, value)| (&**name, &**value)).collect();
            assert_eq!(metadata, want, "{challenge:?}");
        }
    }
}
