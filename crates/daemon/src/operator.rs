//! What an operator does to a daemon: through its API while it runs, and otherwise to its store.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderValue, Method, Request, Uri};
use latimer_protocol::Secret;
use latimer_server::outbound::{Guard, HttpClient, RequestError, RequestLimits, Rules};
use latimer_server::{ReplayOutcome, WebhookDispatcher};
use latimer_store::OpenError;
use serde_json::Value;

use crate::config::{Config, StoreLocation};
use crate::error::StartError;
use crate::redact::redact_url;
use crate::signing::configured_keyring;
use crate::store;

/// Somebody who runs a daemon.
#[derive(Debug)]
pub struct OperatorClient(Backend);

#[derive(Debug)]
enum Backend {
    /// The daemon runs: it is asked.
    Http(Box<HttpBackend>),
    /// It does not: nobody else has its store.
    Store(WebhookDispatcher),
}

/// A daemon that runs.
#[derive(Debug)]
struct HttpBackend {
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
    Rejected {
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
            Self::Rejected { .. } => Some(
                "it wants the `api_key` of its configuration: name that file with --config, \
                 or set LATIMER_API_KEY",
            ),
            Self::Store(_) => None,
        }
    }
}

impl OperatorClient {
    /// Finds the daemon of a configuration: at `url` if that is given, else by its store, which it
    /// holds while it runs.
    ///
    /// # Errors
    /// When the store can neither be opened nor is held by a daemon.
    pub fn connect(
        config: &Config,
        url: Option<&str>,
        key: Option<Secret>,
    ) -> Result<Self, OperatorError> {
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let local_url = || format!("{scheme}://{}", config.listen);
        // The key of the configuration is for its own server.
        let own_key = key.clone().or_else(|| config.api_key.clone());
        let own_server = |base: String| Self::over_http(base, own_key.clone(), config);
        if let Some(url) = url.map(|it| it.trim_end_matches('/')) {
            let is_own_server =
                url == local_url() || config.settings.public_url.as_deref() == Some(url);
            return Self::over_http(
                url.to_owned(),
                if is_own_server { own_key } else { key },
                config,
            );
        }
        match &config.store.location {
            StoreLocation::Memory => own_server(local_url()),
            StoreLocation::Sqlite { path, .. } if !path.exists() => own_server(local_url()),
            StoreLocation::Sqlite { .. } => match store::open(config, "latimer push dead") {
                Err(StartError::Store(OpenError::Locked { .. })) => own_server(local_url()),
                opened_store => {
                    let push = config.settings.push.clone();
                    let allow_loopback = store::is_loopback_only(config);
                    let dispatcher =
                        WebhookDispatcher::new(Arc::from(opened_store?), push, allow_loopback);
                    let issuer = || config.settings.public_url.clone().unwrap_or_else(local_url);
                    let tls_error = |it: latimer_server::outbound::InvalidTls| {
                        StartError::Server(latimer_server::Error::Setting {
                            setting: "push",
                            problem: it.to_string(),
                        })
                    };
                    let dispatcher = dispatcher.map_err(tls_error)?;
                    Ok(Self(Backend::Store(match configured_keyring(config)? {
                        Some(keyring) => dispatcher.with_signer(keyring, issuer()),
                        None => dispatcher,
                    })))
                }
            },
        }
    }

    /// The operator's own server is wherever the operator says.
    fn over_http(
        base: String,
        key: Option<Secret>,
        config: &Config,
    ) -> Result<Self, OperatorError> {
        let uri = base.parse::<Uri>().unwrap_or_default();
        let default_port = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        let host = uri.host().unwrap_or_default();
        let target = format!("{host}:{}", uri.port_u16().unwrap_or(default_port));
        let rules = Rules { allow: target.parse().into_iter().collect(), allow_loopback: true };
        let rejected = |message: String| OperatorError::Rejected { base: redacted(&base), message };
        let mut client = HttpClient::builder(Guard::new(rules));
        // The server of this configuration is known by its own certificate.
        if let Some(certificate) = config.tls.as_ref().and_then(|it| it.certificate_pem().ok()) {
            client = client.root_certificates(certificate);
        }
        let client = client.build();
        let client = client.map_err(|it| rejected(it.to_string()))?;
        Ok(Self(Backend::Http(Box::new(HttpBackend { client, base, key }))))
    }

    /// What was not delivered, the earliest first.
    ///
    /// # Errors
    /// When the daemon or its store cannot be asked.
    pub async fn dead_letters(&self) -> Result<Vec<Value>, OperatorError> {
        match &self.0 {
            Backend::Store(dispatcher) => {
                let dead_letters = dispatcher.dead_letters(usize::MAX).await;
                let dead_letters = dead_letters.map_err(OperatorError::Store)?;
                Ok(dead_letters.iter().map(latimer_server::DeadLetterView::to_json).collect())
            }
            Backend::Http(api) => {
                let mut all = Vec::<Value>::new();
                loop {
                    let page = format!("?skip={}", all.len());
                    let mut response = api.request(Method::GET, &page).await?.unwrap_or_default();
                    let dead_letters = response.get_mut("letters").map(Value::take);
                    match dead_letters.and_then(|it| serde_json::from_value::<Vec<_>>(it).ok()) {
                        Some(batch) if !batch.is_empty() => all.extend(batch),
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
    pub async fn replay_dead_letter(&self, id: &str) -> Result<ReplayOutcome, OperatorError> {
        match &self.0 {
            Backend::Store(dispatcher) => dispatcher.replay(id).await.map_err(OperatorError::Store),
            Backend::Http(api) => {
                let response = api.request(Method::POST, &format!("/{id}/replay")).await?;
                let Some(response) = response else { return Ok(ReplayOutcome::NotFound) };
                let reason = response["reason"].as_str().unwrap_or("no reason was given");
                Ok(match response["delivered"] == Value::Bool(true) {
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
    pub async fn delete_dead_letter(&self, id: &str) -> Result<bool, OperatorError> {
        match &self.0 {
            Backend::Store(dispatcher) => {
                dispatcher.delete_dead_letter(id).await.map_err(OperatorError::Store)
            }
            Backend::Http(api) => {
                Ok(api.request(Method::DELETE, &format!("/{id}")).await?.is_some())
            }
        }
    }
}

impl HttpBackend {
    /// Asks the daemon; none when it does not know what is meant.
    async fn request(&self, method: Method, path: &str) -> Result<Option<Value>, OperatorError> {
        let Self { client, base, key } = self;
        let rejected = |message: String| OperatorError::Rejected { base: redacted(base), message };
        let mut request =
            Request::builder().method(method).uri(format!("{base}/api/push/dead{path}"));
        if let Some(key) = key {
            let header = HeaderValue::try_from(format!("Bearer {}", key.reveal()));
            let mut header =
                header.map_err(|_| rejected("the key is no text for a header".into()))?;
            header.set_sensitive(true);
            request = request.header(AUTHORIZATION, header);
        }
        let request = request.body(Vec::new().into());
        let request = request.map_err(|_| rejected("this is no address".into()))?;
        let limits = RequestLimits { max_body_bytes: 16 * 1024 * 1024, ..RequestLimits::default() };
        let response = client.send(request, &limits).await;
        let response = response
            .map_err(|source| OperatorError::Unreachable { base: redacted(base), source })?;
        let body: Value = serde_json::from_slice(response.body()).unwrap_or_default();
        match response.status().as_u16() {
            200 => Ok(Some(body)),
            404 if path.starts_with('/') => Ok(None),
            status => {
                let error_message = body["error"]["message"].as_str();
                Err(rejected(
                    error_message.map_or_else(|| format!("it answered {status}"), str::to_owned),
                ))
            }
        }
    }
}

/// An address as it may be shown.
fn redacted(base: &str) -> String {
    redact_url(base).into_owned()
}
