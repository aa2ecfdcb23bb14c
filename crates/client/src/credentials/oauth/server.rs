//! The authorization server: where tokens are got.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request, StatusCode};
use latimer_outbound::{HttpClient as Http, RequestLimits};
use latimer_protocol::Secret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use url::form_urlencoded::{Serializer, byte_serialize};

use crate::credentials::sensitive;
use crate::error::Error;
use crate::transport::origin_of;

/// What an authorization server knows us as.
#[derive(Clone, Debug)]
pub struct OAuthClient {
    /// Our name there.
    pub id: String,
    /// What proves it; none for programs that cannot keep a secret.
    pub secret: Option<Secret>,
    /// What to ask for.
    pub scopes: Vec<String>,
    /// The authorization servers that may be shown the secret, each by any URL of its origin. One at
    /// the agent's own origin may be shown it without.
    pub servers: Vec<String>,
}

impl OAuthClient {
    /// A client of this name, without a secret.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), secret: None, scopes: Vec::new(), servers: Vec::new() }
    }

    /// Whether the server at a URL may be shown the secret, for an agent of this origin.
    pub(in crate::credentials) fn trusts(&self, url: &str, agent: Option<&str>) -> bool {
        let Some(server) = origin_of(url) else { return false };
        agent == Some(&*server)
            || self.servers.iter().any(|it| origin_of(it).as_ref() == Some(&server))
    }
}

/// An authorization server, as one client sees it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AuthorizationServer {
    http: Http,
    client: OAuthClient,
    token_url: String,
    secret: SecretPlace,
}

/// Where the secret of a client goes (RFC 6749 §2.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SecretPlace {
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
        Self { http, client, token_url: token_url.into(), secret: SecretPlace::default() }
    }

    /// The same server, which reads the client's secret in the form and not in a header.
    #[must_use]
    pub fn with_secret_in_form(self) -> Self {
        self.with_secret_in(SecretPlace::Form)
    }

    pub(super) fn with_secret_in(self, secret: SecretPlace) -> Self {
        Self { secret, ..self }
    }

    pub(super) fn client(&self) -> &OAuthClient {
        &self.client
    }

    /// Asks for a token.
    pub(super) async fn token(&self, form: &[(&str, &str)]) -> Result<Token, Refusal> {
        self.post::<Granted>(&self.token_url, form).await?.token()
    }

    /// Posts a form, with what we are known by.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        url: &str,
        form: &[(&str, &str)],
    ) -> Result<T, Refusal> {
        let request = self.request(url, form).map_err(|error| Refusal::other(&error))?;
        let response = self.http.send(request, &RequestLimits::default()).await;
        let response = response.map_err(|failure| match failure.is_retryable() {
            true => Refusal::Passing(failure.to_string()),
            false => Refusal::other(&failure),
        })?;
        let (status, body) = (response.status(), response.body());
        if status.is_success() {
            let unreadable = |_| Refusal::other(&"its answer is not what the grant asks for");
            return serde_json::from_slice(body).map_err(unreadable);
        }
        let told = format!("it answers HTTP status {status}");
        match serde_json::from_slice::<Said>(body) {
            _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                Err(Refusal::Passing(told))
            }
            Ok(said) => Err(Refusal::Said { code: said.error, words: said.error_description }),
            Err(_) => Err(Refusal::Other(told)),
        }
    }

    fn request(&self, url: &str, form: &[(&str, &str)]) -> Result<Request<Bytes>, Error> {
        let OAuthClient { id, secret, .. } = &self.client;
        let mut body = Serializer::new(String::new());
        body.extend_pairs(form);
        let shown = match secret {
            Some(secret) if self.secret == SecretPlace::Header => Some(basic(id, secret)?),
            Some(secret) => {
                body.append_pair("client_secret", secret.reveal());
                None
            }
            None => None,
        };
        // Whoever is not named by a header is by the form; some forms want the name anyway.
        if shown.is_none() && !form.iter().any(|(name, _)| *name == "client_id") {
            body.append_pair("client_id", id);
        }
        let wrong = |_| Error::Setup("the authorization server has no usable address".into());
        let body = Bytes::from(body.finish());
        let mut request = Request::post(url).body(body).map_err(wrong)?;
        let headers = request.headers_mut();
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.extend(shown.map(|it| (AUTHORIZATION, it)));
        Ok(request)
    }
}

/// A name and a secret, as a header shows them.
fn basic(id: &str, secret: &Secret) -> Result<HeaderValue, Error> {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(id), encoded(secret.reveal()));
    sensitive(&format!("Basic {}", STANDARD.encode(pair)))
}

/// Why there is no token. Its words are those of the server, made safe to show.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    /// What the server said.
    Said {
        /// The code of RFC 6749 §5.2 or RFC 8628 §3.5.
        code: String,
        /// What it means, for people.
        words: Option<String>,
    },
    /// The server did not answer, or not now: it may later.
    Passing(String),
    /// Anything else.
    Other(String),
}

impl Refusal {
    pub(super) fn other(problem: &dyn std::fmt::Display) -> Self {
        Self::Other(problem.to_string())
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let words = match refusal {
            Refusal::Said { code, words: Some(words) } => {
                format!("{}: {}", shown(&code), shown(&words))
            }
            Refusal::Said { code, words: None } => shown(&code),
            Refusal::Passing(problem) | Refusal::Other(problem) => problem,
        };
        Self::Credentials(format!("the authorization server: {words}"))
    }
}

fn shown(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).take(120).collect()
}

#[derive(Deserialize)]
struct Said {
    error: String,
    error_description: Option<String>,
}

/// What a server grants.
#[derive(Deserialize)]
struct Granted {
    access_token: Secret,
    token_type: String,
    expires_in: Option<u64>,
    refresh_token: Option<Secret>,
}

impl Granted {
    fn token(self) -> Result<Token, Refusal> {
        if !self.token_type.eq_ignore_ascii_case("bearer") {
            return Err(Refusal::other(&"its tokens are not bearer tokens"));
        }
        let lasts = self.expires_in.map(Duration::from_secs);
        let expires = lasts.and_then(|it| SystemTime::now().checked_add(it));
        let token = Token::new(self.access_token, expires, self.refresh_token);
        token.map_err(|_| Refusal::other(&"its token fits into no header"))
    }
}

/// A token.
#[derive(Clone, Debug)]
pub(in crate::credentials) struct Token {
    /// As it is shown.
    pub(in crate::credentials) header: HeaderValue,
    /// As it was got.
    pub(super) access: Secret,
    /// When it expires; never if nobody said.
    pub(super) expires: Option<SystemTime>,
    /// What to get the next one with.
    pub(super) refresh: Option<Secret>,
    /// Until when it is shown.
    until: Option<Instant>,
}

impl Token {
    pub(super) fn new(
        access: Secret,
        expires: Option<SystemTime>,
        refresh: Option<Secret>,
    ) -> Result<Self, Error> {
        let header = sensitive(&format!("Bearer {}", access.reveal()))?;
        let now = SystemTime::now();
        let lasts = expires.map(|it| it.duration_since(now).unwrap_or_default());
        // Renewed early, so that it does not expire on its way.
        let shown = lasts.map(|it| it.saturating_sub((it / 10).min(Duration::from_secs(60))));
        let until = shown.and_then(|it| Instant::now().checked_add(it));
        Ok(Self { header, access, expires, refresh, until })
    }

    pub(super) fn is_good(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }
}
