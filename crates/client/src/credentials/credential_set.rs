//! Selection of credentials that satisfy a card.

use latimer_outbound::HttpClient as Http;
use latimer_protocol::Secret;
use latimer_protocol::card::{AgentCard, OAuthFlows, SecurityRequirement, SecurityScheme};

use super::oauth::{OAuthClient, TokenSource};
use super::{ApiKeyLocation, Credentials};
use crate::error::Error;

/// Available credentials, from which the client selects what the card of an agent requires.
///
/// A card lists alternative requirements, each of one or more schemes. The client uses the first
/// requirement that it can satisfy completely.
///
/// ```
/// use latimer_client::{Client, CredentialSet, user_message};
/// use latimer_protocol::Secret;
/// # use latimer_runtime::DemoAgent;
/// # use latimer_server::{ApiKeys, Server};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let keys = ApiKeys::default().with_operator_key(&Secret::new("k3y"));
/// # let server = Server::new(DemoAgent::new_agent("demo")).authenticate(keys);
/// # let server = server.bind("127.0.0.1:0").listen().await?;
/// # let url = format!("http://{}", server.address());
/// let credential_set =
///     CredentialSet { api_key: Some(Secret::new("k3y")), ..CredentialSet::default() };
/// let client = Client::builder(&url).credential_set(credential_set).connect().await?;
/// client.send(user_message("echo hello")).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct CredentialSet {
    /// An API key, sent where the card declares it.
    pub api_key: Option<Secret>,
    /// A token for the `Authorization` header.
    pub bearer: Option<Secret>,
    /// A user name and a password.
    pub basic: Option<(String, Secret)>,
    /// Tokens of a user who has logged in.
    pub tokens: Option<TokenSource>,
    /// An OAuth client, which obtains tokens itself.
    pub oauth_client: Option<OAuthClient>,
}

/// Advice for a scheme whose tokens only a user can obtain.
pub(super) const LOGIN_REQUIRED: &str = "log in as a user and set the resulting tokens (`tokens`)";

/// Inputs of a selection other than the card.
pub(crate) struct SelectionContext<'a> {
    /// HTTP client for requests to authorization servers.
    pub(crate) http: &'a Http,
    /// Origin that the caller trusts.
    pub(crate) origin: Option<&'a str>,
    /// Whether a client certificate is sent to the agent.
    pub(crate) has_certificate: bool,
}

impl CredentialSet {
    /// Returns credentials that satisfy a card; `None` if it requires none.
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
                // TLS sends the certificate, not the request.
                Ok(credentials) => return Ok((!credentials.0.is_empty()).then_some(credentials)),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(Error::NoCredentials(reasons.join("; ")))
    }

    /// Returns the combined credentials for all schemes of a requirement, or the reason why one of
    /// the schemes cannot be satisfied.
    async fn satisfy(
        &self,
        requirement: &SecurityRequirement,
        card: &AgentCard,
        context: &SelectionContext<'_>,
    ) -> Result<Result<Credentials, String>, Error> {
        let mut combined = Credentials::empty();
        for (name, scopes) in &requirement.schemes {
            let Some(scheme) = card.security_schemes.get(name) else {
                return Ok(Err(format!("scheme {name:?}: the card does not define it")));
            };
            match self.satisfy_scheme(scheme, scopes, context).await? {
                Ok(credentials) => combined = combined.with(credentials),
                Err(missing) => return Ok(Err(format!("scheme {name:?}: {missing}"))),
            }
        }
        Ok(Ok(combined))
    }

    /// Returns the credentials for one scheme, or the advice for setting what is missing.
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
                key.map(|key| Credentials::api_key(location, &it.name, key))
                    .ok_or("set an API key (`api_key`)")
            }
            SecurityScheme::HttpAuth(it) if it.scheme.eq_ignore_ascii_case("basic") => {
                let basic = self.basic.as_ref();
                basic
                    .map(|(user, password)| Credentials::basic(user, password))
                    .ok_or("set a user and a password (`basic`)")
            }
            SecurityScheme::HttpAuth(it) if it.scheme.eq_ignore_ascii_case("bearer") => {
                self.existing_token().ok_or("set a bearer token (`bearer` or `tokens`)")
            }
            SecurityScheme::HttpAuth(_) => Err("its HTTP authentication is not supported"),
            SecurityScheme::OpenIdConnect(_) | SecurityScheme::OAuth2(_) => {
                match self.existing_token() {
                    Some(token) => Ok(token),
                    None => self.request_tokens(scheme, scopes, context).await.map(Ok),
                }
            }
            SecurityScheme::MutualTls(_) if context.has_certificate => Ok(Ok(Credentials::empty())),
            SecurityScheme::MutualTls(_) => Err("set a client certificate"),
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

    /// Obtains tokens with the OAuth client, from a server that may receive its secret.
    async fn request_tokens(
        &self,
        scheme: &SecurityScheme,
        scopes: &[String],
        context: &SelectionContext<'_>,
    ) -> Result<Credentials, &'static str> {
        if let SecurityScheme::OAuth2(it) = scheme
            && !matches!(it.flows, OAuthFlows::ClientCredentials(_))
        {
            return Err(LOGIN_REQUIRED);
        }
        let client = self.oauth_client.clone();
        let client = client
            .ok_or("set an OAuth client (`oauth_client`) or a token (`tokens` or `bearer`)")?;
        client.request_tokens(context.http, scheme, scopes, context.origin).await
    }
}
