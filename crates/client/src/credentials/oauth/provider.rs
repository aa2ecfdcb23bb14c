//! What an authorization server says about itself: OpenID Connect Discovery, and RFC 8414.

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, HeaderValue};
use latimer_outbound::{HttpClient as Http, RequestLimits};
use serde::Deserialize;

use super::code::CodeFlow;
use super::device::DeviceFlow;
use super::server::{AuthorizationServer, OAuthClient, SecretLocation};
use crate::error::Error;
use crate::transport::parse_origin;

/// An authorization server, as it describes itself.
///
/// ```no_run
/// # use latimer_client::credentials::oauth::{OAuthClient, OAuthProvider};
/// # use latimer_client::outbound::{Guard, HttpClient, Rules};
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let http = HttpClient::builder(Guard::new(Rules::default())).build()?;
/// let url = "https://login.example/.well-known/openid-configuration";
/// let provider = OAuthProvider::discover(&http, url).await?;
/// let flow = provider.code_flow(http, OAuthClient::new("our name there"))?;
/// # drop(flow);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OAuthProvider {
    /// Where tokens are got.
    pub token_url: String,
    /// Where somebody logs in with a browser.
    pub authorization_url: Option<String>,
    /// Where a code for another device is got.
    pub device_url: Option<String>,
    /// The grants it knows; any, if it lists none.
    pub(super) supported_grants: Option<Vec<String>>,
    pub(super) secret_location: SecretLocation,
    pub(super) trust_source: TrustSource,
}

/// Who named an authorization server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrustSource {
    /// Whoever calls the agent, and so vouches for it.
    Caller,
    /// A card, which is a stranger's.
    Card,
}

impl OAuthProvider {
    /// Reads what a server says about itself at a URL.
    ///
    /// # Errors
    /// [`Error::NoCredentials`] when it says nothing, or calls itself by another name than the URL does.
    /// Where the name is no part of the URL, the two must be of one origin.
    pub async fn discover(http: &Http, url: &str) -> Result<Self, Error> {
        let metadata_error = |problem: &dyn std::fmt::Display| {
            Error::NoCredentials(format!("the authorization server: {problem}"))
        };
        let request =
            Request::get(url).header(ACCEPT, HeaderValue::from_static("application/json"));
        let request =
            request.body(Bytes::new()).map_err(|_| metadata_error(&"it has no usable address"))?;
        let response = http
            .send(request, &RequestLimits::default())
            .await
            .map_err(|it| metadata_error(&it))?;
        if !response.status().is_success() {
            let status = response.status().as_u16();
            return Err(metadata_error(&format_args!(
                "it does not describe itself, HTTP status {status}"
            )));
        }
        let parsed = serde_json::from_slice::<ServerMetadata>(response.body());
        let metadata = parsed.map_err(|_| metadata_error(&"its description cannot be read"))?;
        // Or it could pretend to be another one, whose tokens are worth more.
        if !issuer_matches_url(url, &metadata.issuer) {
            return Err(metadata_error(&"it describes another one"));
        }
        Ok(metadata.into())
    }

    /// The server, as a client sees it. Whoever asks for it vouches for the place where it gives
    /// tokens: it is shown the client's secret.
    #[must_use]
    pub fn server(&self, http: Http, client: OAuthClient) -> AuthorizationServer {
        AuthorizationServer::new(http, client, self.token_url.as_str())
            .with_secret_location(self.secret_location)
    }

    /// Lets somebody log in with a browser.
    ///
    /// # Errors
    /// [`Error::NoCredentials`] when the server has no page for it, or a card names a server that is not
    /// trusted. One that gives tokens at the origin of its page is, unless the client has a secret; of
    /// any other one both origins must be among the [servers](OAuthClient::trusted_servers) of the client.
    pub fn code_flow(&self, http: Http, client: OAuthClient) -> Result<CodeFlow, Error> {
        let login_url = self
            .authorization_url
            .as_deref()
            .ok_or_else(|| missing_feature_error("page to log in at"))?;
        self.check_trusted(login_url, &client)?;
        Ok(CodeFlow::new(self.server(http, client), login_url))
    }

    /// Lets somebody log in on another device.
    ///
    /// # Errors
    /// As [`code_flow`](Self::code_flow).
    pub fn device_flow(&self, http: Http, client: OAuthClient) -> Result<DeviceFlow, Error> {
        let url = self
            .device_url
            .as_deref()
            .ok_or_else(|| missing_feature_error("codes for other devices"))?;
        self.check_trusted(url, &client)?;
        Ok(DeviceFlow::new(self.server(http, client), url))
    }

    /// Whether it may be told what a login that begins at a URL ends with.
    fn check_trusted(&self, login_url: &str, client: &OAuthClient) -> Result<(), Error> {
        // A card could let somebody log in at one server, and have the code brought to another.
        let is_same_origin = client.client_secret.is_none()
            && parse_origin(login_url) == parse_origin(&self.token_url);
        // And a secret is shown wherever a login is begun or ended by us.
        let untrusted =
            [login_url, &self.token_url].into_iter().find(|url| !client.trusts(url, None));
        let Some(untrusted) =
            untrusted.filter(|_| self.trust_source != TrustSource::Caller && !is_same_origin)
        else {
            return Ok(());
        };
        let origin = parse_origin(untrusted).unwrap_or_else(|| "an address that is none".into());
        let problem = format!("the card has a login at {origin}, which nobody trusts");
        Err(Error::NoCredentials(format!(
            "{problem}: add it to the servers of the client if you do"
        )))
    }

    /// Whether it may know a grant. Who lists none may know any.
    pub(in crate::credentials) fn supports_grant(&self, grant: &str) -> bool {
        self.supported_grants
            .as_ref()
            .is_none_or(|supported| supported.iter().any(|it| it == grant))
    }
}

fn missing_feature_error(feature: &str) -> Error {
    Error::NoCredentials(format!("the authorization server: it has no {feature}"))
}

/// What a server says about itself, as it stands there.
#[derive(Deserialize)]
struct ServerMetadata {
    issuer: String,
    token_endpoint: String,
    authorization_endpoint: Option<String>,
    device_authorization_endpoint: Option<String>,
    grant_types_supported: Option<Vec<String>>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
}

impl From<ServerMetadata> for OAuthProvider {
    fn from(metadata: ServerMetadata) -> Self {
        let methods = &metadata.token_endpoint_auth_methods_supported;
        let supports = |method: &str| methods.iter().any(|it| it == method);
        let uses_form = supports("client_secret_post") && !supports("client_secret_basic");
        Self {
            token_url: metadata.token_endpoint,
            authorization_url: metadata.authorization_endpoint,
            device_url: metadata.device_authorization_endpoint,
            supported_grants: metadata.grant_types_supported,
            secret_location: if uses_form { SecretLocation::Form } else { SecretLocation::Header },
            trust_source: TrustSource::Caller,
        }
    }
}

/// Whether whoever describes itself at a URL may have this name.
fn issuer_matches_url(url: &str, issuer: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let expected_issuer = WELL_KNOWN_PATHS.iter().find_map(|well_known_path| {
        let (before, after) = path.split_once(well_known_path)?;
        let is_whole_segment = after.is_empty() || after.starts_with('/');
        is_whole_segment.then(|| format!("{before}{after}"))
    });
    match expected_issuer {
        Some(expected) => expected.trim_end_matches('/') == issuer.trim_end_matches('/'),
        None => parse_origin(url).is_some() && parse_origin(url) == parse_origin(issuer),
    }
}

/// Where servers describe themselves: behind their name, or between its host and its path
/// (RFC 8414 §3.1).
const WELL_KNOWN_PATHS: [&str; 2] =
    ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_issuer_must_match_its_url() {
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
            assert_eq!(issuer_matches_url(&url, issuer), want, "{url} {issuer}");
        }
    }
}
