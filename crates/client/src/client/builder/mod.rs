//! Options of clients.

mod assembly;
mod checks;
mod connector;
mod identity;
mod layer;
#[cfg_attr(not(feature = "tls"), path = "tls/disabled.rs")]
mod tls;

use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use latimer_outbound::{Protocol, Rules};
use latimer_protocol::Version;
use latimer_protocol::card::{AgentCard, ProtocolBinding};

pub(super) use self::connector::Connector;
use self::layer::Layer;
use self::tls::TlsOptions;
use super::Client;
use super::poll::PollPolicy;
use super::retry::RetryPolicy;
use crate::credentials::{CredentialSet, Credentials};
use crate::discovery::{CardCache, CardSource, CardTrust};
use crate::error::Error;
use crate::negotiate::{self, Preferences, SelectedInterface};
use crate::transport::{CallLimits, HttpChannel, Transport};

/// Builder for a [`Client`].
///
/// The client calls the URL that it is created with, whatever address it resolves to. URLs in a
/// card are untrusted: the client calls those at the same origin, those with HTTPS on the public
/// internet, and those that [`ClientBuilder::guard_rules`] allow. If a card names this machine by
/// another name, or no machine at all (`0.0.0.0`), the client calls the host of its own URL
/// instead.
///
/// ```
/// use latimer_client::{Client, Credentials, user_message};
/// use latimer_protocol::Secret;
/// use latimer_protocol::card::ProtocolBinding;
/// # use latimer_runtime::DemoAgent;
/// # use latimer_server::{ApiKeys, Server};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let keys = ApiKeys::default().with_operator_key(&Secret::new("t0ken"));
/// # let server = Server::new(DemoAgent::new_agent("demo")).authenticate(keys);
/// # let server = server.bind("127.0.0.1:0").listen().await?;
/// # let url = format!("http://{}", server.address());
/// let client = Client::builder(&url)
///     .credentials(Credentials::bearer(Secret::new("t0ken"))?)
///     .bindings([ProtocolBinding::HttpJson, ProtocolBinding::JsonRpc])
///     .connect()
///     .await?;
/// let binding = client.interface().map(|it| &it.binding);
/// assert_eq!(binding, Some(&ProtocolBinding::HttpJson));
/// client.send(user_message("echo hello")).await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a builder does nothing until it connects"]
#[derive(Clone, Debug)]
pub struct ClientBuilder {
    source: CardSource,
    agent_url: Option<String>,
    ignore_card_urls: bool,
    agent_url_fallback: bool,
    preferences: Preferences,
    tenant: Option<String>,
    trust: CardTrust,
    card_cache: Option<Arc<dyn CardCache>>,
    credentials: Vec<(Option<String>, Credentials)>,
    credential_set: Option<(Option<String>, CredentialSet)>,
    headers: HeaderMap,
    user_agent: Option<HeaderValue>,
    extensions: Vec<String>,
    limits: CallLimits,
    retry: RetryPolicy,
    polling: PollPolicy,
    streaming_enabled: bool,
    layers: Vec<Layer>,
    guard_rules: Rules,
    tls: TlsOptions,
}

impl ClientBuilder {
    pub(super) fn new(source: CardSource) -> Self {
        Self {
            source,
            agent_url: None,
            ignore_card_urls: false,
            agent_url_fallback: false,
            preferences: Preferences::default(),
            tenant: None,
            trust: CardTrust::default(),
            card_cache: None,
            credentials: Vec::new(),
            credential_set: None,
            headers: HeaderMap::new(),
            user_agent: None,
            extensions: Vec::new(),
            limits: CallLimits::default(),
            retry: RetryPolicy::default(),
            polling: PollPolicy::default(),
            streaming_enabled: true,
            layers: Vec::new(),
            guard_rules: Rules::default(),
            tls: TlsOptions::default(),
        }
    }

    /// Sets the URL of the agent for a client that is created with the URL of its card. The client
    /// trusts both.
    pub fn agent_url(mut self, url: impl Into<String>) -> Self {
        self.agent_url = Some(url.into());
        self
    }

    /// Calls the agent at the URL that the caller gave, whatever URL its card has: for agents that
    /// do not know their own URL. Bindings and versions still come from the card.
    pub fn ignore_card_urls(mut self) -> Self {
        self.ignore_card_urls = true;
        self
    }

    /// Calls the agent at the URL that the caller gave if its card has no interface that may be called,
    /// and one of them only because its URL is forbidden: for agents in a container, whose card names
    /// an internal host. Logs a warning then. Has no effect if only the URL of the card is known.
    pub fn fall_back_to_agent_url(mut self) -> Self {
        self.agent_url_fallback = true;
        self
    }

    /// Sets the bindings to use, in order of preference. By default the card decides.
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = ProtocolBinding>) -> Self {
        self.preferences.bindings = bindings.into_iter().collect();
        self
    }

    /// Sets the versions to use, in order of preference. By default all, newest first.
    pub fn versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {
        self.preferences.versions = versions.into_iter().collect();
        self
    }

    /// Sets the tenant of each call, in place of the one in the card.
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// Sets whether cards must be signed, and the trusted keys.
    pub fn trust(mut self, trust: CardTrust) -> Self {
        self.trust = trust;
        self
    }

    /// Stores the card in `cache`, and uses the stored one while it is fresh.
    pub fn card_cache(mut self, cache: Arc<dyn CardCache>) -> Self {
        self.card_cache = Some(cache);
        self
    }

    /// Sets the `User-Agent`, by default `Latimer/<version> A2A`.
    pub fn user_agent(mut self, name: HeaderValue) -> Self {
        self.user_agent = Some(name);
        self
    }

    /// Activates an extension in each call.
    pub fn extension(mut self, uri: impl Into<String>) -> Self {
        self.extensions.push(uri.into());
        self
    }

    /// Sets the limits of calls.
    pub fn limits(mut self, limits: CallLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the policy for repeating failed calls.
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the interval and maximum number of polls.
    pub fn polling(mut self, polling: PollPolicy) -> Self {
        self.polling = polling;
        self
    }

    /// Polls tasks instead of streaming, even if the agent can stream.
    pub fn disable_streaming(mut self) -> Self {
        self.streaming_enabled = false;
        self
    }

    /// Adds a layer around the transport: an interceptor that sees each attempt of each call, and
    /// may change the call and its response. The layer that was added last sees a call first.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use std::sync::atomic::{AtomicU64, Ordering};
    /// # use latimer_client::transport::Transport;
    /// # use latimer_client::{CallOptions, Client, Error};
    /// # use latimer_protocol::{Call, CallResponse};
    /// #[derive(Debug)]
    /// struct CountAttempts {
    ///     inner: Arc<dyn Transport>,
    ///     attempts: Arc<AtomicU64>,
    /// }
    ///
    /// #[async_trait::async_trait]
    /// impl Transport for CountAttempts {
    ///     async fn exchange(
    ///         &self,
    ///         call: &Call,
    ///         options: &CallOptions,
    ///     ) -> Result<CallResponse<Error>, Error> {
    ///         self.attempts.fetch_add(1, Ordering::Relaxed);
    ///         self.inner.exchange(call, options).await
    ///     }
    /// }
    ///
    /// let attempts = Arc::<AtomicU64>::default();
    /// let client = Client::builder("https://agents.example")
    ///     .layer(move |inner| Arc::new(CountAttempts { inner, attempts: Arc::clone(&attempts) }))
    ///     .build()?;
    /// # drop(client);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn layer(
        mut self,
        wrap: impl Fn(Arc<dyn Transport>) -> Arc<dyn Transport> + Send + Sync + 'static,
    ) -> Self {
        self.layers.push(Layer::new(wrap));
        self
    }

    /// Allows further addresses in cards, in addition to HTTPS on the public internet.
    pub fn guard_rules(mut self, rules: Rules) -> Self {
        self.guard_rules = rules;
        self
    }

    /// Checks the options without a request.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] if an option is invalid or cannot take effect.
    pub fn check(&self) -> Result<(), Error> {
        self.check_trust()?;
        self.card_urls(None)?;
        if let Some((Some(url), _)) = &self.credential_set {
            self.resolve_origin(Some(url))?;
        }
        self.with_credentials(HttpChannel::new(self.build_http(&self.guard()?)?)).map(drop)
    }

    /// Fetches the agent's card and creates a client for the interface that is selected from it.
    ///
    /// # Errors
    /// [`Error::NoCard`], [`Error::UntrustedCard`] and [`Error::NoInterface`] if the card is
    /// missing, not trusted, or has no interface that can be called; [`Error::NoCredentials`] if
    /// nothing in the credential set satisfies it; [`Error::InvalidSetup`] if an option is invalid
    /// or cannot take effect; otherwise the reason why the card cannot be fetched.
    pub async fn connect(self) -> Result<Client, Error> {
        self.check_trust()?;
        let connector = Arc::new(Connector::new(self)?);
        let card = connector.fetch_card().await?;
        let selected = connector.select_interface(&card).await?;
        connector.connect(card, selected).await
    }

    /// Creates a client that calls the URL without fetching a card, in the first binding and
    /// version of the preferences, by default JSON-RPC and 1.0.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] if the URL or an option is invalid, or an option needs a card.
    pub fn build(self) -> Result<Client, Error> {
        self.check_without_card()?;
        let explicit_url = self.agent_url.as_deref().or_else(|| self.source.url());
        let (card, url) = match (&self.source, explicit_url) {
            (_, Some(url)) => (None, url.to_owned()),
            (CardSource::Card(card), None) => (Some(Arc::clone(card)), String::new()),
            (_, None) => {
                let problem =
                    "there is no URL to call: use `connect`, which takes it from the card";
                return Err(Error::InvalidSetup(problem.into()));
            }
        };
        let selected = match card {
            Some(card) => negotiate::negotiate(&card, &self.preferences)?,
            None => SelectedInterface {
                binding: self.preferences.bindings.first().cloned().unwrap_or_default(),
                version: self.preferences.versions.first().copied().unwrap_or(Version::V1_0),
                url,
                tenant: None,
                rejected: Vec::new(),
                mismatch: None,
            },
        };
        let http = self.build_http(&self.guard()?)?;
        let http = match selected.binding {
            ProtocolBinding::Grpc => http.with_protocol(Protocol::Http2),
            _ => http,
        };
        Ok(Client(Arc::new(self.build_inner(http, selected, None, None)?)))
    }

    /// Fetches the agent's card, verifies it, and creates no client.
    ///
    /// # Errors
    /// [`Error::NoCard`] and [`Error::UntrustedCard`] if the card is missing or not trusted;
    /// otherwise the reason why it cannot be fetched.
    pub async fn card(self) -> Result<Arc<AgentCard>, Error> {
        self.check_trust()?;
        self.discovery(&self.build_http(&self.guard()?)?)?.card().await
    }
}
