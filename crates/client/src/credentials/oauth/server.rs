//! The token endpoint of an authorization server.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request, StatusCode};
use latimer_outbound::{HttpClient as Http, RequestLimits};
use latimer_protocol::{Secret, truncate_for_display};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use url::form_urlencoded::{Serializer, byte_serialize};

use crate::credentials::sensitive_header;
use crate::error::Error;
use crate::transport::parse_origin;

/// Maximum length of the server's error text in an error.
const MAX_DISPLAYED_CHARS: usize = 120;

/// Registration of a client with an authorization server.
#[derive(Clone, Debug)]
pub struct OAuthClient {
    /// OAuth client id registered with the authorization server.
    pub client_id: String,
    /// OAuth client secret; `None` for public clients.
    pub client_secret: Option<Secret>,
    /// Scopes to request.
    pub scopes: Vec<String>,
    /// Authorization servers that may receive the secret, each as any URL of its origin. A server
    /// at the agent's own origin may always receive it.
    pub trusted_servers: Vec<String>,
}

impl OAuthClient {
    /// Creates a public client with default scopes.
    pub fn new(client_id: impl Into<String>) -> Self {
        Self {
            client_id: client_id.into(),
            client_secret: None,
            scopes: Vec::new(),
            trusted_servers: Vec::new(),
        }
    }

    /// Returns the authorization servers that may receive the secret.
    pub(crate) fn trusted_servers(&self) -> &[String] {
        &self.trusted_servers
    }

    /// Returns whether the server at a URL may receive the secret, for an agent at this origin.
    pub(super) fn trusts(&self, url: &str, agent_origin: Option<&str>) -> bool {
        let Some(server_origin) = parse_origin(url) else { return false };
        agent_origin == Some(&*server_origin)
            || self
                .trusted_servers
                .iter()
                .any(|it| parse_origin(it).as_ref() == Some(&server_origin))
    }
}

/// Token endpoint of an authorization server, with the registration of the client that calls it.
#[derive(Clone, Debug)]
pub struct AuthorizationServer {
    http: Http,
    client: OAuthClient,
    token_url: String,
    secret_location: SecretLocation,
}

/// Part of a token request that carries the client secret (RFC 6749, section 2.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SecretLocation {
    /// The `Authorization` header.
    #[default]
    Header,
    /// The form in the body.
    Form,
}

impl AuthorizationServer {
    /// Creates the token endpoint at `token_url`. The caller trusts the server: it receives the client
    /// secret.
    #[must_use]
    pub fn new(http: Http, client: OAuthClient, token_url: impl Into<String>) -> Self {
        Self {
            http,
            client,
            token_url: token_url.into(),
            secret_location: SecretLocation::default(),
        }
    }

    pub(super) fn with_secret_location(self, secret_location: SecretLocation) -> Self {
        Self { secret_location, ..self }
    }

    pub(super) fn client(&self) -> &OAuthClient {
        &self.client
    }

    /// Requests a token.
    pub(super) async fn request_token(&self, form: &[(&str, &str)]) -> Result<Token, TokenError> {
        self.post_form::<TokenResponse>(&self.token_url, form).await?.into_token()
    }

    /// Converts the error of a token request.
    pub(super) fn token_request_error(&self, error: TokenError) -> Error {
        error.into_client_error(&self.token_url)
    }

    /// Sends a form with the credentials of the client.
    pub(super) async fn post_form<T: DeserializeOwned>(
        &self,
        url: &str,
        form: &[(&str, &str)],
    ) -> Result<T, TokenError> {
        let request = self.build_request(url, form).map_err(|error| TokenError::other(&error))?;
        let response = self.http.send(request, &RequestLimits::default()).await;
        let response = response.map_err(|error| match error.is_retryable() {
            true => TokenError::Transient(error.to_string()),
            false => TokenError::other(&error),
        })?;
        let (status, body) = (response.status(), response.body());
        if status.is_success() {
            let malformed = |_| TokenError::other(&"its response is not that of a token endpoint");
            return serde_json::from_slice(body).map_err(malformed);
        }
        let problem = format!("it returned HTTP status {status}");
        match serde_json::from_slice::<ErrorResponse>(body) {
            _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                Err(TokenError::Transient(problem))
            }
            Ok(error_response) => Err(TokenError::Denied {
                code: error_response.error,
                description: error_response.error_description,
            }),
            Err(_) => Err(TokenError::Other(problem)),
        }
    }

    fn build_request(&self, url: &str, form: &[(&str, &str)]) -> Result<Request<Bytes>, Error> {
        let OAuthClient { client_id, client_secret, .. } = &self.client;
        let mut body = Serializer::new(String::new());
        body.extend_pairs(form);
        let authorization = match client_secret {
            Some(secret) if self.secret_location == SecretLocation::Header => {
                Some(basic_authorization(client_id, secret)?)
            }
            Some(secret) => {
                body.append_pair("client_secret", secret.reveal());
                None
            }
            None => None,
        };
        // The form identifies a client that the header does not; some forms require the id in any
        // case.
        if authorization.is_none() && !form.iter().any(|(name, _)| *name == "client_id") {
            body.append_pair("client_id", client_id);
        }
        let invalid_url =
            |_| Error::InvalidSetup("the URL of the token endpoint is invalid".into());
        let body = Bytes::from(body.finish());
        let mut request = Request::post(url).body(body).map_err(invalid_url)?;
        let headers = request.headers_mut();
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.extend(authorization.map(|it| (AUTHORIZATION, it)));
        Ok(request)
    }
}

/// Encodes client id and secret for the header.
fn basic_authorization(client_id: &str, client_secret: &Secret) -> Result<HeaderValue, Error> {
    let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encode(client_id), encode(client_secret.reveal()));
    sensitive_header(&format!("Basic {}", STANDARD.encode(pair)))
}

/// Reason why a request to an authorization server failed.
#[derive(Clone, Debug)]
pub(super) enum TokenError {
    /// Error response of the server.
    Denied {
        /// Code of RFC 6749, section 5.2, or RFC 8628, section 3.5.
        code: String,
        /// Human-readable description.
        description: Option<String>,
    },
    /// The server did not answer or is temporarily unavailable.
    Transient(String),
    /// The tokens of a login have expired and cannot be renewed. No request was sent.
    LoginExpired,
    /// Any other failure.
    Other(String),
}

impl TokenError {
    pub(super) fn other(problem: &dyn std::fmt::Display) -> Self {
        Self::Other(problem.to_string())
    }

    /// Converts the error of a request to `url`. Texts of the server are truncated, and their control
    /// characters are removed.
    pub(super) fn into_client_error(self, url: &str) -> Error {
        let displayed = |text: &str| truncate_for_display(text, MAX_DISPLAYED_CHARS);
        let problem = match self {
            Self::LoginExpired => {
                let problem = "the token has expired and cannot be renewed: log in again";
                return Error::NoCredentials(problem.into());
            }
            Self::Denied { code, description: Some(description) } => {
                format!("{}: {}", displayed(&code), displayed(&description))
            }
            Self::Denied { code, description: None } => displayed(&code),
            Self::Transient(problem) | Self::Other(problem) => problem,
        };
        let origin = display_origin(url);
        Error::NoCredentials(format!(
            "the request to the authorization server {origin} failed: {problem}"
        ))
    }
}

/// Returns the origin of an authorization server for an error message.
pub(super) fn display_origin(url: &str) -> String {
    parse_origin(url).unwrap_or_else(|| "with an invalid URL".into())
}

#[derive(Deserialize)]
struct ErrorResponse {
    error: String,
    error_description: Option<String>,
}

/// Successful response of the token endpoint.
#[derive(Deserialize)]
struct TokenResponse {
    access_token: Secret,
    token_type: String,
    expires_in: Option<u64>,
    refresh_token: Option<Secret>,
}

impl TokenResponse {
    fn into_token(self) -> Result<Token, TokenError> {
        if !self.token_type.eq_ignore_ascii_case("bearer") {
            return Err(TokenError::other(&"its tokens are not bearer tokens"));
        }
        let lifetime = self.expires_in.map(Duration::from_secs);
        let expires_at = lifetime.and_then(|it| SystemTime::now().checked_add(it));
        let token = Token::new(self.access_token, expires_at, self.refresh_token);
        token.map_err(|_| {
            TokenError::other(&"its token contains characters that are invalid in headers")
        })
    }
}

/// An access token.
#[derive(Clone, Debug)]
pub(in crate::credentials) struct Token {
    /// Value of the `Authorization` header.
    header: HeaderValue,
    /// Token without a prefix.
    pub(super) access_token: Secret,
    /// Expiry; `None` if the server declares none.
    pub(super) expires_at: Option<SystemTime>,
    /// Refresh token.
    pub(super) refresh_token: Option<Secret>,
    /// Time until which the token is used.
    renew_at: Option<Instant>,
}

impl Token {
    pub(in crate::credentials) fn header(&self) -> &HeaderValue {
        &self.header
    }

    pub(super) fn new(
        access_token: Secret,
        expires_at: Option<SystemTime>,
        refresh_token: Option<Secret>,
    ) -> Result<Self, Error> {
        let header = sensitive_header(&format!("Bearer {}", access_token.reveal()))?;
        let now = SystemTime::now();
        let lifetime = expires_at.map(|it| it.duration_since(now).unwrap_or_default());
        // Renewed early, so that it does not expire in transit.
        let usable_for =
            lifetime.map(|it| it.saturating_sub((it / 10).min(Duration::from_secs(60))));
        let renew_at = usable_for.and_then(|it| Instant::now().checked_add(it));
        Ok(Self { header, access_token, expires_at, refresh_token, renew_at })
    }

    pub(super) fn is_valid(&self) -> bool {
        self.renew_at.is_none_or(|renew_at| Instant::now() < renew_at)
    }
}
