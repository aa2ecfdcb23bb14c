//! Tokens that are renewed once for all callers.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use latimer_protocol::Secret;
use parking_lot::{Mutex, MutexGuard};

use super::server::{AuthorizationServer, Token, TokenError};
use crate::error::Error;

/// Source of access tokens. Cheap to clone; clones share the token.
///
/// The first call that needs a token requests it. A call that finds the token expired or rejected
/// renews it; concurrent calls wait for the same request.
///
/// ```
/// use latimer_client::Credentials;
/// use latimer_client::credentials::oauth::{
///     AuthorizationServer, OAuthClient, SavedTokens, TokenSource,
/// };
/// use latimer_client::outbound::{Guard, HttpClient, Rules};
/// use latimer_protocol::Secret;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let http = HttpClient::builder(Guard::new(Rules::default())).build()?;
/// let client = OAuthClient {
///     client_secret: Some(Secret::new("s3cret")),
///     ..OAuthClient::new("my-client")
/// };
/// let server = AuthorizationServer::new(http, client, "https://login.example/token");
/// let credentials = Credentials::tokens(TokenSource::client_credentials(server.clone()));
///
/// // A later process restores the login of a user.
/// let saved = SavedTokens { refresh_token: Some(Secret::new("t0ken")), ..SavedTokens::default() };
/// let tokens = TokenSource::restore(server, saved.clone())?;
/// assert_eq!(tokens.save(), saved);
/// # drop(credentials);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TokenSource(Arc<Inner>);

struct Inner {
    server: AuthorizationServer,
    /// Whether the source obtains tokens by itself or needs a login.
    uses_client_credentials: bool,
    state: Mutex<State>,
}

struct State {
    token: Option<Arc<Token>>,
    refresh_token: Option<Secret>,
    renewal: Option<Renewal>,
}

type Renewal = Shared<BoxFuture<'static, Result<Arc<Token>, TokenError>>>;

/// Tokens to store between two runs of a program. Both tokens are secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedTokens {
    /// Access token; `None` if no valid one is known.
    pub access_token: Option<Secret>,
    /// Expiry; `None` if the server declared none.
    pub expires_at: Option<SystemTime>,
    /// Refresh token.
    pub refresh_token: Option<Secret>,
}

impl TokenSource {
    /// Creates a source with the client credentials grant.
    #[must_use]
    pub fn client_credentials(server: AuthorizationServer) -> Self {
        let state = Mutex::new(State { token: None, refresh_token: None, renewal: None });
        Self(Arc::new(Inner { server, uses_client_credentials: true, state }))
    }

    /// Creates a source from the token of a login.
    pub(super) fn from_login(server: AuthorizationServer, token: Token) -> Self {
        let refresh_token = token.refresh_token.clone();
        let state = State { token: Some(token.into()), refresh_token, renewal: None };
        Self(Arc::new(Inner { server, uses_client_credentials: false, state: Mutex::new(state) }))
    }

    /// Creates a source from [saved](Self::save) tokens, without another login.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] if the token contains characters that are invalid in headers.
    pub fn restore(server: AuthorizationServer, saved: SavedTokens) -> Result<Self, Error> {
        let SavedTokens { access_token, expires_at, refresh_token } = saved;
        let token =
            access_token.map(|it| Token::new(it, expires_at, refresh_token.clone())).transpose()?;
        let state = State { token: token.map(Arc::new), refresh_token, renewal: None };
        Ok(Self(Arc::new(Inner {
            server,
            uses_client_credentials: false,
            state: Mutex::new(state),
        })))
    }

    /// Returns the current tokens, to be [restored](Self::restore) later. A renewal may replace all
    /// of them: save them again before the program ends.
    #[must_use]
    pub fn save(&self) -> SavedTokens {
        let state = self.lock_state();
        let token = state.token.as_deref();
        SavedTokens {
            access_token: token.map(|it| it.access_token.clone()),
            expires_at: token.and_then(|it| it.expires_at),
            refresh_token: state.refresh_token.clone(),
        }
    }

    /// Returns a valid token, and requests one if necessary.
    pub(in crate::credentials) async fn token(&self) -> Result<Arc<Token>, Error> {
        let renewal = {
            let mut state = self.lock_state();
            if let Some(token) = state.token.as_ref().filter(|it| it.is_valid()) {
                return Ok(Arc::clone(token));
            }
            let refresh_token = state.refresh_token.clone();
            let start_renewal = || {
                renew_token(self.0.server.clone(), self.0.uses_client_credentials, refresh_token)
                    .boxed()
                    .shared()
            };
            state.renewal.get_or_insert_with(start_renewal).clone()
        };
        let result = renewal.clone().await;
        let mut state = self.lock_state();
        // The first caller to finish clears the request for all.
        if state.renewal.as_ref().is_some_and(|it| it.ptr_eq(&renewal)) {
            state.renewal = None;
            if let Ok(token) = &result {
                state.refresh_token = token.refresh_token.clone().or(state.refresh_token.take());
                state.token = Some(Arc::clone(token));
            }
        }
        result.map_err(|error| self.0.server.token_request_error(error))
    }

    /// Discards a rejected token, unless it was replaced already.
    pub(in crate::credentials) fn invalidate(&self, token: &Arc<Token>) {
        let mut state = self.lock_state();
        if state.token.as_ref().is_some_and(|it| Arc::ptr_eq(it, token)) {
            state.token = None;
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        // Each change is a single assignment.
        self.0.state.lock()
    }
}

async fn renew_token(
    server: AuthorizationServer,
    uses_client_credentials: bool,
    refresh_token: Option<Secret>,
) -> Result<Arc<Token>, TokenError> {
    if let Some(refresh_token) = refresh_token {
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token.reveal())];
        match server.request_token(&form).await {
            Ok(token) => return Ok(token.into()),
            Err(error) if !uses_client_credentials => return Err(error),
            // The refresh token may have expired: request a token with the client credentials.
            Err(_) => {}
        }
    } else if !uses_client_credentials {
        return Err(TokenError::LoginExpired);
    }
    let scope = server.client().scopes.join(" ");
    let mut form = vec![("grant_type", "client_credentials")];
    form.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
    server.request_token(&form).await.map(Arc::new)
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("TokenSource")
    }
}

#[cfg(test)]
mod tests {
    use latimer_outbound::{Guard, HttpClient, Rules};

    use super::*;
    use crate::credentials::oauth::OAuthClient;

    #[test]
    fn invalidate_drops_only_the_given_token() {
        let token =
            |text| Token::new(Secret::new(text), None, Some(Secret::new("r"))).expect("a token");
        let http = HttpClient::builder(Guard::new(Rules::default())).build().unwrap();
        let url = "https://login.example/token";
        let server = AuthorizationServer::new(http, OAuthClient::new("my-client"), url);
        let tokens = TokenSource::from_login(server, token("new"));
        let old = Arc::new(token("old"));
        tokens.invalidate(&old);
        let new = tokens.lock_state().token.clone().expect("a token");
        tokens.invalidate(&new);
        assert!(tokens.lock_state().token.is_none());
        assert!(tokens.lock_state().refresh_token.is_some(), "the refresh token stays");
    }
}
