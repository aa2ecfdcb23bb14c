//! What an authorization server says about itself: OpenID Connect Discovery, and RFC 8414.

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, HeaderValue};
use latimer_outbound::{HttpClient as Http, RequestLimits};
use serde::Deserialize;

use super::code::CodeFlow;
use super::device::DeviceFlow;
use super::server::{AuthorizationServer, OAuthClient, SecretPlace};
use crate::error::Error;
use crate::transport::origin_of;

/// An authorization server, as it describes itself.
///
/// ```no_run
/// # use latimer_client::credentials::oauth::{OAuthClient, Provider};
/// # use latimer_client::outbound::{Client, Guard, Rules};
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let http = Client::builder(Guard::new(Rules::default())).build()?;
/// let url = "https://login.example/.well-known/openid-configuration";
/// let provider = Provider::discover(&http, url).await?;
/// let flow = provider.code_flow(http, OAuthClient::new("our name there"))?;
/// # drop(flow);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Provider {
    /// Where tokens are got.
    pub token_url: String,
    /// Where somebody logs in with a browser.
    pub authorization_url: Option<String>,
    /// Where a code for another device is got.
    pub device_url: Option<String>,
    /// The grants it knows; any, if it lists none.
    pub(super) grants: Option<Vec<String>>,
    pub(super) secret: SecretPlace,
    pub(super) named_by: NamedBy,
}

/// Who named an authorization server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedBy {
    /// Whoever calls the agent, and so vouches for it.
    Caller,
    /// A card, which is a stranger's.
    Card,
}

impl Provider {
    /// Reads what a server says about itself at a URL.
    ///
    /// # Errors
    /// [`Error::Credentials`] when it says nothing, or calls itself by another name than the URL does.
    /// Where the name is no part of the URL, the two must be of one origin.
    pub async fn discover(http: &Http, url: &str) -> Result<Self, Error> {
        let wrong = |problem: &dyn std::fmt::Display| {
            Error::Credentials(format!("the authorization server: {problem}"))
        };
        let request =
            Request::get(url).header(ACCEPT, HeaderValue::from_static("application/json"));
        let request = request.body(Bytes::new()).map_err(|_| wrong(&"it has no usable address"))?;
        let response =
            http.send(request, &RequestLimits::default()).await.map_err(|it| wrong(&it))?;
        if !response.status().is_success() {
            let status = response.status().as_u16();
            return Err(wrong(&format_args!("it does not describe itself, HTTP status {status}")));
        }
        let read = serde_json::from_slice::<Description>(response.body());
        let description = read.map_err(|_| wrong(&"its description cannot be read"))?;
        // Or it could pretend to be another one, whose tokens are worth more.
        if !names(url, &description.issuer) {
            return Err(wrong(&"it describes another one"));
        }
        Ok(description.into())
    }

    /// The server, as a client sees it. Whoever asks for it vouches for the place where it gives
    /// tokens: it is shown the client's secret.
    #[must_use]
    pub fn server(&self, http: Http, client: OAuthClient) -> AuthorizationServer {
        AuthorizationServer::new(http, client, self.token_url.as_str()).with_secret_in(self.secret)
    }

    /// Lets somebody log in with a browser.
    ///
    /// # Errors
    /// [`Error::Credentials`] when the server has no page for it, or a card names a server that is not
    /// trusted. One that gives tokens at the origin of its page is, unless the client has a secret; of
    /// any other one both origins must be among the [servers](OAuthClient::servers) of the client.
    pub fn code_flow(&self, http: Http, client: OAuthClient) -> Result<CodeFlow, Error> {
        let page = self.authorization_url.as_deref().ok_or_else(|| lacks("page to log in at"))?;
        self.check(page, &client)?;
        Ok(CodeFlow::new(self.server(http, client), page))
    }

    /// Lets somebody log in on another device.
    ///
    /// # Errors
    /// As [`code_flow`](Self::code_flow).
    pub fn device_flow(&self, http: Http, client: OAuthClient) -> Result<DeviceFlow, Error> {
        let url = self.device_url.as_deref().ok_or_else(|| lacks("codes for other devices"))?;
        self.check(url, &client)?;
        Ok(DeviceFlow::new(self.server(http, client), url))
    }

    /// Whether it may be told what a login that begins at a URL ends with.
    fn check(&self, login: &str, client: &OAuthClient) -> Result<(), Error> {
        // A card could let somebody log in at one server, and have the code brought to another.
        let alike = client.secret.is_none() && origin_of(login) == origin_of(&self.token_url);
        // And a secret is shown wherever a login is begun or ended by us.
        let stranger = [login, &self.token_url].into_iter().find(|url| !client.trusts(url, None));
        let Some(stranger) = stranger.filter(|_| self.named_by != NamedBy::Caller && !alike) else {
            return Ok(());
        };
        let place = origin_of(stranger).unwrap_or_else(|| "an address that is none".into());
        let problem = format!("the card has a login at {place}, which nobody trusts");
        Err(Error::Credentials(format!("{problem}: add it to the servers of the client if you do")))
    }

    /// Whether it may know a grant. Who lists none may know any.
    pub(in crate::credentials) fn grants(&self, grant: &str) -> bool {
        self.grants.as_ref().is_none_or(|known| known.iter().any(|it| it == grant))
    }
}

fn lacks(what: &str) -> Error {
    Error::Credentials(format!("the authorization server: it has no {what}"))
}

/// What a server says about itself, as it stands there.
#[derive(Deserialize)]
struct Description {
    issuer: String,
    token_endpoint: String,
    authorization_endpoint: Option<String>,
    device_authorization_endpoint: Option<String>,
    grant_types_supported: Option<Vec<String>>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
}

impl From<Description> for Provider {
    fn from(said: Description) -> Self {
        let methods = &said.token_endpoint_auth_methods_supported;
        let takes = |method: &str| methods.iter().any(|it| it == method);
        let form = takes("client_secret_post") && !takes("client_secret_basic");
        Self {
            token_url: said.token_endpoint,
            authorization_url: said.authorization_endpoint,
            device_url: said.device_authorization_endpoint,
            grants: said.grant_types_supported,
            secret: if form { SecretPlace::Form } else { SecretPlace::Header },
            named_by: NamedBy::Caller,
        }
    }
}

/// Whether whoever describes itself at a URL may have this name.
fn names(url: &str, issuer: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let named = WELL_KNOWN.iter().find_map(|known| {
        let (before, after) = path.split_once(known)?;
        let whole = after.is_empty() || after.starts_with('/');
        whole.then(|| format!("{before}{after}"))
    });
    match named {
        Some(name) => name.trim_end_matches('/') == issuer.trim_end_matches('/'),
        None => origin_of(url).is_some() && origin_of(url) == origin_of(issuer),
    }
}

/// Where servers describe themselves: behind their name, or between its host and its path
/// (RFC 8414 §3.1).
const WELL_KNOWN: [&str; 2] =
    ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_that_of_its_url() {
        let (openid, oauth) =
            (".well-known/openid-configuration", ".well-known/oauth-authorization-server");
        for (url, issuer, want) in [
            (format!("https://a.example/{openid}"), "https://a.example", true),
            (format!("https://a.example/{openid}?app=1"), "https://a.example/", true),
            (format!("https://a.example/x/{openid}"), "https://a.example/x", true),
            (format!("https://a.example/{openid}"), "https://b.example", false),
            (format!("https://a.example/x/{openid}"), "https://a.example/y", false),
            (format!("https://a.example/{oauth}"), "https://a.example/", true),
            (format!("https://a.example/{oauth}/x"), "https://a.example/x", true),
            (format!("https://a.example/{oauth}/x"), "https://a.example", false),
            (format!("https://a.example/{oauth}"), "https://b.example", false),
            ("https://a.example/metadata".into(), "https://a.example/x", true),
            ("https://a.example/metadata".into(), "https://b.example", false),
        ] {
            assert_eq!(names(&url, issuer), want, "{url} {issuer}");
        }
    }
}
