//! What an operator does to a daemon: through its API while it runs, and otherwise to its store.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderValue, Method, Request, Uri};
use latimer_protocol::Secret;
use latimer_server::outbound::{Guard, HttpClient, RequestError, RequestLimits, Rules};
use latimer_server::{ReplayOutcome, WebhookDispatcher};
use latimer_store::OpenError;
use serde_json::Value;

use crate::config::{Config, Place};
use crate::error::StartError;
use crate::signing::keyring;
use crate::store;
use crate::veil::veil;

/// Somebody who runs a daemon.
#[derive(Debug)]
pub struct Operator(Way);

#[derive(Debug)]
enum Way {
    /// The daemon runs: it is asked.
    Api(Box<Api>),
    /// It does not: nobody else has its store.
    Store(WebhookDispatcher),
}

/// A daemon that runs.
#[derive(Debug)]
struct Api {
    client: HttpClient,
    base: String,
    key: Option<Secret>,
}

/// Why an operator could not do something.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorError {
    /// The store, or the configuration, cannot be used.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The daemon cannot be reached.
    #[error("cannot reach the server at {base}: {source}")]
    Unreachable {
        /// Where it should be.
        base: String,
        /// Why.
        source: RequestError,
    },
    /// The daemon refused.
    #[error("the server at {base} refused: {message}")]
    Refused {
        /// Where it is.
        base: String,
        /// What it said.
        message: String,
    },
    /// The store failed.
    #[error("{0}")]
    Store(latimer_store::Error),
}

impl OperatorError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Start(error) => error.hint(),
            Self::Unreachable { .. } => Some("say where it is with --url"),
            Self::Refused { .. } => Some(
                "it wants the `api_key` of its configuration: name that file with --config, \
                 or set LATIMER_API_KEY",
            ),
            Self::Store(_) => None,
        }
    }
}

impl Operator {
    /// Finds the daemon of a configuration: at `url` if that is given, else by its store, which it
    /// holds while it runs.
    ///
    /// # Errors
    /// When the store can neither be opened nor is held by a daemon.
    pub fn of(
        config: &Config,
        url: Option<&str>,
        key: Option<Secret>,
    ) -> Result<Self, OperatorError> {
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let here = || format!("{scheme}://{}", config.listen);
        // The key of the configuration is for its own server.
        let own = key.clone().or_else(|| config.api_key.clone());
        let api = |base: String| Self::api(base, own.clone(), config);
        if let Some(url) = url.map(|it| it.trim_end_matches('/')) {
            let is_own = url == here() || config.settings.public_url.as_deref() == Some(url);
            return Self::api(url.to_owned(), if is_own { own } else { key }, config);
        }
        match &config.store.place {
            Place::Memory => api(here()),
            Place::Sqlite { path, .. } if !path.exists() => api(here()),
            Place::Sqlite { .. } => match store::open(config, "latimer push dead") {
                Err(StartError::Store(OpenError::Locked { .. })) => api(here()),
                opened => {
                    let push = config.settings.push.clone();
                    let loopback = store::is_private(config);
                    let courier = WebhookDispatcher::new(Arc::from(opened?), push, loopback);
                    let issuer = || config.settings.public_url.clone().unwrap_or_else(here);
                    let failed = |it: latimer_server::outbound::InvalidTls| {
                        StartError::Server(latimer_server::Error::Setting {
                            setting: "push",
                            problem: it.to_string(),
                        })
                    };
                    let courier = courier.map_err(failed)?;
                    Ok(Self(Way::Store(match keyring(config)? {
                        Some(keyring) => courier.with_signer(keyring, issuer()),
                        None => courier,
                    })))
                }
            },
        }
    }

    /// The operator's own server is wherever the operator says.
    fn api(base: String, key: Option<Secret>, config: &Config) -> Result<Self, OperatorError> {
        let uri = base.parse::<Uri>().unwrap_or_default();
        let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        let host = uri.host().unwrap_or_default();
        let target = format!("{host}:{}", uri.port_u16().unwrap_or(usual));
        let rules = Rules { allow: target.parse().into_iter().collect(), allow_loopback: true };
        let refused = |message: String| OperatorError::Refused { base: shown(&base), message };
        let mut client = HttpClient::builder(Guard::new(rules));
        // The server of this configuration is known by its own certificate.
        if let Some(certificate) = config.tls.as_ref().and_then(|it| it.certificate_pem().ok()) {
            client = client.root_certificates(certificate);
        }
        let client = client.build();
        let client = client.map_err(|it| refused(it.to_string()))?;
        Ok(Self(Way::Api(Box::new(Api { client, base, key }))))
    }

    /// What was not delivered, the earliest first.
    ///
    /// # Errors
    /// When the daemon or its store cannot be asked.
    pub async fn dead_letters(&self) -> Result<Vec<Value>, OperatorError> {
        match &self.0 {
            Way::Store(courier) => {
                let letters = courier.dead_letters(usize::MAX).await;
                let letters = letters.map_err(OperatorError::Store)?;
                Ok(letters.iter().map(latimer_server::DeadLetterView::to_json).collect())
            }
            Way::Api(api) => {
                let mut all = Vec::<Value>::new();
                loop {
                    let page = format!("?skip={}", all.len());
                    let mut answer = api.ask(Method::GET, &page).await?.unwrap_or_default();
                    let letters = answer.get_mut("letters").map(Value::take);
                    match letters.and_then(|it| serde_json::from_value::<Vec<_>>(it).ok()) {
                        Some(more) if !more.is_empty() => all.extend(more),
                        _ => return Ok(all),
                    }
                }
            }
        }
    }

    /// Tries once more to deliver something.
    ///
    /// # Errors
    /// When the daemon or its store cannot be asked.
    pub async fn replay(&self, id: &str) -> Result<ReplayOutcome, OperatorError> {
        match &self.0 {
            Way::Store(courier) => courier.replay(id).await.map_err(OperatorError::Store),
            Way::Api(api) => {
                let answer = api.ask(Method::POST, &format!("/{id}/replay")).await?;
                let Some(answer) = answer else { return Ok(ReplayOutcome::NotFound) };
                let reason = answer["reason"].as_str().unwrap_or("no reason was given");
                Ok(match answer["delivered"] == Value::Bool(true) {
                    true => ReplayOutcome::Delivered,
                    false => ReplayOutcome::Failed(reason.to_owned()),
                })
            }
        }
    }

    /// Forgets something; false when there is no such letter.
    ///
    /// # Errors
    /// When the daemon or its store cannot be asked.
    pub async fn forget(&self, id: &str) -> Result<bool, OperatorError> {
        match &self.0 {
            Way::Store(courier) => {
                courier.delete_dead_letter(id).await.map_err(OperatorError::Store)
            }
            Way::Api(api) => Ok(api.ask(Method::DELETE, &format!("/{id}")).await?.is_some()),
        }
    }
}

impl Api {
    /// Asks the daemon; none when it does not know what is meant.
    async fn ask(&self, method: Method, path: &str) -> Result<Option<Value>, OperatorError> {
        let Self { client, base, key } = self;
        let refused = |message: String| OperatorError::Refused { base: shown(base), message };
        let mut request =
            Request::builder().method(method).uri(format!("{base}/api/push/dead{path}"));
        if let Some(key) = key {
            let header = HeaderValue::try_from(format!("Bearer {}", key.reveal()));
            let mut header =
                header.map_err(|_| refused("the key is no text for a header".into()))?;
            header.set_sensitive(true);
            request = request.header(AUTHORIZATION, header);
        }
        let request = request.body(Vec::new().into());
        let request = request.map_err(|_| refused("this is no address".into()))?;
        let limits = RequestLimits { max_body_bytes: 16 * 1024 * 1024, ..RequestLimits::default() };
        let answer = client.send(request, &limits).await;
        let answer =
            answer.map_err(|source| OperatorError::Unreachable { base: shown(base), source })?;
        let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        match answer.status().as_u16() {
            200 => Ok(Some(body)),
            404 if path.starts_with('/') => Ok(None),
            status => {
                let said = body["error"]["message"].as_str();
                Err(refused(said.map_or_else(|| format!("it answered {status}"), str::to_owned)))
            }
        }
    }
}

/// An address as it may be shown.
fn shown(base: &str) -> String {
    veil(base).into_owned()
}
