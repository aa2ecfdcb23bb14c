//! Login with a browser: the authorization code grant with PKCE (RFC 7636).

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

/// Login with a browser.
///
/// [`interactive`](Self::interactive) runs the complete login. A program with its own pages sends
/// the browser to the URL of [`start`](Self::start), and passes the parameters of the redirect to
/// [`finish`](Self::finish).
#[derive(Clone, Debug)]
pub struct CodeFlow {
    server: AuthorizationServer,
    authorization_url: String,
    redirect_uri: Option<String>,
}

/// A login that waits for its redirect.
#[derive(Clone, Debug)]
pub struct PendingLogin {
    /// URL to open in the browser.
    pub url: String,
    /// PKCE verifier, which proves that the same client started and finished the login.
    pub verifier: Secret,
    /// State that the redirect must repeat.
    pub state: Secret,
    redirect_uri: String,
}

impl CodeFlow {
    /// Creates a flow for the authorization endpoint of a server.
    #[must_use]
    pub fn new(server: AuthorizationServer, authorization_url: impl Into<String>) -> Self {
        Self { server, authorization_url: authorization_url.into(), redirect_uri: None }
    }

    /// Sets the redirect URI of [`interactive`](Self::interactive), for servers that require a
    /// registered one: an `http` URL of this machine. Without a port, and by default, a free port
    /// is used.
    #[must_use]
    pub fn redirect_uri(mut self, uri: impl Into<String>) -> Self {
        self.redirect_uri = Some(uri.into());
        self
    }

    /// Starts a login that redirects to `redirect_uri`.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] if the authorization endpoint is not a valid URL.
    pub fn start(&self, redirect_uri: &str) -> Result<PendingLogin, Error> {
        let (verifier, state) = (random_string()?, random_string()?);
        let challenge = digest::digest(&digest::SHA256, verifier.as_bytes());
        let invalid_url = |_| Error::InvalidSetup("the authorization endpoint is not a URL".into());
        let mut url = Url::parse(&self.authorization_url).map_err(invalid_url)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Error::InvalidSetup(
                "the authorization endpoint is not an http or https URL".into(),
            ));
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

    /// Finishes a login with the parameters of the redirect.
    ///
    /// # Errors
    /// [`Error::NoCredentials`] if the state is that of another login, or the server denies the
    /// token.
    pub async fn finish(
        &self,
        login: &PendingLogin,
        code: &str,
        state: &str,
    ) -> Result<TokenSource, Error> {
        if state != login.state.reveal() {
            return Err(Error::NoCredentials("the redirect belongs to another login".into()));
        }
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &*login.redirect_uri),
            ("code_verifier", login.verifier.reveal()),
        ];
        let token = self.server.request_token(&form).await;
        let token = token.map_err(|error| self.server.token_request_error(error))?;
        Ok(TokenSource::from_login(self.server.clone(), token))
    }

    /// Runs a login on this machine. Calls `open_browser` with the URL to show to the user, and
    /// receives the redirect on a port of this machine.
    ///
    /// # Errors
    /// [`Error::NoCredentials`] if the login is denied, its redirect cannot be received, or it is
    /// not finished within `limit`; [`Error::InvalidSetup`] if the redirect URI is invalid or its
    /// port cannot be opened.
    pub async fn interactive(
        &self,
        limit: Duration,
        open_browser: impl FnOnce(&str) + Send,
    ) -> Result<TokenSource, Error> {
        let listener = LoopbackListener::bind(self.redirect_uri.as_deref()).await?;
        let login = self.start(listener.uri())?;
        open_browser(&login.url);
        let code = tokio::time::timeout(limit, listener.wait_for_code(login.state.reveal())).await;
        let timed_out = |_| Error::NoCredentials("the login was not finished in time".into());
        let code = code.map_err(timed_out)??;
        self.finish(&login, code.reveal(), login.state.reveal()).await
    }
}

/// Creates an unguessable string.
fn random_string() -> Result<String, Error> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes).map_err(|_| {
        Error::InvalidSetup("the operating system provides no random numbers".into())
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
