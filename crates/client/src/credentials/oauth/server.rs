//! The authorization server: where tokens are got.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request};
use latimer_outbound::{Client as Http, Limits};
use latimer_protocol::Secret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use crate::credentials::sensitive;
use crate::error::Error;
use crate::transport::origin;

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
        let of = |url: &str| Url::parse(url).ok().and_then(|url| origin(&url));
        let Some(server) = of(url) else { return false };
        agent == Some(&*server) || self.servers.iter().any(|it| of(it) == Some(server.clone()))
    }
}

/// An authorization server, as one client sees it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AuthorizationServer {
    http: Http,
    client: OAuthClient,
    token_url: String,
}

impl AuthorizationServer {
    /// The server that gives tokens at an address. Whoever names it vouches for it: it is shown the
    /// client's secret.
    #[must_use]
    pub fn new(http: Http, client: OAuthClient, token_url: impl Into<String>) -> Self {
        Self { http, client, token_url: token_url.into() }
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
        let response = self.http.send(request, &Limits::default()).await;
        let response = response.map_err(|failure| Refusal::other(&failure))?;
        let (status, body) = (response.status(), response.body());
        if status.is_success() {
            let unreadable = |_| Refusal::other(&"its answer is not what the grant asks for");
            return serde_json::from_slice(body).map_err(unreadable);
        }
        match serde_json::from_slice::<Said>(body) {
            Ok(said) => Err(Refusal { code: said.error, words: said.error_description }),
            Err(_) => Err(Refusal::other(&format_args!("it answers HTTP status {status}"))),
        }
    }

    fn request(&self, url: &str, form: &[(&str, &str)]) -> Result<Request<Bytes>, Error> {
        let mut body = Serializer::new(String::new());
        body.extend_pairs(form);
        // RFC 6749 §2.3.1: who has a secret shows it in a header, who has none says a name.
        let shown = match &self.client.secret {
            Some(secret) => {
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let pair = format!("{}:{}", encoded(&self.client.id), encoded(secret.reveal()));
                Some(sensitive(&format!("Basic {}", STANDARD.encode(pair)))?)
            }
            None => {
                body.append_pair("client_id", &self.client.id);
                None
            }
        };
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

/// Why there is no token. Its words are those of the server, made safe to show.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    /// The code of RFC 6749 §5.2 or RFC 8628 §3.5; empty when it was nothing of the kind.
    pub(super) code: String,
    words: Option<String>,
}

impl Refusal {
    pub(super) fn other(problem: &dyn std::fmt::Display) -> Self {
        Self { code: String::new(), words: Some(problem.to_string()) }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let words = [Some(refusal.code), refusal.words].into_iter().flatten();
        let words: Vec<String> = words.filter(|it| !it.is_empty()).map(|it| shown(&it)).collect();
        Self::Credentials(format!("the authorization server: {}", words.join(": ")))
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
        let header = sensitive(&format!("Bearer {}", self.access_token.reveal()));
        let header = header.map_err(|_| Refusal::other(&"its token fits into no header"))?;
        // Renewed early, so that it does not expire on its way.
        let early = |seconds: u64| seconds.saturating_sub((seconds / 10).min(60));
        let lasts = self.expires_in.map(|it| Duration::from_secs(early(it)));
        let until = lasts.and_then(|it| Instant::now().checked_add(it));
        Ok(Token { header, until, refresh: self.refresh_token })
    }
}

/// A token.
#[derive(Clone, Debug)]
pub(in crate::credentials) struct Token {
    /// As it is shown.
    pub(in crate::credentials) header: HeaderValue,
    /// Until when it is good; for ever if nobody said.
    pub(super) until: Option<Instant>,
    /// What to get the next one with.
    pub(super) refresh: Option<Secret>,
}

impl Token {
    pub(super) fn is_good(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }
}
