//! What a card says about the authorization server of its agent.

use latimer_outbound::HttpClient as Http;
use latimer_protocol::card::{OAuth2SecurityScheme, OAuthFlows, SecurityScheme};

use super::device;
use super::provider::{NamedBy, Provider};
use super::server::SecretPlace;
use crate::error::Error;

impl Provider {
    /// The authorization server that a scheme of a card names, with the addresses of the flow that the
    /// scheme offers. Those that the card leaves out are asked for where it says that the server
    /// describes itself.
    ///
    /// ```no_run
    /// # use latimer_client::Client;
    /// # use latimer_client::credentials::oauth::{OAuthClient, Provider};
    /// # use latimer_client::outbound::{Client as Http, Guard, Rules};
    /// # async fn run() -> Result<(), latimer_client::Error> {
    /// let http = Http::builder(Guard::new(Rules::default())).build()?;
    /// let card = Client::builder("https://agents.example").card().await?;
    /// if let Some(scheme) = card.security_schemes.get("login") {
    ///     let provider = Provider::of_scheme(&http, scheme).await?;
    ///     let flow = provider.device_flow(http, OAuthClient::new("our name there"))?;
    /// #   drop(flow);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Credentials`] when the scheme has nothing to do with authorization servers, or neither
    /// it nor its server says what is needed.
    pub async fn of_scheme(http: &Http, scheme: &SecurityScheme) -> Result<Self, Error> {
        let provider = match scheme {
            SecurityScheme::OpenIdConnect(it) => {
                Self::discover(http, &it.open_id_connect_url).await?
            }
            SecurityScheme::OAuth2(it) => Self::of_flow(http, it).await?,
            SecurityScheme::ApiKey(_)
            | SecurityScheme::HttpAuth(_)
            | SecurityScheme::MutualTls(_) => {
                let problem = "the scheme of the card wants no token of an authorization server";
                return Err(Error::Credentials(problem.into()));
            }
        };
        Ok(Self { named_by: NamedBy::Card, ..provider })
    }

    async fn of_flow(http: &Http, scheme: &OAuth2SecurityScheme) -> Result<Self, Error> {
        let said = said(&scheme.flows)?;
        let begins = said.authorization_url.is_some() || said.device_url.is_some();
        if !said.token_url.is_empty() && (begins || said.grants(CLIENT)) {
            return Ok(said);
        }
        let url = scheme.oauth2_metadata_url.as_deref().ok_or_else(|| {
            let problem = "the card does not say where tokens are got, nor who knows";
            Error::Credentials(problem.into())
        })?;
        let described = Self::discover(http, url).await?;
        Ok(Self {
            token_url: address(&said.token_url).unwrap_or(described.token_url),
            authorization_url: said.authorization_url.or(described.authorization_url),
            device_url: said.device_url.or(described.device_url),
            grants: said.grants,
            ..described
        })
    }
}

const CLIENT: &str = "client_credentials";

/// What a flow says about its server. Addresses that it leaves out are empty.
fn said(flows: &OAuthFlows) -> Result<Provider, Error> {
    let of = |grant: &str, token_url: &str| Provider {
        token_url: token_url.to_owned(),
        authorization_url: None,
        device_url: None,
        grants: Some(vec![grant.to_owned()]),
        secret: SecretPlace::default(),
        named_by: NamedBy::Card,
    };
    match flows {
        OAuthFlows::ClientCredentials(it) => Ok(of(CLIENT, &it.token_url)),
        OAuthFlows::AuthorizationCode(it) => {
            let authorization_url = address(&it.authorization_url);
            Ok(Provider { authorization_url, ..of("authorization_code", &it.token_url) })
        }
        OAuthFlows::DeviceCode(it) => {
            let device_url = address(&it.device_authorization_url);
            Ok(Provider { device_url, ..of(device::GRANT, &it.token_url) })
        }
        OAuthFlows::Implicit(_) | OAuthFlows::Password(_) => {
            let problem = "the card offers a flow that nobody should follow any more";
            Err(Error::Credentials(problem.into()))
        }
    }
}

/// An address, if it is one.
fn address(url: &str) -> Option<String> {
    (!url.is_empty()).then(|| url.to_owned())
}
