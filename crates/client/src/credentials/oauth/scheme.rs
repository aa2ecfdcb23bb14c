//! Authorization servers that a card names.

use latimer_outbound::HttpClient as Http;
use latimer_protocol::card::{OAuth2SecurityScheme, OAuthFlows, SecurityScheme};

use super::device;
use super::provider::{EndpointSource, OAuthProvider};
use super::server::SecretLocation;
use crate::error::Error;

impl OAuthProvider {
    /// Creates the provider of a security scheme, with the endpoints of its flow. Endpoints that
    /// the card omits are taken from the metadata of the server.
    ///
    /// ```no_run
    /// # use latimer_client::Client;
    /// # use latimer_client::credentials::oauth::{OAuthClient, OAuthProvider};
    /// # use latimer_client::outbound::{Guard, HttpClient, Rules};
    /// # async fn run() -> Result<(), latimer_client::Error> {
    /// let http = HttpClient::builder(Guard::new(Rules::default())).build()?;
    /// let card = Client::builder("https://agents.example").card().await?;
    /// if let Some(scheme) = card.security_schemes.get("login") {
    ///     let provider = OAuthProvider::from_scheme(&http, scheme).await?;
    ///     let flow = provider.device_flow(http, OAuthClient::new("my-client-id"))?;
    /// #   drop(flow);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoCredentials`] if the scheme does not use an authorization server, or neither the
    /// scheme nor the server's metadata contains the required endpoints.
    pub async fn from_scheme(http: &Http, scheme: &SecurityScheme) -> Result<Self, Error> {
        let provider = match scheme {
            SecurityScheme::OpenIdConnect(it) => {
                Self::discover(http, &it.open_id_connect_url).await?
            }
            SecurityScheme::OAuth2(it) => Self::from_flow(http, it).await?,
            SecurityScheme::ApiKey(_)
            | SecurityScheme::HttpAuth(_)
            | SecurityScheme::MutualTls(_) => {
                let problem = "the scheme does not use an authorization server";
                return Err(Error::NoCredentials(problem.into()));
            }
        };
        Ok(Self { endpoint_source: EndpointSource::Card, ..provider })
    }

    async fn from_flow(http: &Http, scheme: &OAuth2SecurityScheme) -> Result<Self, Error> {
        let declared = provider_from_flow(&scheme.flows)?;
        let has_login_url = declared.authorization_url.is_some() || declared.device_url.is_some();
        if !declared.token_url.is_empty()
            && (has_login_url || declared.supports_grant(CLIENT_CREDENTIALS))
        {
            return Ok(declared);
        }
        let url = scheme.oauth2_metadata_url.as_deref().ok_or_else(|| {
            let problem = "the card names neither a token endpoint nor a server with metadata";
            Error::NoCredentials(problem.into())
        })?;
        let discovered = Self::discover(http, url).await?;
        Ok(Self {
            token_url: non_empty(&declared.token_url).unwrap_or(discovered.token_url),
            authorization_url: declared.authorization_url.or(discovered.authorization_url),
            device_url: declared.device_url.or(discovered.device_url),
            supported_grants: declared.supported_grants,
            ..discovered
        })
    }
}

const CLIENT_CREDENTIALS: &str = "client_credentials";

/// Creates the provider of a flow. Its token URL is empty if the card omits it.
fn provider_from_flow(flows: &OAuthFlows) -> Result<OAuthProvider, Error> {
    let provider = |grant: &str, token_url: &str| OAuthProvider {
        token_url: token_url.to_owned(),
        authorization_url: None,
        device_url: None,
        supported_grants: Some(vec![grant.to_owned()]),
        secret_location: SecretLocation::default(),
        endpoint_source: EndpointSource::Card,
    };
    match flows {
        OAuthFlows::ClientCredentials(it) => Ok(provider(CLIENT_CREDENTIALS, &it.token_url)),
        OAuthFlows::AuthorizationCode(it) => {
            let authorization_url = non_empty(&it.authorization_url);
            Ok(OAuthProvider { authorization_url, ..provider("authorization_code", &it.token_url) })
        }
        OAuthFlows::DeviceCode(it) => {
            let device_url = non_empty(&it.device_authorization_url);
            Ok(OAuthProvider { device_url, ..provider(device::GRANT_TYPE, &it.token_url) })
        }
        OAuthFlows::Implicit(_) | OAuthFlows::Password(_) => {
            let problem = "the card offers only an obsolete OAuth flow";
            Err(Error::NoCredentials(problem.into()))
        }
    }
}

/// Returns a URL unless it is empty.
fn non_empty(url: &str) -> Option<String> {
    (!url.is_empty()).then(|| url.to_owned())
}
