//! The upstream agent: background discovery, client, circuit breaker and health.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use latimer_client::{CallOptions, CardRefresh, CardSource, Client, Error as ClientError};
use latimer_outbound::Backoff;
use latimer_protocol::card::AgentCard;
use latimer_protocol::{Error, ErrorKind, TaskId, redact_query};
use latimer_server::{CardHandle, Health};
use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::TaskTracker;
use tracing::{debug, info, warn};

use super::RECOVERY_WAIT;
use super::breaker::CircuitBreaker;
use super::card;
use super::task_lookup::TaskLookup;
use crate::peer::ConfigureClient;
use crate::peer::context_cache::ContextCache;
use crate::peer::redaction::Redactor;

/// Interval between discoveries if the card has no lifetime, such as a card from a file.
const DEFAULT_REFRESH_INTERVAL: Duration = Duration::from_secs(300);

/// Limits of the lifetime of a card, whatever its HTTP headers declare.
const MIN_CARD_AGE: Duration = Duration::from_secs(30);
const MAX_CARD_AGE: Duration = Duration::from_secs(60 * 60);

/// Delays between attempts at discovery.
const DISCOVERY_BACKOFF: Backoff =
    Backoff { initial: Duration::from_millis(500), max: Duration::from_secs(60) };

/// Delays between attempts to cancel a task.
const CANCEL_BACKOFF: Backoff =
    Backoff { initial: Duration::from_millis(500), max: Duration::from_secs(10) };

/// Minimum delay between two discoveries, even if a call requests one.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// Function that edits the public card.
type EditCard = dyn Fn(&mut AgentCard) + Send + Sync;

/// An upstream agent and the state that its calls share.
pub(super) struct Upstream {
    pub(super) name: String,
    source: CardSource,
    pub(super) configure_client: Box<ConfigureClient>,
    pub(super) edit_card: Box<EditCard>,
    pub(super) redactor: Redactor,
    pub(super) context_cache: ContextCache,
    pub(super) task_lookup: Arc<TaskLookup>,
    client: watch::Sender<Option<Client>>,
    /// Notified when a call needs a discovery now.
    refresh_requested: Notify,
    /// Whether the last discovery failed.
    discovery_failed: AtomicBool,
    breaker: Mutex<CircuitBreaker>,
    /// Cancellations that outlive their turn. Each gives up after [`RECOVERY_WAIT`]. Nothing waits for
    /// them: dropping the upstream does not abort them, the end of the runtime does.
    cancellations: TaskTracker,
}

impl Upstream {
    pub(super) fn new(source: CardSource) -> Self {
        let redactor = Redactor::default();
        if let Some(url) = source.url() {
            redactor.add_url(url);
        }
        Self {
            name: String::new(),
            source,
            configure_client: Box::new(Ok),
            edit_card: Box::new(|_| {}),
            redactor,
            context_cache: ContextCache::default(),
            task_lookup: Arc::new(TaskLookup::new()),
            client: watch::Sender::new(None),
            refresh_requested: Notify::new(),
            discovery_failed: AtomicBool::new(false),
            breaker: Mutex::default(),
            cancellations: TaskTracker::new(),
        }
    }

    /// Cancels a task in the background, also when the caller stops waiting. Gives up after
    /// [`RECOVERY_WAIT`].
    pub(super) fn start_cancel_task(
        self: &Arc<Self>,
        task_id: TaskId,
        runtime: &Handle,
    ) -> JoinHandle<()> {
        self.cancellations.spawn_on(Arc::clone(self).cancel_task(task_id), runtime)
    }

    /// Cancels a task. Retries transient errors until [`RECOVERY_WAIT`] has passed.
    async fn cancel_task(self: Arc<Self>, task_id: TaskId) {
        let deadline = Instant::now() + RECOVERY_WAIT;
        for attempt in 1.. {
            if Instant::now() >= deadline {
                break;
            }
            if let Ok(mut permit) = self.acquire(deadline - Instant::now()).await {
                let result = permit.client(&[]).cancel_task(task_id.clone()).await;
                permit.record(result.as_ref().err());
                match result {
                    Err(error) if error.is_transient() => {}
                    Err(error) => {
                        return debug!(agent = self.name, %error, "upstream agent rejected the cancellation");
                    }
                    Ok(_) => return,
                }
            }
            sleep(CANCEL_BACKOFF.delay(attempt)).await;
        }
        warn!(agent = self.name, task = %task_id, "canceling the upstream task failed");
    }

    /// Checks whether a call can be made: waits for the discovery of the agent, and takes no permit.
    ///
    /// # Errors
    /// As [`Upstream::acquire`].
    pub(super) async fn check(&self, max_wait: Duration) -> Result<(), Error> {
        if let Some(wait) = self.breaker().open_for(Instant::now()) {
            return Err(not_responding(wait));
        }
        self.wait_until_discovered(max_wait).await.map(drop)
    }

    /// Waits for the discovery of the agent and returns a permit for one call.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] when the circuit is open, or the agent is not discovered within
    /// `max_wait`.
    pub(super) async fn acquire(&self, max_wait: Duration) -> Result<CallPermit<'_>, Error> {
        self.breaker().try_acquire(Instant::now()).map_err(not_responding)?;
        let client = self.wait_until_discovered(max_wait).await?;
        Ok(CallPermit { upstream: self, client })
    }

    async fn wait_until_discovered(&self, max_wait: Duration) -> Result<Client, Error> {
        let mut client_updates = self.client.subscribe();
        let current = client_updates.borrow().clone();
        if let Some(client) = current {
            return Ok(client);
        }
        self.refresh_requested.notify_one();
        let discovered = timeout(max_wait, client_updates.wait_for(Option::is_some)).await;
        let client = discovered.ok().and_then(Result::ok).and_then(|client| client.clone());
        client.ok_or_else(|| {
            let message = "the upstream agent has not been discovered yet; try again later";
            Error::new(ErrorKind::Unavailable, message).with_retry_after(max_wait)
        })
    }

    pub(super) fn health(&self) -> Health {
        match self.client.borrow().is_some() {
            _ if self.discovery_failed.load(Relaxed) || self.breaker().is_open() => {
                Health::Unhealthy
            }
            true => Health::Healthy,
            false => Health::Unknown,
        }
    }

    /// Returns the URL for discovery without its query, which may contain secrets.
    fn redacted_url(&self) -> &str {
        redact_query(self.source.url().unwrap_or_default())
    }

    fn breaker(&self) -> MutexGuard<'_, CircuitBreaker> {
        self.breaker.lock()
    }

    /// Discovers the agent in the background until the handle is dropped.
    pub(super) fn start_discovery(
        self: &Arc<Self>,
        card_handle: Option<CardHandle>,
    ) -> JoinSet<()> {
        let upstream = Arc::clone(self);
        let mut discovery = JoinSet::new();
        discovery.spawn(async move { upstream.run_discovery(card_handle).await });
        discovery
    }

    /// Discovers the agent, and refreshes its card periodically and on request. Never returns.
    async fn run_discovery(&self, card_handle: Option<CardHandle>) {
        let mut failures = 0;
        loop {
            let result = self.refresh(card_handle.as_ref()).await;
            self.discovery_failed.store(result.is_err(), Relaxed);
            let wait = match result {
                Ok(()) => {
                    failures = 0;
                    self.refresh_interval()
                }
                Err(error) => {
                    warn!(agent = self.name, %error, "upstream agent discovery failed");
                    failures += 1;
                    DISCOVERY_BACKOFF.delay(failures)
                }
            };
            sleep(MIN_REFRESH_INTERVAL).await;
            tokio::select! {
                () = sleep(wait) => {}
                () = self.refresh_requested.notified() => {}
            }
        }
    }

    /// Returns the time until the card must be fetched again, from the lifetime in its HTTP headers.
    fn refresh_interval(&self) -> Duration {
        let fresh_for = self.client.borrow().as_ref().and_then(Client::card_fresh_for);
        fresh_for.map_or(DEFAULT_REFRESH_INTERVAL, |it| it.clamp(MIN_CARD_AGE, MAX_CARD_AGE))
    }

    /// Connects to the agent, or asks whether its card has changed. Replaces the client and the
    /// public card if it has.
    async fn refresh(&self, card_handle: Option<&CardHandle>) -> Result<(), ClientError> {
        let current = self.client.borrow().clone();
        let client = match current {
            None => {
                (self.configure_client)(Client::builder(self.source.clone()))?.connect().await?
            }
            Some(client) => match client.refresh().await? {
                CardRefresh::Unchanged => return Ok(()),
                CardRefresh::Changed(client) => client,
            },
        };
        let Some(upstream_card) = client.card() else { return Ok(()) };
        self.redactor.add_card(upstream_card);
        if let Some(interface) = client.interface() {
            self.redactor.add_discovered_url(&interface.url);
        }
        if let Some(card_handle) = card_handle {
            let mut public_card = card::public_card(upstream_card, &self.redactor);
            (self.edit_card)(&mut public_card);
            card_handle.set(public_card);
        }
        if let Some(interface) = client.interface() {
            let (version, binding) = (interface.version, &interface.binding);
            let (url, skills) = (self.redacted_url(), upstream_card.skills.len());
            info!(agent = self.name, url, %version, %binding, skills, "upstream agent discovered");
            if let Some(mismatch) = interface.mismatch {
                warn!(agent = self.name, url, %mismatch, "upstream card may describe another agent");
            }
        }
        self.task_lookup.reset();
        self.client.send_replace(Some(client));
        Ok(())
    }
}

/// Returns the error of calls while the circuit is open.
fn not_responding(wait: Duration) -> Error {
    let message = "the upstream agent is not responding; try again later";
    Error::new(ErrorKind::Unavailable, message).with_retry_after(wait)
}

/// Permit for calls to the upstream agent. Its results update the circuit breaker.
pub(super) struct CallPermit<'a> {
    upstream: &'a Upstream,
    client: Client,
}

impl CallPermit<'_> {
    /// Returns the client, with the extensions that the caller activated.
    pub(super) fn client(&self, extensions: &[String]) -> Client {
        match extensions {
            [] => self.client.clone(),
            extensions => {
                let extensions = extensions.to_vec();
                self.client.with_options(CallOptions { extensions, ..CallOptions::default() })
            }
        }
    }

    /// Records the result of a call. Connection errors and invalid responses are failures and
    /// trigger a new discovery; any other error is a response.
    pub(super) fn record(&mut self, error: Option<&ClientError>) {
        match error {
            Some(
                ClientError::Unreachable { .. }
                | ClientError::ConnectionLost { .. }
                | ClientError::Timeout { .. }
                | ClientError::UpstreamUnavailable { .. }
                | ClientError::Forbidden { .. }
                | ClientError::InvalidResponse { .. },
            ) => {
                self.upstream.breaker().record_failure(Instant::now());
                // The agent may have moved.
                self.upstream.refresh_requested.notify_one();
            }
            Some(_) | None => self.upstream.breaker().record_success(),
        }
    }
}
