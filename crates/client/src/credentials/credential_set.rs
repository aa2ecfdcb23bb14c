//! What there is to show, of which a card chooses.

use latimer_outbound::HttpClient as Http;
use latimer_protocol::Secret;
use latimer_protocol::card::{AgentCard, OAuthFlows, SecurityRequirement, SecurityScheme};

use super::oauth::{OAuthClient, OAuthProvider, TokenSource};
use super::{ApiKeyLocation, Credentials};
use crate::error::Error;

/// What there is to show to an agent. Its card says which of it, and in which way.
///
/// A card lists what it would take: any one of several requirements, each of one or more schemes. The
/// first that can be met in full is.
#[derive(Clone, Debug, Default)]
pub struct CredentialSet {
    /// A key, wherever the card wants it.
    pub api_key: Option<Secret>,
    /// A token for the `Authorization` header.
    pub bearer: Option<Secret>,
    /// A user and a password.
    pub basic: Option<(String, Secret)>,
    /// Tokens of somebody who logged in.
    pub tokens: Option<TokenSource>,
    /// What an authorization server knows us as, to get tokens from it ourselves.
    pub oauth_client: Option<OAuthClient>,
}

/// What a card is met with.
pub(crate) struct SelectionContext<'a> {
    /// The client for requests to authorization servers.
    pub(crate) http: &'a Http,
    /// The origin that the caller vouches for.
    pub(crate) origin: Option<&'a str>,
    /// Whether TLS shows who we are.
    pub(crate) has_certificate: bool,
}

impl CredentialSet {
    /// What to show to the agent of a card; nothing when it wants nothing.
    pub(crate) async fn select(
        &self,
        card: &AgentCard,
        context: &SelectionContext<'_>,
    ) -> Result<Option<Credentials>, Error> {
        let requirements = &card.security_requirements;
        let allows_anonymous = requirements.iter().any(|it| it.schemes.is_empty());
        if requirements.is_empty() || allows_anonymous {
            return Ok(None);
        }
        let mut reasons = Vec::new();
        for requirement in requirements {
            match self.satisfy(requirement, card, context).await? {
                // A certificate is shown beneath, and in no request.
                Ok(credentials) => return Ok((!credentials.0.is_empty()).then_some(credentials)),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(Error::NoCredentials(reasons.join("; ")))
    }

    async fn satisfy(
        &self,
        requirement: &SecurityRequirement,
        card: &AgentCard,
        context: &SelectionContext<'_>,
    ) -> Result<Result<Credentials, String>, Error> {
        let mut combined = Credentials::empty();
        for (name, scopes) in &requirement.schemes {
            let Some(scheme) = card.security_schemes.get(name) else {
                return Ok(Err(format!("the card does not say what {name:?} is")));
            };
            match self.satisfy_scheme(scheme, scopes, context).await? {
                Ok(credentials) => combined = combined.with(credentials),
                Err(missing) => return Ok(Err(format!("{name:?} needs {missing}"))),
            }
        }
        Ok(Ok(combined))
    }

    /// What meets one scheme, or what would.
    async fn satisfy_scheme(
        &self,
        scheme: &SecurityScheme,
        scopes: &[String],
        context: &SelectionContext<'_>,
    ) -> Result<Result<Credentials, &'static str>, Error> {
        let result = match scheme {
            SecurityScheme::ApiKey(it) => {
                let location = match it.location.to_ascii_lowercase().as_str() {
                    "query" => ApiKeyLocation::Query,
                    "cookie" => ApiKeyLocation::Cookie,
                    _ => ApiKeyLocation::Header,
                };
                let key = self.api_key.clone();
                key.map(|key| Credentials::api_key(location, &it.name, key)).ok_or("an API key")
            }
            SecurityScheme::HttpAuth(it) if it.scheme.eq_ignore_ascii_case("basic") => {
                let basic = self.basic.as_ref();
                basic.map(|(user, password)| Credentials::basic(user, password)).ok_or("a password")
            }
            SecurityScheme::HttpAuth(it) if it.scheme.eq_ignore_ascii_case("bearer") => {
                self.existing_token().ok_or("a bearer token")
            }
            SecurityScheme::HttpAuth(_) => Err("a way to authenticate that is not known here"),
            SecurityScheme::OpenIdConnect(_) | SecurityScheme::OAuth2(_) => {
                match self.existing_token() {
                    Some(token) => Ok(token),
                    None => self.request_tokens(scheme, scopes, context).await.map(Ok),
                }
            }
            SecurityScheme::MutualTls(_) if context.has_certificate => Ok(Ok(Credentials::empty())),
            SecurityScheme::MutualTls(_) => Err("a client certificate"),
        };
        result.map_or_else(|missing| Ok(Err(missing)), |it| it.map(Ok))
    }

    fn existing_token(&self) -> Option<Result<Credentials, Error>> {
        match (&self.tokens, &self.bearer) {
            (Some(tokens), _) => Some(Ok(Credentials::tokens(tokens.clone()))),
            (None, Some(bearer)) => Some(Credentials::bearer(bearer.clone())),
            (None, None) => None,
        }
    }

    /// Tokens that we get ourselves, from a server that may be shown our secret.
    async fn request_tokens(
        &self,
        scheme: &SecurityScheme,
        scopes: &[String],
        context: &SelectionContext<'_>,
    ) -> Result<Credentials, &'static str> {
        if let SecurityScheme::OAuth2(it) = scheme
            && !matches!(it.flows, OAuthFlows::ClientCredentials(_))
        {
            return Err("somebody to log in first");
        }
        let client = self.oauth_client.clone();
        let mut client = client.ok_or("a token, or a client that the provider knows")?;
        let provider = OAuthProvider::from_scheme(context.http, scheme).await.map_err(|error| {
            tracing::warn!(%error, "a provider that a card names cannot be asked");
            "a provider that says what it is"
        })?;
        if !provider.supports_grant("client_credentials") {
            return Err("somebody to log in first");
        }
        if !client.trusts(&provider.token_url, context.origin) {
            return Err("an authorization server that is trusted with the client's secret");
        }
        if client.scopes.is_empty() {
            client.scopes = scopes.to_vec();
        }
        let server = provider.server(context.http.clone(), client);
        Ok(Credentials::tokens(TokenSource::client_credentials(server)))
    }
}
