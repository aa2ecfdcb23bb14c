//! What there is to show, of which a card chooses.

use latimer_outbound::HttpClient as Http;
use latimer_protocol::Secret;
use latimer_protocol::card::{AgentCard, OAuthFlows, SecurityRequirement, SecurityScheme};

use super::oauth::{OAuthClient, Provider, Tokens};
use super::{Credentials, KeyPlace};
use crate::error::Error;

/// What there is to show to an agent. Its card says which of it, and in which way.
///
/// A card lists what it would take: any one of several requirements, each of one or more schemes. The
/// first that can be met in full is.
#[derive(Clone, Debug, Default)]
pub struct Wallet {
    /// A key, wherever the card wants it.
    pub api_key: Option<Secret>,
    /// A token for the `Authorization` header.
    pub bearer: Option<Secret>,
    /// A user and a password.
    pub basic: Option<(String, Secret)>,
    /// Tokens of somebody who logged in.
    pub tokens: Option<Tokens>,
    /// What an authorization server knows us as, to get tokens from it ourselves.
    pub client: Option<OAuthClient>,
}

/// What a card is met with.
pub(crate) struct Met<'a> {
    /// The client for requests to authorization servers.
    pub(crate) http: &'a Http,
    /// The origin that the caller vouches for.
    pub(crate) origin: Option<&'a str>,
    /// Whether TLS shows who we are.
    pub(crate) certificate: bool,
}

impl Wallet {
    /// What to show to the agent of a card; nothing when it wants nothing.
    pub(crate) async fn choose(
        &self,
        card: &AgentCard,
        met: &Met<'_>,
    ) -> Result<Option<Credentials>, Error> {
        let requirements = &card.security_requirements;
        let wants_nothing = requirements.iter().any(|it| it.schemes.is_empty());
        if requirements.is_empty() || wants_nothing {
            return Ok(None);
        }
        let mut reasons = Vec::new();
        for requirement in requirements {
            match self.meet(requirement, card, met).await? {
                // A certificate is shown beneath, and in no request.
                Ok(credentials) => return Ok((!credentials.0.is_empty()).then_some(credentials)),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(Error::Credentials(reasons.join("; ")))
    }

    async fn meet(
        &self,
        requirement: &SecurityRequirement,
        card: &AgentCard,
        met: &Met<'_>,
    ) -> Result<Result<Credentials, String>, Error> {
        let mut all = Credentials::none();
        for (name, scopes) in &requirement.schemes {
            let Some(scheme) = card.security_schemes.get(name) else {
                return Ok(Err(format!("the card does not say what {name:?} is")));
            };
            match self.scheme(scheme, scopes, met).await? {
                Ok(credentials) => all = all.and(credentials),
                Err(missing) => return Ok(Err(format!("{name:?} needs {missing}"))),
            }
        }
        Ok(Ok(all))
    }

    /// What meets one scheme, or what would.
    async fn scheme(
        &self,
        scheme: &SecurityScheme,
        scopes: &[String],
        met: &Met<'_>,
    ) -> Result<Result<Credentials, &'static str>, Error> {
        let found = match scheme {
            SecurityScheme::ApiKey(it) => {
                let place = match it.location.to_ascii_lowercase().as_str() {
                    "query" => KeyPlace::Query,
                    "cookie" => KeyPlace::Cookie,
                    _ => KeyPlace::Header,
                };
                let key = self.api_key.clone();
                key.map(|key| Credentials::api_key(place, &it.name, key)).ok_or("an API key")
            }
            SecurityScheme::HttpAuth(it) if it.scheme.eq_ignore_ascii_case("basic") => {
                let basic = self.basic.as_ref();
                basic.map(|(user, word)| Credentials::basic(user, word)).ok_or("a password")
            }
            SecurityScheme::HttpAuth(it) if it.scheme.eq_ignore_ascii_case("bearer") => {
                self.token().ok_or("a bearer token")
            }
            SecurityScheme::HttpAuth(_) => Err("a way to authenticate that is not known here"),
            SecurityScheme::OpenIdConnect(_) | SecurityScheme::OAuth2(_) => match self.token() {
                Some(token) => Ok(token),
                None => self.granted(scheme, scopes, met).await.map(Ok),
            },
            SecurityScheme::MutualTls(_) if met.certificate => Ok(Ok(Credentials::none())),
            SecurityScheme::MutualTls(_) => Err("a client certificate"),
        };
        found.map_or_else(|missing| Ok(Err(missing)), |it| it.map(Ok))
    }

    fn token(&self) -> Option<Result<Credentials, Error>> {
        match (&self.tokens, &self.bearer) {
            (Some(tokens), _) => Some(Ok(Credentials::tokens(tokens.clone()))),
            (None, Some(bearer)) => Some(Credentials::bearer(bearer.clone())),
            (None, None) => None,
        }
    }

    /// Tokens that we get ourselves, from a server that may be shown our secret.
    async fn granted(
        &self,
        scheme: &SecurityScheme,
        scopes: &[String],
        met: &Met<'_>,
    ) -> Result<Credentials, &'static str> {
        if let SecurityScheme::OAuth2(it) = scheme
            && !matches!(it.flows, OAuthFlows::ClientCredentials(_))
        {
            return Err("somebody to log in first");
        }
        let client = self.client.clone();
        let mut client = client.ok_or("a token, or a client that the provider knows")?;
        let provider = Provider::of_scheme(met.http, scheme).await.map_err(|error| {
            tracing::warn!(%error, "a provider that a card names cannot be asked");
            "a provider that says what it is"
        })?;
        if !provider.grants("client_credentials") {
            return Err("somebody to log in first");
        }
        if !client.trusts(&provider.token_url, met.origin) {
            return Err("an authorization server that is trusted with the client's secret");
        }
        if client.scopes.is_empty() {
            client.scopes = scopes.to_vec();
        }
        let server = provider.server(met.http.clone(), client);
        Ok(Credentials::tokens(Tokens::for_client(server)))
    }
}
