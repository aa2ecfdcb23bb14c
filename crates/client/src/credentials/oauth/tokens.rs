//! Tokens that are renewed, once, however many need them.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use latimer_protocol::Secret;

use super::server::{AuthorizationServer, Refusal, Token};
use crate::error::Error;

/// A source of tokens. Cheap to clone; clones share the token.
///
/// A token is got when it is first needed, and renewed when it has expired or was refused. All who
/// need it meanwhile wait for the one request.
#[derive(Clone)]
pub struct Tokens(Arc<Inner>);

struct Inner {
    server: AuthorizationServer,
    /// Whether we get tokens by ourselves, or somebody had to log in.
    own: bool,
    state: Mutex<State>,
}

struct State {
    token: Option<Arc<Token>>,
    refresh: Option<Secret>,
    renewing: Option<Renewing>,
}

type Renewing = Shared<BoxFuture<'static, Result<Arc<Token>, Refusal>>>;

/// What is kept of tokens between two runs of a program. Both tokens are as secret as a password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// The token that is shown; none when there is none that is good for all we know.
    pub access: Option<Secret>,
    /// When it expires; never if the server has not said.
    pub expires: Option<SystemTime>,
    /// What the next one is got with.
    pub refresh: Option<Secret>,
}

impl Tokens {
    /// Tokens for the client itself: the grant of client credentials.
    #[must_use]
    pub fn for_client(server: AuthorizationServer) -> Self {
        let state = Mutex::new(State { token: None, refresh: None, renewing: None });
        Self(Arc::new(Inner { server, own: true, state }))
    }

    /// Tokens for somebody who logged in.
    pub(super) fn of_login(server: AuthorizationServer, token: Token) -> Self {
        let refresh = token.refresh.clone();
        let state = State { token: Some(token.into()), refresh, renewing: None };
        Self(Arc::new(Inner { server, own: false, state: Mutex::new(state) }))
    }

    /// Tokens that were [saved](Self::saved) after somebody had logged in: nobody has to log in again.
    ///
    /// # Errors
    /// [`Error::Setup`] when the token holds characters that no header can carry.
    pub fn restored(server: AuthorizationServer, saved: Saved) -> Result<Self, Error> {
        let Saved { access, expires, refresh } = saved;
        let token = access.map(|it| Token::new(it, expires, refresh.clone())).transpose()?;
        let state = State { token: token.map(Arc::new), refresh, renewing: None };
        Ok(Self(Arc::new(Inner { server, own: false, state: Mutex::new(state) })))
    }

    /// What there is now, to be [restored](Self::restored) later. Renewing may replace all of it: save
    /// it again before the program ends.
    #[must_use]
    pub fn saved(&self) -> Saved {
        let state = self.state();
        let token = state.token.as_deref();
        Saved {
            access: token.map(|it| it.access.clone()),
            expires: token.and_then(|it| it.expires),
            refresh: state.refresh.clone(),
        }
    }

    /// A token that is good.
    pub(in crate::credentials) async fn token(&self) -> Result<Arc<Token>, Error> {
        let renewing = {
            let mut state = self.state();
            if let Some(token) = state.token.as_ref().filter(|it| it.is_good()) {
                return Ok(Arc::clone(token));
            }
            let refresh = state.refresh.clone();
            let renew = || renew(self.0.server.clone(), self.0.own, refresh).boxed().shared();
            state.renewing.get_or_insert_with(renew).clone()
        };
        let renewed = renewing.clone().await;
        let mut state = self.state();
        // The first to come back puts it down for all.
        if state.renewing.as_ref().is_some_and(|it| it.ptr_eq(&renewing)) {
            state.renewing = None;
            if let Ok(token) = &renewed {
                state.refresh = token.refresh.clone().or(state.refresh.take());
                state.token = Some(Arc::clone(token));
            }
        }
        Ok(renewed?)
    }

    /// Takes back a token that was refused, unless another one has taken its place already.
    pub(in crate::credentials) fn refused(&self, token: &Arc<Token>) {
        let mut state = self.state();
        if state.token.as_ref().is_some_and(|it| Arc::ptr_eq(it, token)) {
            state.token = None;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of it is one assignment.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn renew(
    server: AuthorizationServer,
    own: bool,
    refresh: Option<Secret>,
) -> Result<Arc<Token>, Refusal> {
    if let Some(refresh) = refresh {
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh.reveal())];
        match server.token(&form).await {
            Ok(token) => return Ok(token.into()),
            Err(refusal) if !own => return Err(refusal),
            // It may have expired as well.
            Err(_) => {}
        }
    } else if !own {
        let words = "the token is no longer good, and there is none to renew it with: log in again";
        return Err(Refusal::other(&words));
    }
    let scope = server.client().scopes.join(" ");
    let mut form = vec![("grant_type", "client_credentials")];
    form.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
    server.token(&form).await.map(Arc::new)
}

impl fmt::Debug for Tokens {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Tokens")
    }
}

#[cfg(test)]
mod tests {
    use latimer_outbound::{Guard, HttpClient, Rules};

    use super::*;
    use crate::credentials::oauth::OAuthClient;

    #[test]
    fn only_the_token_that_was_refused_is_taken_back() {
        let token =
            |text| Token::new(Secret::new(text), None, Some(Secret::new("r"))).expect("a token");
        let http = HttpClient::builder(Guard::new(Rules::default())).build().unwrap();
        let url = "https://login.example/token";
        let server = AuthorizationServer::new(http, OAuthClient::new("us"), url);
        let tokens = Tokens::of_login(server, token("new"));
        let old = Arc::new(token("old"));
        tokens.refused(&old);
        let new = tokens.state().token.clone().expect("a token that nobody refused");
        tokens.refused(&new);
        assert!(tokens.state().token.is_none());
        assert!(tokens.state().refresh.is_some(), "there is still something to renew it with");
    }
}
