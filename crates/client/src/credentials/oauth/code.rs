//! Logging in with a browser: the authorization code grant, with PKCE (RFC 7636).

use std::time::Duration;

use aws_lc_rs::{digest, rand};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latimer_protocol::Secret;
use url::Url;

use super::redirect::LoopbackListener;
use super::server::AuthorizationServer;
use super::tokens::TokenSource;
use crate::error::Error;

/// Lets somebody log in with a browser.
///
/// [`interactive`](Self::interactive) does all of it. A program with pages of its own sends the
/// browser to the URL of [`start`](Self::start), and gives what comes back to
/// [`finish`](Self::finish).
#[derive(Clone, Debug)]
pub struct CodeFlow {
    server: AuthorizationServer,
    authorization_url: String,
    redirect_uri: Option<String>,
}

/// A login that has begun.
#[derive(Clone, Debug)]
pub struct PendingLogin {
    /// Where to send the browser.
    pub url: String,
    /// What proves, in the end, that the two ends of the login are one.
    pub verifier: Secret,
    /// What the redirect must repeat.
    pub state: Secret,
    redirect_uri: String,
}

impl CodeFlow {
    /// Logs in at this address of an authorization server.
    #[must_use]
    pub fn new(server: AuthorizationServer, authorization_url: impl Into<String>) -> Self {
        Self { server, authorization_url: authorization_url.into(), redirect_uri: None }
    }

    /// Where the browser comes back to in [`interactive`](Self::interactive), for servers that want to
    /// know it beforehand: an `http` URL of this machine. Without a port it is any free one, and so it
    /// is unless this is said.
    #[must_use]
    pub fn redirect_uri(mut self, uri: impl Into<String>) -> Self {
        self.redirect_uri = Some(uri.into());
        self
    }

    /// Begins a login that ends at `redirect_uri`.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] when the address of the login is none.
    pub fn start(&self, redirect_uri: &str) -> Result<PendingLogin, Error> {
        let (verifier, state) = (random_string()?, random_string()?);
        let challenge = digest::digest(&digest::SHA256, verifier.as_bytes());
        let invalid_url = |_| Error::InvalidSetup("the address of the login is not a URL".into());
        let mut url = Url::parse(&self.authorization_url).map_err(invalid_url)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Error::InvalidSetup("the address of the login is not a page".into()));
        }
        let client = self.server.client();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.client_id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("state", &state)
            .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(challenge))
            .append_pair("code_challenge_method", "S256");
        if !client.scopes.is_empty() {
            url.query_pairs_mut().append_pair("scope", &client.scopes.join(" "));
        }
        Ok(PendingLogin {
            url: url.into(),
            verifier: Secret::new(verifier),
            state: Secret::new(state),
            redirect_uri: redirect_uri.to_owned(),
        })
    }

    /// Ends a login with what the redirect brought.
    ///
    /// # Errors
    /// [`Error::NoCredentials`] when the state is not that of this login, or the server refuses.
    pub async fn finish(
        &self,
        login: &PendingLogin,
        code: &str,
        state: &str,
    ) -> Result<TokenSource, Error> {
        if state != login.state.reveal() {
            return Err(Error::NoCredentials("the redirect is not that of this login".into()));
        }
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &*login.redirect_uri),
            ("code_verifier", login.verifier.reveal()),
        ];
        let token = self.server.request_token(&form).await?;
        Ok(TokenSource::from_login(self.server.clone(), token))
    }

    /// Lets somebody at this machine log in: `open` is given the URL to show them, and the browser
    /// comes back to a port of this machine.
    ///
    /// # Errors
    /// [`Error::NoCredentials`] when the login is refused, or is not done within `limit`;
    /// [`Error::InvalidSetup`] when the browser cannot come back to where it should.
    pub async fn interactive(
        &self,
        limit: Duration,
        open_browser: impl FnOnce(&str) + Send,
    ) -> Result<TokenSource, Error> {
        let listener = LoopbackListener::bind(self.redirect_uri.as_deref()).await?;
        let login = self.start(listener.uri())?;
        open_browser(&login.url);
        let code = tokio::time::timeout(limit, listener.wait_for_code(login.state.reveal())).await;
        let timed_out = |_| Error::NoCredentials("nobody has logged in".into());
        let code = code.map_err(timed_out)??;
        self.finish(&login, code.reveal(), login.state.reveal()).await
    }
}

/// A text that nobody guesses.
fn random_string() -> Result<String, Error> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes)
        .map_err(|_| Error::InvalidSetup("there is no randomness here".into()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
