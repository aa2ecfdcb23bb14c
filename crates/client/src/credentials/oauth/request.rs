//! Tokens for the OAuth client of a credential set, as a security scheme of a card requires.

use latimer_outbound::HttpClient as Http;
use latimer_protocol::card::SecurityScheme;

use super::{OAuthClient, OAuthProvider, TokenSource};
use crate::credentials::Credentials;
use crate::credentials::credential_set::LOGIN_REQUIRED;

impl OAuthClient {
    /// Returns tokens of the client credentials grant, from a server that may receive the secret for
    /// an agent at this origin.
    ///
    /// # Errors
    /// Advice for setting what is missing.
    pub(in crate::credentials) async fn request_tokens(
        mut self,
        http: &Http,
        scheme: &SecurityScheme,
        scopes: &[String],
        agent_origin: Option<&str>,
    ) -> Result<Credentials, &'static str> {
        let provider = OAuthProvider::from_scheme(http, scheme).await.map_err(|error| {
            tracing::warn!(%error, "authorization server rejected");
            "its authorization server has no usable metadata (see the log): set a token (`tokens` or \
             `bearer`)"
        })?;
        if !provider.supports_grant("client_credentials") {
            return Err(LOGIN_REQUIRED);
        }
        if !self.trusts(&provider.token_url, agent_origin) {
            return Err(
                "its authorization server is not trusted with the client secret: add it to \
                 `trusted_servers` of the OAuth client",
            );
        }
        if self.scopes.is_empty() {
            self.scopes = scopes.to_vec();
        }
        let server = provider.server(http.clone(), self);
        Ok(Credentials::tokens(TokenSource::client_credentials(server)))
    }
}
