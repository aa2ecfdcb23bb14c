//! Administration of a daemon: over its API while it runs, otherwise in its store.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderValue, Method, Request, Uri};
use latimer_protocol::Secret;
use latimer_server::outbound::{Guard, HttpClient, RequestError, RequestLimits, Rules};
use latimer_server::{ReplayOutcome, WebhookDispatcher};
use latimer_store::OpenError;
use serde_json::Value;

use crate::config::{Config, StoreLocation};
use crate::daemon::is_loopback_only;
use crate::error::StartError;
use crate::redact::redact_url;
use crate::signing::configured_keyring;
use crate::store;

/// Administers a daemon: over its API while it runs, otherwise in its store.
///
/// ```no_run
/// use latimer_daemon::{OperatorClient, OperatorError, config::Config};
///
/// # async fn run(config: &Config) -> Result<(), OperatorError> {
/// let client = OperatorClient::connect(config, None, None)?;
/// for dead_letter in client.dead_letters().await? {
///     println!("{} failed: {}", dead_letter["receiver"], dead_letter["reason"]);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct OperatorClient(Backend);

#[derive(Debug)]
enum Backend {
    /// The API of a running daemon.
    Http(Box<HttpBackend>),
    /// The store of a stopped daemon, locked by this process.
    Store(WebhookDispatcher),
}

/// API of a running daemon.
#[derive(Debug)]
struct HttpBackend {
    client: HttpClient,
    base: String,
    key: Option<Secret>,
}

/// Error of an operator command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorError {
    /// The store cannot be opened, or the configuration is invalid.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The daemon cannot be reached.
    #[error("cannot reach the server at {base}: {source}")]
    Unreachable {
        /// URL of the server.
        base: String,
        /// Reason.
        source: RequestError,
    },
    /// The daemon rejected the request.
    #[error("the server at {base} rejected the request: {message}")]
    Rejected {
        /// URL of the server.
        base: String,
        /// Reason that the server gave.
        message: String,
    },
    /// The store failed.
    #[error("{0}")]
    Store(latimer_store::Error),
}

impl OperatorError {
    /// Returns what the operator can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Start(error) => error.hint(),
            Self::Unreachable { .. } => Some("start the server, or set its URL with --url"),
            Self::Rejected { .. } => Some(
                "if the server requires a key, set LATIMER_API_KEY, or pass the configuration with \
                 its `api_key` with --config",
            ),
            Self::Store(_) => None,
        }
    }
}

impl OperatorClient {
    /// Connects to the daemon of a configuration: to the API at `url` if it is set, otherwise to
    /// the SQLite store. If the store is in memory, does not exist or is locked by a daemon,
    /// connects to the API at `listen` instead.
    ///
    /// The API receives `key`. If it is unset, the server of the configuration receives `api_key`.
    ///
    /// # Errors
    /// Fails if the store is not locked by a daemon but cannot be opened, or if the configuration is
    /// invalid.
    pub fn connect(
        config: &Config,
        url: Option<&str>,
        key: Option<Secret>,
    ) -> Result<Self, OperatorError> {
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let local_url = || format!("{scheme}://{}", config.listen);
        // The key of the configuration is sent to the server of that configuration only.
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
                    let allow_loopback = is_loopback_only(config);
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

    /// Connects to the API at `base`, which may be any address: the operator chose it.
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
        // The server may use a self-signed certificate, so its certificate is trusted as a root.
        if let Some(certificate) = config.tls.as_ref().and_then(|it| it.certificate_pem().ok()) {
            client = client.root_certificates(certificate);
        }
        let client = client.build();
        let client = client.map_err(|it| rejected(it.to_string()))?;
        Ok(Self(Backend::Http(Box::new(HttpBackend { client, base, key }))))
    }

    /// Returns all dead letters, oldest first.
    ///
    /// # Errors
    /// Fails if the request to the daemon or its store fails.
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

    /// Retries delivery of a dead letter once. A delivered dead letter is deleted.
    ///
    /// # Errors
    /// Fails if the request to the daemon or its store fails. A failed delivery is a [`ReplayOutcome`].
    pub async fn replay_dead_letter(&self, id: &str) -> Result<ReplayOutcome, OperatorError> {
        match &self.0 {
            Backend::Store(dispatcher) => dispatcher.replay(id).await.map_err(OperatorError::Store),
            Backend::Http(api) => {
                let response = api.request(Method::POST, &format!("/{id}/replay")).await?;
                let Some(response) = response else { return Ok(ReplayOutcome::NotFound) };
                let reason = response["reason"].as_str().unwrap_or("the server gave no reason");
                Ok(match response["delivered"] == Value::Bool(true) {
                    true => ReplayOutcome::Delivered,
                    false => ReplayOutcome::Failed(reason.to_owned()),
                })
            }
        }
    }

    /// Deletes a dead letter. Returns `false` if it does not exist.
    ///
    /// # Errors
    /// Fails if the request to the daemon or its store fails.
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
    /// Sends a request. Returns `None` if the dead letter that `path` names does not exist.
    async fn request(&self, method: Method, path: &str) -> Result<Option<Value>, OperatorError> {
        let Self { client, base, key } = self;
        let rejected = |message: String| OperatorError::Rejected { base: redacted(base), message };
        let mut request =
            Request::builder().method(method).uri(format!("{base}/api/push/dead{path}"));
        if let Some(key) = key {
            let header = HeaderValue::try_from(format!("Bearer {}", key.reveal()));
            let mut header =
                header.map_err(|_| rejected("the key is not a valid header value".into()))?;
            header.set_sensitive(true);
            request = request.header(AUTHORIZATION, header);
        }
        let request = request.body(Vec::new().into());
        let request = request.map_err(|_| rejected("the URL is invalid".into()))?;
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
                    error_message.map_or_else(|| format!("status {status}"), str::to_owned),
                ))
            }
        }
    }
}

/// Redacts credentials in the URL.
fn redacted(base: &str) -> String {
    redact_url(base).into_owned()
}
