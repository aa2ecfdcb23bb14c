//! The authorization server: where tokens are got.

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

/// How much of the text of an error response an error shows.
const MAX_DISPLAYED_CHARS: usize = 120;

/// What an authorization server knows us as.
#[derive(Clone, Debug)]
pub struct OAuthClient {
    /// Our name there.
    pub client_id: String,
    /// What proves it; none for programs that cannot keep a secret.
    pub client_secret: Option<Secret>,
    /// What to ask for.
    pub scopes: Vec<String>,
    /// The authorization servers that may be shown the secret, each by any URL of its origin. One at
    /// the agent's own origin may be shown it without.
    pub trusted_servers: Vec<String>,
}

impl OAuthClient {
    /// A client of this name, without a secret.
    pub fn new(client_id: impl Into<String>) -> Self {
        Self {
            client_id: client_id.into(),
            client_secret: None,
            scopes: Vec::new(),
            trusted_servers: Vec::new(),
        }
    }

    /// Whether the server at a URL may be shown the secret, for an agent of this origin.
    pub(in crate::credentials) fn trusts(&self, url: &str, agent_origin: Option<&str>) -> bool {
        let Some(server_origin) = parse_origin(url) else { return false };
        agent_origin == Some(&*server_origin)
            || self
                .trusted_servers
                .iter()
                .any(|it| parse_origin(it).as_ref() == Some(&server_origin))
    }
}

/// An authorization server, as one client sees it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AuthorizationServer {
    http: Http,
    client: OAuthClient,
    token_url: String,
    secret_location: SecretLocation,
}

/// Where the secret of a client goes (RFC 6749 §2.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SecretLocation {
    /// Into the `Authorization` header.
    #[default]
    Header,
    /// Into the form.
    Form,
}

impl AuthorizationServer {
    /// The server that gives tokens at an address. Whoever names it vouches for it: it is shown the
    /// client's secret.
    #[must_use]
    pub fn new(http: Http, client: OAuthClient, token_url: impl Into<String>) -> Self {
        Self {
            http,
            client,
            token_url: token_url.into(),
            secret_location: SecretLocation::default(),
        }
    }

    /// The same server, which reads the client's secret in the form and not in a header.
    #[must_use]
    pub fn with_secret_in_form(self) -> Self {
        self.with_secret_location(SecretLocation::Form)
    }

    pub(super) fn with_secret_location(self, secret_location: SecretLocation) -> Self {
        Self { secret_location, ..self }
    }

    pub(super) fn client(&self) -> &OAuthClient {
        &self.client
    }

    /// Asks for a token.
    pub(super) async fn request_token(&self, form: &[(&str, &str)]) -> Result<Token, TokenError> {
        self.post_form::<TokenResponse>(&self.token_url, form).await?.into_token()
    }

    /// Posts a form, with what we are known by.
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
            let malformed = |_| TokenError::other(&"its answer is not what the grant asks for");
            return serde_json::from_slice(body).map_err(malformed);
        }
        let problem = format!("it answers HTTP status {status}");
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
        // Whoever is not named by a header is by the form; some forms want the name anyway.
        if authorization.is_none() && !form.iter().any(|(name, _)| *name == "client_id") {
            body.append_pair("client_id", client_id);
        }
        let invalid_url =
            |_| Error::InvalidSetup("the authorization server has no usable address".into());
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

/// A name and a secret, as a header shows them.
fn basic_authorization(client_id: &str, client_secret: &Secret) -> Result<HeaderValue, Error> {
    let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encode(client_id), encode(client_secret.reveal()));
    sensitive_header(&format!("Basic {}", STANDARD.encode(pair)))
}

/// Why there is no token. Its words are those of the server, made safe to show.
#[derive(Clone, Debug)]
pub(super) enum TokenError {
    /// What the server said.
    Denied {
        /// The code of RFC 6749 §5.2 or RFC 8628 §3.5.
        code: String,
        /// What it means, for people.
        description: Option<String>,
    },
    /// The server did not answer, or not now: it may later.
    Transient(String),
    /// Anything else.
    Other(String),
}

impl TokenError {
    pub(super) fn other(problem: &dyn std::fmt::Display) -> Self {
        Self::Other(problem.to_string())
    }
}

impl From<TokenError> for Error {
    fn from(error: TokenError) -> Self {
        let displayed = |text: &str| truncate_for_display(text, MAX_DISPLAYED_CHARS);
        let message = match error {
            TokenError::Denied { code, description: Some(description) } => {
                format!("{}: {}", displayed(&code), displayed(&description))
            }
            TokenError::Denied { code, description: None } => displayed(&code),
            TokenError::Transient(problem) | TokenError::Other(problem) => problem,
        };
        Self::NoCredentials(format!("the authorization server: {message}"))
    }
}

#[derive(Deserialize)]
struct ErrorResponse {
    error: String,
    error_description: Option<String>,
}

/// What a server grants.
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
        token.map_err(|_| TokenError::other(&"its token fits into no header"))
    }
}

/// A token.
#[derive(Clone, Debug)]
pub(in crate::credentials) struct Token {
    /// As it is shown.
    pub(in crate::credentials) header: HeaderValue,
    /// As it was got.
    pub(super) access_token: Secret,
    /// When it expires; never if nobody said.
    pub(super) expires_at: Option<SystemTime>,
    /// What to get the next one with.
    pub(super) refresh_token: Option<Secret>,
    /// Until when it is shown.
    renew_at: Option<Instant>,
}

impl Token {
    pub(super) fn new(
        access_token: Secret,
        expires_at: Option<SystemTime>,
        refresh_token: Option<Secret>,
    ) -> Result<Self, Error> {
        let header = sensitive_header(&format!("Bearer {}", access_token.reveal()))?;
        let now = SystemTime::now();
        let lifetime = expires_at.map(|it| it.duration_since(now).unwrap_or_default());
        // Renewed early, so that it does not expire on its way.
        let usable_for =
            lifetime.map(|it| it.saturating_sub((it / 10).min(Duration::from_secs(60))));
        let renew_at = usable_for.and_then(|it| Instant::now().checked_add(it));
        Ok(Self { header, access_token, expires_at, refresh_token, renew_at })
    }

    pub(super) fn is_valid(&self) -> bool {
        self.renew_at.is_none_or(|renew_at| Instant::now() < renew_at)
    }
}
