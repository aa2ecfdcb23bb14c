//! Setting up a client.

mod assembly;
mod checks;

use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use latimer_outbound::Rules;
use latimer_protocol::Version;
use latimer_protocol::card::{AgentCard, ProtocolBinding};

use self::checks::homeless;
use super::Client;
use super::polling::Polling;
use super::retry::Retry;
use crate::credentials::{Credentials, Met, Wallet};
use crate::discovery::{Source, Trust};
use crate::error::Error;
use crate::negotiate::{self, Choice, Preferences};
use crate::transport::{Limits, Wire};

/// Sets up a [`Client`].
///
/// The address that it is made with is the caller's own, and is called wherever it leads. Addresses
/// in a card are those of a stranger: they are called over HTTPS on the public internet, at the same
/// origin, and where [`Builder::rules`] allow it. A card that names this machine by another of its
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
#[derive(Debug)]
pub struct Builder {
    source: Source,
    agent_url: Option<String>,
    at_named_address: bool,
    preferences: Preferences,
    tenant: Option<String>,
    trust: Trust,
    credentials: Vec<(Option<String>, Credentials)>,
    wallet: Option<(Option<String>, Wallet)>,
    headers: HeaderMap,
    user_agent: Option<HeaderValue>,
    extensions: Vec<String>,
    limits: Limits,
    retry: Retry,
    polling: Polling,
    streams: bool,
    rules: Rules,
    roots: Vec<Vec<u8>>,
    identity: Option<Identity>,
}

/// What the client shows of itself in TLS, and where.
struct Identity {
    /// Where it is shown, if not at the address that the client is made with.
    at: Option<String>,
    certificates: Vec<u8>,
    key: Vec<u8>,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Identity")
    }
}

impl Builder {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            agent_url: None,
            at_named_address: false,
            preferences: Preferences::default(),
            tenant: None,
            trust: Trust::default(),
            credentials: Vec::new(),
            wallet: None,
            headers: HeaderMap::new(),
            user_agent: None,
            extensions: Vec::new(),
            limits: Limits::default(),
            retry: Retry::default(),
            polling: Polling::default(),
            streams: true,
            rules: Rules::default(),
            roots: Vec::new(),
            identity: None,
        }
    }

    /// The address of the agent, where this was made with that of its card: the caller's own, too.
    pub fn agent_url(mut self, url: impl Into<String>) -> Self {
        self.agent_url = Some(url.into());
        self
    }

    /// Calls the agent at the address that was named, whatever address its card says: for agents that
    /// do not know their own. The card still says which bindings and versions there are.
    pub fn at_named_address(mut self) -> Self {
        self.at_named_address = true;
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
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
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
    pub fn wallet(mut self, wallet: Wallet) -> Self {
        self.wallet = Some((None, wallet));
        self
    }

    /// What there is to show at the origin of another address: that of the agent, where its card is
    /// elsewhere.
    pub fn wallet_for(mut self, url: impl Into<String>, wallet: Wallet) -> Self {
        self.wallet = Some((Some(url.into()), wallet));
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
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// What is tried again, and when.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// How often a task is looked at where nobody tells what happens to it.
    pub fn polling(mut self, polling: Polling) -> Self {
        self.polling = polling;
        self
    }

    /// Follows tasks by looking at them, also where the agent could tell what happens to them.
    pub fn without_streams(mut self) -> Self {
        self.streams = false;
        self
    }

    /// Which addresses that a card names may be called, beside HTTPS on the public internet.
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// Certificates, in PEM, that servers may be vouched for by, beside those that the operating
    /// system trusts.
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots.push(pem.into());
        self
    }

    /// What the client shows of itself in TLS, at the origin of the address that this was made with:
    /// a chain of certificates and the key of the first, both in PEM.
    pub fn identity(mut self, certificates: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        let (certificates, key) = (certificates.into(), key.into());
        self.identity = Some(Identity { at: None, certificates, key });
        self
    }

    /// The same at the origin of another address: that of the agent, where its card is elsewhere.
    pub fn identity_for(
        mut self,
        url: impl Into<String>,
        certificates: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        let (certificates, key) = (certificates.into(), key.into());
        self.identity = Some(Identity { at: Some(url.into()), certificates, key });
        self
    }

    /// Looks at whether what was set up can be used at all. Nobody is asked.
    ///
    /// # Errors
    /// [`Error::Setup`] when it cannot.
    pub fn check(&self) -> Result<(), Error> {
        self.check_trust()?;
        self.named(None)?;
        if let Some((Some(url), _)) = &self.wallet {
            self.origin_at(Some(url))?;
        }
        self.showing(Wire::new(self.http(&self.guard()?)?)).map(drop)
    }

    /// Finds the agent's card, and calls the agent as the card says.
    ///
    /// # Errors
    /// When there is no card, or none that is trusted or offers a way to call the agent;
    /// [`Error::Setup`] when something that was set up could not be used.
    pub async fn connect(mut self) -> Result<Client, Error> {
        self.check_trust()?;
        let guard = self.guard()?;
        let http = self.http(&guard)?;
        let discovery = self.discovery(&http)?;
        let card = discovery.card().await?;
        let named = self.named(discovery.found())?;
        let interfaces = named.meant(&card.supported_interfaces);
        let doubt = named.doubt(&interfaces);
        let choice = Choice { doubt, ..self.choose(interfaces, &guard).await? };
        for passed in &choice.passed_over {
            tracing::debug!(%passed, "an interface is not called");
        }
        if let Some((at, wallet)) = self.wallet.take() {
            let origin = self.origin_at(at.as_deref())?;
            let shown_at = self.shows_certificate_at()?;
            let certificate = shown_at.as_deref() == Some(self.endpoint(&choice)?.origin());
            let met = Met { http: &http, origin: origin.as_deref(), certificate };
            if let Some(chosen) = wallet.choose(&card, &met).await? {
                let own = origin.ok_or_else(|| homeless("a wallet", "wallet_for"))?;
                self.credentials.push((Some(own), chosen));
            }
        }
        self.make(http, choice, Some((card, discovery)))
    }

    /// Calls the agent at the address without looking at its card: in the first binding and version
    /// of those that are wanted, which are JSON-RPC and 1.0 unless it is said.
    ///
    /// # Errors
    /// When the address cannot be called; [`Error::Setup`] when something was set up that needs a card.
    pub fn build(self) -> Result<Client, Error> {
        self.check_without_card()?;
        let named = self.agent_url.as_deref().or_else(|| self.source.url());
        let (card, url) = match (&self.source, named) {
            (_, Some(url)) => (None, url.to_owned()),
            (Source::Card(card), None) => (Some(Arc::clone(card)), String::new()),
            (_, None) => {
                let problem = "there is no address to call; connect reads the card for one";
                return Err(Error::Setup(problem.into()));
            }
        };
        let choice = match card {
            Some(card) => negotiate::negotiate(&card, &self.preferences)?,
            None => Choice {
                binding: self.preferences.bindings.first().cloned().unwrap_or_default(),
                version: self.preferences.versions.first().copied().unwrap_or(Version::V1_0),
                url,
                tenant: None,
                passed_over: Vec::new(),
                doubt: None,
            },
        };
        let http = self.http(&self.guard()?)?;
        self.make(http, choice, None)
    }

    /// Finds the agent's card, and does nothing with it but to check whether it is trusted.
    ///
    /// # Errors
    /// When there is none, or none that is trusted.
    pub async fn card(self) -> Result<Arc<AgentCard>, Error> {
        self.check_trust()?;
        self.discovery(&self.http(&self.guard()?)?)?.card().await
    }
}
