//! Metadata of authorization servers: OpenID Connect Discovery and RFC 8414.

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, HeaderValue};
use latimer_outbound::{HttpClient as Http, RequestLimits};
use serde::Deserialize;

use super::code::CodeFlow;
use super::device::DeviceFlow;
use super::server::{AuthorizationServer, OAuthClient, SecretLocation, display_origin};
use crate::error::Error;
use crate::transport::parse_origin;

/// The endpoints and grants of an authorization server.
///
/// ```no_run
/// # use latimer_client::credentials::oauth::{OAuthClient, OAuthProvider};
/// # use latimer_client::outbound::{Guard, HttpClient, Rules};
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let http = HttpClient::builder(Guard::new(Rules::default())).build()?;
/// let url = "https://login.example/.well-known/openid-configuration";
/// let provider = OAuthProvider::discover(&http, url).await?;
/// let flow = provider.code_flow(http, OAuthClient::new("my-client-id"))?;
/// # drop(flow);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OAuthProvider {
    /// Token endpoint.
    pub token_url: String,
    /// Authorization endpoint, for logins with a browser.
    pub authorization_url: Option<String>,
    /// Device authorization endpoint.
    pub device_url: Option<String>,
    /// Supported grants; `None` if the server lists none, which means any.
    pub(super) supported_grants: Option<Vec<String>>,
    pub(super) secret_location: SecretLocation,
    pub(super) endpoint_source: EndpointSource,
}

/// Source of the endpoints of an authorization server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndpointSource {
    /// The caller, who trusts the server.
    Caller,
    /// A card, which is untrusted.
    Card,
}

impl OAuthProvider {
    /// Fetches the metadata of a server.
    ///
    /// # Errors
    /// [`Error::NoCredentials`] if there is none, or if its issuer does not belong to the URL. If the
    /// URL does not contain the issuer, both must have the same origin.
    pub async fn discover(http: &Http, url: &str) -> Result<Self, Error> {
        let metadata_error = |problem: &dyn std::fmt::Display| {
            let origin = display_origin(url);
            Error::NoCredentials(format!(
                "the authorization server {origin} cannot be used: {problem}"
            ))
        };
        let request =
            Request::get(url).header(ACCEPT, HeaderValue::from_static("application/json"));
        let request =
            request.body(Bytes::new()).map_err(|_| metadata_error(&"its URL is invalid"))?;
        let response = http
            .send(request, &RequestLimits::default())
            .await
            .map_err(|it| metadata_error(&it))?;
        if !response.status().is_success() {
            let status = response.status().as_u16();
            return Err(metadata_error(&format_args!("it has no metadata, HTTP status {status}")));
        }
        let parsed = serde_json::from_slice::<ServerMetadata>(response.body());
        let metadata = parsed.map_err(|_| metadata_error(&"its metadata is invalid"))?;
        // Otherwise a server could impersonate another issuer.
        if !issuer_matches_url(url, &metadata.issuer) {
            return Err(metadata_error(&"its metadata names another issuer"));
        }
        Ok(metadata.into())
    }

    /// Returns the token endpoint for a client. The caller trusts the server: it receives the
    /// client's secret.
    #[must_use]
    pub fn server(&self, http: Http, client: OAuthClient) -> AuthorizationServer {
        AuthorizationServer::new(http, client, self.token_url.as_str())
            .with_secret_location(self.secret_location)
    }

    /// Creates a login with a browser.
    ///
    /// # Errors
    /// [`Error::NoCredentials`] if the server has no authorization endpoint, or if a card names a
    /// server that is not trusted. Without a secret, a server is trusted if its token and
    /// authorization endpoints have the same origin. Otherwise both origins must be among the
    /// `trusted_servers` of the [client](OAuthClient).
    pub fn code_flow(&self, http: Http, client: OAuthClient) -> Result<CodeFlow, Error> {
        let login_url = self
            .authorization_url
            .as_deref()
            .ok_or_else(|| self.missing_endpoint_error("authorization endpoint"))?;
        self.check_trusted(login_url, &client)?;
        Ok(CodeFlow::new(self.server(http, client), login_url))
    }

    /// Creates a login on another device.
    ///
    /// # Errors
    /// Those of [`code_flow`](Self::code_flow).
    pub fn device_flow(&self, http: Http, client: OAuthClient) -> Result<DeviceFlow, Error> {
        let url = self
            .device_url
            .as_deref()
            .ok_or_else(|| self.missing_endpoint_error("device authorization endpoint"))?;
        self.check_trusted(url, &client)?;
        Ok(DeviceFlow::new(self.server(http, client), url))
    }

    /// Checks that the token endpoint may receive the result of a login at `login_url`.
    fn check_trusted(&self, login_url: &str, client: &OAuthClient) -> Result<(), Error> {
        // Otherwise a card could start a login at one server and send the code to another.
        let is_same_origin = client.client_secret.is_none()
            && parse_origin(login_url) == parse_origin(&self.token_url);
        // Both endpoints receive the secret.
        let untrusted =
            [login_url, &self.token_url].into_iter().find(|url| !client.trusts(url, None));
        let Some(untrusted) =
            untrusted.filter(|_| self.endpoint_source != EndpointSource::Caller && !is_same_origin)
        else {
            return Ok(());
        };
        let origin = display_origin(untrusted);
        let problem =
            format!("the card names the authorization server {origin}, which is not trusted");
        Err(Error::NoCredentials(format!(
            "{problem}: if you trust it, add it to `trusted_servers` of the OAuth client"
        )))
    }

    fn missing_endpoint_error(&self, endpoint: &str) -> Error {
        let origin = display_origin(&self.token_url);
        Error::NoCredentials(format!("the authorization server {origin} has no {endpoint}"))
    }

    /// Returns whether the server supports a grant.
    pub(in crate::credentials) fn supports_grant(&self, grant: &str) -> bool {
        self.supported_grants
            .as_ref()
            .is_none_or(|supported| supported.iter().any(|it| it == grant))
    }
}

/// Metadata as the server sends it.
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
            endpoint_source: EndpointSource::Caller,
        }
    }
}

/// Returns whether the metadata at a URL may name this issuer.
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

/// Well-known paths of metadata. OpenID Connect appends one to the issuer; RFC 8414, section 3.1,
/// inserts one between the host and the path of the issuer.
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
