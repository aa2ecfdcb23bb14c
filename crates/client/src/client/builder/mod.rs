//! Setting up a client.

mod assembly;
mod checks;
mod connector;
mod layer;

use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use latimer_outbound::{Protocol, Rules};
use latimer_protocol::Version;
use latimer_protocol::card::{AgentCard, ProtocolBinding};

pub(super) use self::connector::Connector;
use self::layer::Layer;
use super::Client;
use super::poll::PollPolicy;
use super::retry::RetryPolicy;
use crate::credentials::{CredentialSet, Credentials};
use crate::discovery::{CardCache, CardSource, CardTrust};
use crate::error::Error;
use crate::negotiate::{self, Preferences, SelectedInterface};
use crate::transport::{CallLimits, HttpChannel, Transport};

/// Sets up a [`Client`].
///
/// The address that it is made with is the caller's own, and is called wherever it leads. Addresses
/// in a card are those of a stranger: they are called over HTTPS on the public internet, at the same
/// origin, and where [`ClientBuilder::guard_rules`] allow it. A card that names this machine by another of its
/// names, or no machine at all (`0.0.0.0`), means the host under which it was looked for.
///
/// ```no_run
/// use latimer_client::{Client, Credentials};
/// use latimer_protocol::{Secret, Version, card::ProtocolBinding};
///
/// # async fn run() -> Result<(), latimer_client::Error> {
/// let client = Client::builder("https://agents.example")
///     .credentials(Credentials::bearer(Secret::new("t0ken"))?)
///     .bindings([ProtocolBinding::Grpc, ProtocolBinding::JsonRpc])
///     .connect()
///     .await?;
/// # drop(client);
/// # Ok(())
/// # }
/// ```
#[must_use = "a builder does nothing until it connects"]
#[derive(Clone, Debug)]
pub struct ClientBuilder {
    source: CardSource,
    agent_url: Option<String>,
    ignore_card_urls: bool,
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
    root_certificates: Vec<Vec<u8>>,
    client_certificate: Option<ClientCertificate>,
}

/// What the client shows of itself in TLS, and where.
#[derive(Clone)]
struct ClientCertificate {
    /// Where it is shown, if not at the address that the client is made with.
    url: Option<String>,
    chain: Vec<u8>,
    key: Vec<u8>,
}

impl std::fmt::Debug for ClientCertificate {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Identity")
    }
}

impl ClientBuilder {
    pub(super) fn new(source: CardSource) -> Self {
        Self {
            source,
            agent_url: None,
            ignore_card_urls: false,
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
            root_certificates: Vec::new(),
            client_certificate: None,
        }
    }

    /// The address of the agent, where this was made with that of its card: the caller's own, too.
    pub fn agent_url(mut self, url: impl Into<String>) -> Self {
        self.agent_url = Some(url.into());
        self
    }

    /// Calls the agent at the address that was named, whatever address its card says: for agents that
    /// do not know their own. The card still says which bindings and versions there are.
    pub fn ignore_card_urls(mut self) -> Self {
        self.ignore_card_urls = true;
        self
    }

    /// The bindings to speak, the best first. Without any the agent's card decides.
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = ProtocolBinding>) -> Self {
        self.preferences.bindings = bindings.into_iter().collect();
        self
    }

    /// The versions to speak, the best first. All of them, the newest first, unless it is said.
    pub fn versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {
        self.preferences.versions = versions.into_iter().collect();
        self
    }

    /// The tenant to name in each call, in place of the one that the card names.
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// Whose cards are believed.
    pub fn trust(mut self, trust: CardTrust) -> Self {
        self.trust = trust;
        self
    }

    /// Stores the card in `cache`, and takes it from there while it is fresh.
    pub fn card_cache(mut self, cache: Arc<dyn CardCache>) -> Self {
        self.card_cache = Some(cache);
        self
    }

    /// What is shown at the origin of the address that this was made with, and nowhere else.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials.push((None, credentials));
        self
    }

    /// What is shown at the origin of another address: that of the agent, where its card is elsewhere.
    pub fn credentials_for(mut self, url: impl Into<String>, credentials: Credentials) -> Self {
        self.credentials.push((Some(url.into()), credentials));
        self
    }

    /// What there is to show at the origin of the address that this was made with; the agent's card
    /// chooses of it.
    pub fn credential_set(mut self, credential_set: CredentialSet) -> Self {
        self.credential_set = Some((None, credential_set));
        self
    }

    /// What there is to show at the origin of another address: that of the agent, where its card is
    /// elsewhere.
    pub fn credential_set_for(
        mut self,
        url: impl Into<String>,
        credential_set: CredentialSet,
    ) -> Self {
        self.credential_set = Some((Some(url.into()), credential_set));
        self
    }

    /// Headers of each request. Like credentials, they stay at the origin of the address that this was
    /// made with.
    pub fn headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }

    /// What the client calls itself: `Latimer/<version> A2A` unless it is said.
    pub fn user_agent(mut self, name: HeaderValue) -> Self {
        self.user_agent = Some(name);
        self
    }

    /// Activates an extension in each call.
    pub fn extension(mut self, uri: impl Into<String>) -> Self {
        self.extensions.push(uri.into());
        self
    }

    /// What calls may cost.
    pub fn limits(mut self, limits: CallLimits) -> Self {
        self.limits = limits;
        self
    }

    /// What is tried again, and when.
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// How often a task is looked at where nobody tells what happens to it.
    pub fn polling(mut self, polling: PollPolicy) -> Self {
        self.polling = polling;
        self
    }

    /// Follows tasks by looking at them, also where the agent could tell what happens to them.
    pub fn disable_streaming(mut self) -> Self {
        self.streaming_enabled = false;
        self
    }

    /// Wraps the transport of the client: an interceptor that sees and may change every attempt of
    /// every call, and its response. A layer wraps those that were added before it, so it sees a call
    /// first.
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

    /// Which addresses that a card names may be called, beside HTTPS on the public internet.
    pub fn guard_rules(mut self, rules: Rules) -> Self {
        self.guard_rules = rules;
        self
    }

    /// Certificates, in PEM, that servers may be vouched for by, beside those that the operating
    /// system trusts.
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificates.push(pem.into());
        self
    }

    /// What the client shows of itself in TLS, at the origin of the address that this was made with:
    /// a chain of certificates and the key of the first, both in PEM.
    pub fn client_certificate(
        mut self,
        chain: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        let (chain, key) = (chain.into(), key.into());
        self.client_certificate = Some(ClientCertificate { url: None, chain, key });
        self
    }

    /// The same at the origin of another address: that of the agent, where its card is elsewhere.
    pub fn client_certificate_for(
        mut self,
        url: impl Into<String>,
        chain: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        let (chain, key) = (chain.into(), key.into());
        self.client_certificate = Some(ClientCertificate { url: Some(url.into()), chain, key });
        self
    }

    /// Looks at whether what was set up can be used at all. Nobody is asked.
    ///
    /// # Errors
    /// [`Error::InvalidSetup`] when it cannot.
    pub fn check(&self) -> Result<(), Error> {
        self.check_trust()?;
        self.card_urls(None)?;
        if let Some((Some(url), _)) = &self.credential_set {
            self.resolve_origin(Some(url))?;
        }
        self.with_credentials(HttpChannel::new(self.build_http(&self.guard()?)?)).map(drop)
    }

    /// Finds the agent's card, and calls the agent as the card says.
    ///
    /// # Errors
    /// When there is no card, or none that is trusted or offers a way to call the agent;
    /// [`Error::InvalidSetup`] when something that was set up could not be used.
    pub async fn connect(self) -> Result<Client, Error> {
        self.check_trust()?;
        let connector = Arc::new(Connector::new(self)?);
        let card = connector.fetch_card().await?;
        let selected = connector.select_interface(&card).await?;
        connector.connect(card, selected).await
    }

    /// Calls the agent at the address without looking at its card: in the first binding and version
    /// of those that are wanted, which are JSON-RPC and 1.0 unless it is said.
    ///
    /// # Errors
    /// When the address cannot be called; [`Error::InvalidSetup`] when something was set up that needs a card.
    pub fn build(self) -> Result<Client, Error> {
        self.check_without_card()?;
        let explicit_url = self.agent_url.as_deref().or_else(|| self.source.url());
        let (card, url) = match (&self.source, explicit_url) {
            (_, Some(url)) => (None, url.to_owned()),
            (CardSource::Card(card), None) => (Some(Arc::clone(card)), String::new()),
            (_, None) => {
                let problem = "there is no address to call; connect reads the card for one";
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

    /// Finds the agent's card, and does nothing with it but to check whether it is trusted.
    ///
    /// # Errors
    /// When there is none, or none that is trusted.
    pub async fn card(self) -> Result<Arc<AgentCard>, Error> {
        self.check_trust()?;
        self.discovery(&self.build_http(&self.guard()?)?)?.card().await
    }
}
