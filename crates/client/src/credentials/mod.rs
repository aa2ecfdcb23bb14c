//! Who we are to an agent: what a request shows, and where.
//!
//! A credential belongs to an origin, the one it was set up for. It is shown there and nowhere else:
//! not where a redirect leads, and not at an address that somebody wrote into a card.

pub mod oauth;
mod shown;
mod wallet;

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use latimer_protocol::Secret;

use oauth::Tokens;
pub(crate) use shown::Shown;
pub(crate) use wallet::Met;
pub use wallet::Wallet;

use crate::error::Error;
use crate::transport::origin_of;

/// What is shown to an agent so that it knows who asks. Cheap to clone.
///
/// ```
/// # use latimer_client::{Credentials, KeyPlace};
/// # use latimer_protocol::Secret;
/// let token = Credentials::bearer(Secret::new("t0ken"))?;
/// let key = Credentials::api_key(KeyPlace::Header, "X-API-Key", Secret::new("k3y"))?;
/// let both = token.and(key);
/// assert_eq!(format!("{both:?}"), "Credentials(\"bearer token, API key\")");
/// # Ok::<(), latimer_client::Error>(())
/// ```
#[derive(Clone)]
pub struct Credentials(Vec<Kind>);

#[derive(Clone)]
enum Kind {
    Header { what: &'static str, name: HeaderName, value: HeaderValue },
    Headers(HeaderMap),
    Query { name: String, value: Secret },
    Cookie { name: String, value: Secret },
    Token(Tokens),
}

/// Where an API key goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// Into a header.
    Header,
    /// Into the query of the address. gRPC has none.
    Query,
    /// Into a cookie.
    Cookie,
}

impl Credentials {
    /// A token in the `Authorization` header.
    ///
    /// # Errors
    /// [`Error::Setup`] when it holds characters that no header can carry.
    pub fn bearer(token: Secret) -> Result<Self, Error> {
        authorization("bearer token", &format!("Bearer {}", token.reveal()))
    }

    /// A user and a password in the `Authorization` header.
    ///
    /// # Errors
    /// [`Error::Setup`] when the user's name holds a colon.
    pub fn basic(user: &str, password: &Secret) -> Result<Self, Error> {
        if user.contains(':') {
            return Err(Error::Setup("the name of a user cannot hold a colon".into()));
        }
        let pair = STANDARD.encode(format!("{user}:{}", password.reveal()));
        authorization("password", &format!("Basic {pair}"))
    }

    /// A key in the place, and under the name, that the agent expects it.
    ///
    /// # Errors
    /// [`Error::Setup`] when the place cannot carry the name or the key.
    pub fn api_key(place: KeyPlace, name: &str, key: Secret) -> Result<Self, Error> {
        let kind = match place {
            KeyPlace::Header => {
                let wrong = |_| Error::Setup(format!("{name:?} is not the name of a header"));
                let name = HeaderName::try_from(name).map_err(wrong)?;
                Kind::Header { what: "API key", name, value: sensitive(key.reveal())? }
            }
            KeyPlace::Query => Kind::Query { name: name.to_owned(), value: key },
            KeyPlace::Cookie => {
                let plain = |text: &str| !text.contains([';', ',', ' ', '"', '\\']);
                if !plain(name) || !plain(key.reveal()) || name.contains('=') {
                    return Err(Error::Setup("the API key cannot stand in a cookie".into()));
                }
                Kind::Cookie { name: name.to_owned(), value: key }
            }
        };
        Ok(Self(vec![kind]))
    }

    /// Tokens of an authorization server, renewed as they expire.
    #[must_use]
    pub fn tokens(tokens: Tokens) -> Self {
        Self(vec![Kind::Token(tokens)])
    }

    /// Nothing.
    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    /// Headers of any kind, each of them as secret as a key.
    #[must_use]
    pub fn headers(headers: &HeaderMap) -> Self {
        let mut headers = headers.clone();
        headers.values_mut().for_each(|it| it.set_sensitive(true));
        Self(vec![Kind::Headers(headers)])
    }

    /// These and others.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// These, for one origin: that of a URL.
    ///
    /// # Errors
    /// [`Error::Setup`] when it is no URL of HTTP.
    pub fn bound_to(self, url: &str) -> Result<Bound, Error> {
        let wrong = || Error::Setup("credentials are for an http or https URL".into());
        Ok(Bound { origin: origin_of(url).ok_or_else(wrong)?.into(), credentials: self })
    }
}

fn authorization(what: &'static str, value: &str) -> Result<Credentials, Error> {
    let name = http::header::AUTHORIZATION;
    Ok(Credentials(vec![Kind::Header { what, name, value: sensitive(value)? }]))
}

fn sensitive(text: &str) -> Result<HeaderValue, Error> {
    let wrong = |_| Error::Setup("a credential holds characters that no header can carry".into());
    let mut value = HeaderValue::try_from(text).map_err(wrong)?;
    value.set_sensitive(true);
    Ok(value)
}

impl fmt::Debug for Credentials {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<_> = self.0.iter().map(Kind::what).collect();
        out.debug_tuple("Credentials").field(&kinds.join(", ")).finish()
    }
}

impl Kind {
    fn what(&self) -> &'static str {
        match self {
            Self::Header { what, .. } => what,
            Self::Headers(_) => "headers",
            Self::Query { .. } | Self::Cookie { .. } => "API key",
            Self::Token(_) => "OAuth token",
        }
    }
}

/// Credentials, and the one origin they are shown at.
#[derive(Clone, Debug)]
pub struct Bound {
    origin: Arc<str>,
    credentials: Credentials,
}

impl Bound {
    /// The origin.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Adds them to what a request shows.
    pub(crate) async fn show(&self, shown: &mut Shown) -> Result<(), Error> {
        for kind in &self.credentials.0 {
            match kind {
                Kind::Header { name, value, .. } => shown.header(name.clone(), value.clone()),
                Kind::Headers(headers) => shown.headers(headers.clone()),
                Kind::Query { name, value } => shown.parameter(name, value.reveal()),
                Kind::Cookie { name, value } => shown.cookie(name, value.reveal()),
                Kind::Token(tokens) => shown.token(tokens, tokens.token().await?),
            }
        }
        Ok(())
    }
}
