//! Credentials, and the origin that receives them.
//!
//! A credential belongs to one origin. It is never sent to another one, neither after a redirect
//! nor because a card names another URL.
//!
//! | module | content |
//! | --- | --- |
//! | `credential_set` | selection of credentials that satisfy a card |
//! | [`oauth`] | tokens from authorization servers |
//! | `request_credentials` | the credentials of one request |

mod credential_set;
#[cfg_attr(not(feature = "oauth"), path = "oauth/disabled.rs")]
pub mod oauth;
mod request_credentials;

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use latimer_protocol::Secret;

pub use credential_set::CredentialSet;
pub(crate) use credential_set::SelectionContext;
use oauth::TokenSource;
pub(crate) use request_credentials::RequestCredentials;

use crate::error::Error;
use crate::transport::parse_origin;

/// Credentials of requests to an agent. Cheap to clone.
///
/// ```
/// # use latimer_client::{ApiKeyLocation, Credentials};
/// # use latimer_protocol::Secret;
/// let token = Credentials::bearer(Secret::new("t0ken"))?;
/// let key = Credentials::api_key(ApiKeyLocation::Header, "X-API-Key", Secret::new("k3y"))?;
/// let both = token.with(key);
/// assert_eq!(format!("{both:?}"), "Credentials(\"bearer token, API key\")");
/// # Ok::<(), latimer_client::Error>(())
/// ```
#[derive(Clone)]
pub struct Credentials(Vec<Credential>);

#[derive(Clone)]
enum Credential {
    Header { description: &'static str, name: HeaderName, value: HeaderValue },
    Headers(HeaderMap),
    Query { name: String, value: Secret },
    Cookie { name: String, value: Secret },
    Token(TokenSource),
}

/// Part of a request that carries an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiKeyLocation {
    /// A header.
    Header,
    /// The query of the URL. gRPC has no query.
    Query,
    /// A cookie.
    Cookie,
}

impl Credentials {
    /// Creates a token for the `Authorization` header.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] if it contains characters that are invalid in headers.
    pub fn bearer(token: Secret) -> Result<Self, Error> {
        authorization_header("bearer token", &format!("Bearer {}", token.reveal()))
    }

    /// Creates a user and a password for the `Authorization` header.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] if the user contains a colon.
    pub fn basic(user: &str, password: &Secret) -> Result<Self, Error> {
        if user.contains(':') {
            return Err(Error::InvalidSetup("the user name contains a colon".into()));
        }
        let pair = STANDARD.encode(format!("{user}:{}", password.reveal()));
        authorization_header("password", &format!("Basic {pair}"))
    }

    /// Creates an API key with the location and name that the agent expects.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] if the name or the key is invalid at that location.
    pub fn api_key(location: ApiKeyLocation, name: &str, key: Secret) -> Result<Self, Error> {
        let credential = match location {
            ApiKeyLocation::Header => {
                let invalid_name =
                    |_| Error::InvalidSetup(format!("{name:?} is not a header name"));
                let name = HeaderName::try_from(name).map_err(invalid_name)?;
                Credential::Header {
                    description: "API key",
                    name,
                    value: sensitive_header(key.reveal())?,
                }
            }
            ApiKeyLocation::Query => Credential::Query { name: name.to_owned(), value: key },
            ApiKeyLocation::Cookie => {
                let is_cookie_safe = |text: &str| !text.contains([';', ',', ' ', '"', '\\']);
                if !is_cookie_safe(name) || !is_cookie_safe(key.reveal()) || name.contains('=') {
                    return Err(Error::InvalidSetup(
                        "the API key contains characters that are invalid in cookies".into(),
                    ));
                }
                Credential::Cookie { name: name.to_owned(), value: key }
            }
        };
        Ok(Self(vec![credential]))
    }

    /// Creates credentials from tokens of an authorization server, which are renewed as they
    /// expire.
    #[must_use]
    pub fn tokens(source: TokenSource) -> Self {
        Self(vec![Credential::Token(source)])
    }

    /// Creates credentials that send nothing.
    pub(crate) fn empty() -> Self {
        Self(Vec::new())
    }

    /// Creates credentials from headers. Their values are treated as secrets.
    #[must_use]
    pub fn headers(headers: &HeaderMap) -> Self {
        let mut headers = headers.clone();
        headers.values_mut().for_each(|it| it.set_sensitive(true));
        Self(vec![Credential::Headers(headers)])
    }

    /// Adds other credentials.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Binds the credentials to the origin of a URL.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] if `url` is not an http or https URL.
    pub fn bind_to(self, url: &str) -> Result<OriginCredentials, Error> {
        let invalid_url =
            || Error::InvalidSetup("credentials can be bound only to an http or https URL".into());
        Ok(OriginCredentials {
            origin: parse_origin(url).ok_or_else(invalid_url)?.into(),
            credentials: self,
        })
    }
}

fn authorization_header(description: &'static str, value: &str) -> Result<Credentials, Error> {
    let name = http::header::AUTHORIZATION;
    Ok(Credentials(vec![Credential::Header { description, name, value: sensitive_header(value)? }]))
}

fn sensitive_header(text: &str) -> Result<HeaderValue, Error> {
    let invalid = |_| {
        Error::InvalidSetup("a credential contains characters that are invalid in headers".into())
    };
    let mut value = HeaderValue::try_from(text).map_err(invalid)?;
    value.set_sensitive(true);
    Ok(value)
}

impl fmt::Debug for Credentials {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let descriptions: Vec<_> = self.0.iter().map(Credential::description).collect();
        out.debug_tuple("Credentials").field(&descriptions.join(", ")).finish()
    }
}

impl Credential {
    fn description(&self) -> &'static str {
        match self {
            Self::Header { description, .. } => description,
            Self::Headers(_) => "headers",
            Self::Query { .. } | Self::Cookie { .. } => "API key",
            Self::Token(_) => "OAuth token",
        }
    }
}

/// Credentials and the one origin that receives them.
#[derive(Clone, Debug)]
pub struct OriginCredentials {
    origin: Arc<str>,
    credentials: Credentials,
}

impl OriginCredentials {
    /// Returns the origin.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Adds the credentials to those of a request.
    pub(crate) async fn add_to(&self, request: &mut RequestCredentials) -> Result<(), Error> {
        for credential in &self.credentials.0 {
            match credential {
                Credential::Header { name, value, .. } => {
                    request.insert_header(name.clone(), value.clone())
                }
                Credential::Headers(headers) => request.extend_headers(headers.clone()),
                Credential::Query { name, value } => {
                    request.add_query_parameter(name, value.reveal())
                }
                Credential::Cookie { name, value } => request.add_cookie(name, value.reveal()),
                Credential::Token(tokens) => request.insert_token(tokens, tokens.token().await?),
            }
        }
        Ok(())
    }
}
