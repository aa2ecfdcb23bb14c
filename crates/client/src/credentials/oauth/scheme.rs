//! What a card says about the authorization server of its agent.

use latimer_outbound::HttpClient as Http;
use latimer_protocol::card::{OAuth2SecurityScheme, OAuthFlows, SecurityScheme};

use super::device;
use super::provider::{OAuthProvider, TrustSource};
use super::server::SecretLocation;
use crate::error::Error;

impl OAuthProvider {
    /// The authorization server that a scheme of a card names, with the addresses of the flow that the
    /// scheme offers. Those that the card leaves out are asked for where it says that the server
    /// describes itself.
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
    ///     let flow = provider.device_flow(http, OAuthClient::new("our name there"))?;
    /// #   drop(flow);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoCredentials`] when the scheme has nothing to do with authorization servers, or neither
    /// it nor its server says what is needed.
    pub async fn from_scheme(http: &Http, scheme: &SecurityScheme) -> Result<Self, Error> {
        let provider = match scheme {
            SecurityScheme::OpenIdConnect(it) => {
                Self::discover(http, &it.open_id_connect_url).await?
            }
            SecurityScheme::OAuth2(it) => Self::from_flow(http, it).await?,
            SecurityScheme::ApiKey(_)
            | SecurityScheme::HttpAuth(_)
            | SecurityScheme::MutualTls(_) => {
                let problem = "the scheme of the card wants no token of an authorization server";
                return Err(Error::NoCredentials(problem.into()));
            }
        };
        Ok(Self { trust_source: TrustSource::Card, ..provider })
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
            let problem = "the card does not say where tokens are got, nor who knows";
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

/// What a flow says about its server. Addresses that it leaves out are empty.
fn provider_from_flow(flows: &OAuthFlows) -> Result<OAuthProvider, Error> {
    let provider = |grant: &str, token_url: &str| OAuthProvider {
        token_url: token_url.to_owned(),
        authorization_url: None,
        device_url: None,
        supported_grants: Some(vec![grant.to_owned()]),
        secret_location: SecretLocation::default(),
        trust_source: TrustSource::Card,
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
            let problem = "the card offers a flow that nobody should follow any more";
            Err(Error::NoCredentials(problem.into()))
        }
    }
}

/// An address, if it is one.
fn non_empty(url: &str) -> Option<String> {
    (!url.is_empty()).then(|| url.to_owned())
}
