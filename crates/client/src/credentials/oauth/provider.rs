//! What an authorization server says about itself: OpenID Connect Discovery, and RFC 8414.

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, HeaderValue};
use latimer_outbound::{Client as Http, Limits};
use serde::Deserialize;

use super::server::{AuthorizationServer, OAuthClient};
use crate::error::Error;

/// Where the description of an OpenID provider is, below its name.
const WELL_KNOWN: &str = "/.well-known/openid-configuration";

/// An authorization server, as it describes itself.
///
/// ```no_run
/// # use latimer_client::credentials::oauth::{CodeFlow, OAuthClient, Provider};
/// # use latimer_client::outbound::{Client, Guard, Rules};
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let http = Client::builder(Guard::new(Rules::default())).build()?;
/// let url = "https://login.example/.well-known/openid-configuration";
/// let provider = Provider::discover(&http, url).await?;
/// let server = provider.server(http, OAuthClient::new("our name there"));
/// let login = provider.authorization_url.map(|url| CodeFlow::new(server, url));
/// # drop(login);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Deserialize)]
pub struct Provider {
    issuer: String,
    /// Where tokens are got.
    #[serde(rename = "token_endpoint")]
    pub token_url: String,
    /// Where somebody logs in with a browser.
    #[serde(rename = "authorization_endpoint")]
    pub authorization_url: Option<String>,
    /// Where a code for another device is got.
    #[serde(rename = "device_authorization_endpoint")]
    pub device_url: Option<String>,
    grant_types_supported: Option<Vec<String>>,
}

impl Provider {
    /// Reads what a server says about itself at a URL.
    ///
    /// # Errors
    /// [`Error::Credentials`] when it says nothing, or calls itself by a name that is not the URL's.
    pub async fn discover(http: &Http, url: &str) -> Result<Self, Error> {
        let wrong = |problem: &dyn std::fmt::Display| {
            Error::Credentials(format!("the authorization server: {problem}"))
        };
        let request =
            Request::get(url).header(ACCEPT, HeaderValue::from_static("application/json"));
        let request = request.body(Bytes::new()).map_err(|_| wrong(&"it has no usable address"))?;
        let response = http.send(request, &Limits::default()).await.map_err(|it| wrong(&it))?;
        if !response.status().is_success() {
            let status = response.status().as_u16();
            return Err(wrong(&format_args!("it does not describe itself, HTTP status {status}")));
        }
        let read = serde_json::from_slice::<Self>(response.body());
        let provider = read.map_err(|_| wrong(&"its description cannot be read"))?;
        // Or it could pretend to be another one, whose tokens are worth more.
        if url
            .strip_suffix(WELL_KNOWN)
            .is_some_and(|it| it != provider.issuer.trim_end_matches('/'))
        {
            return Err(wrong(&"it describes another one"));
        }
        Ok(provider)
    }

    /// The server, as a client sees it. Whoever asks for it vouches for the place where it gives
    /// tokens: it is shown the client's secret.
    #[must_use]
    pub fn server(&self, http: Http, client: OAuthClient) -> AuthorizationServer {
        AuthorizationServer::new(http, client, self.token_url.as_str())
    }

    /// Whether it may know a grant. Who lists none may know any.
    pub(in crate::credentials) fn grants(&self, grant: &str) -> bool {
        let known = self.grant_types_supported.as_ref();
        known.is_none_or(|known| known.iter().any(|it| it == grant))
    }
}
