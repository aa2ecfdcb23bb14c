//! The agent behind: found in the background, looked after, and left alone when it fails.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use latimer_client::{CardSource, Client, ClientBuilder, Error as ClientError};
use latimer_protocol::card::AgentCard;
use latimer_protocol::{Error, ErrorKind, TaskId};
use latimer_server::{CardHandle, Health};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

use super::LONG_PATIENCE;
use super::breaker::Breaker;
use super::card;
use super::contexts::Contexts;
use super::words::Words;

/// How often an agent that was found is looked at again: its card may have changed.
const AGAIN: Duration = Duration::from_secs(300);

/// How long to wait before an agent that was not found is looked for again; doubled each time.
const FIRST: Duration = Duration::from_millis(500);

/// How long at most.
const LONGEST: Duration = Duration::from_secs(60);

/// The longest pause between two tries to stop a task.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The least time between two looks, however many want one.
const LEAST: Duration = Duration::from_secs(1);

pub(crate) type SetUp = dyn Fn(ClientBuilder) -> Result<ClientBuilder, ClientError> + Send + Sync;
type Describe = dyn Fn(&mut AgentCard) + Send + Sync;

/// The agent behind.
pub(super) struct Upstream {
    pub(super) name: String,
    source: CardSource,
    pub(super) set_up: Box<SetUp>,
    pub(super) describe: Box<Describe>,
    pub(super) words: Words,
    pub(super) contexts: Contexts,
    client: watch::Sender<Option<Client>>,
    /// Somebody needs it now.
    wanted: Notify,
    /// Whether the last look for it failed.
    missing: AtomicBool,
    breaker: Mutex<Breaker>,
}

impl Upstream {
    pub(super) fn new(source: CardSource) -> Self {
        let words = Words::default();
        if let Some(url) = source.url() {
            words.hide(url);
        }
        Self {
            name: String::new(),
            source,
            set_up: Box::new(Ok),
            describe: Box::new(|_| {}),
            words,
            contexts: Contexts::default(),
            client: watch::Sender::new(None),
            wanted: Notify::new(),
            missing: AtomicBool::new(false),
            breaker: Mutex::default(),
        }
    }

    /// Has it stop a task, as soon as it can be told to.
    pub(super) async fn stop(self: Arc<Self>, id: TaskId) {
        let until = Instant::now() + LONG_PATIENCE;
        let mut pause = FIRST;
        while Instant::now() < until {
            if let Ok(mut pass) = self.pass(until - Instant::now()).await {
                let canceled = pass.client(&[]).cancel_task(id.clone()).await;
                pass.note(canceled.as_ref().err());
                match canceled {
                    Err(error) if error.is_transient() => {}
                    Err(error) => return debug!(agent = self.name, %error, "it does not stop"),
                    Ok(_) => return,
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        warn!(agent = self.name, task = %id, "the agent behind cannot be told to stop");
    }

    /// Leave to call it, as soon as it is found.
    ///
    /// # Errors
    /// Why it is not called, with how long to wait where that is known.
    pub(super) async fn pass(&self, patience: Duration) -> Result<Pass<'_>, Error> {
        let away = |wait: Duration| {
            let message = "the agent behind this one does not answer; try again later";
            Error::new(ErrorKind::Unavailable, message).with_retry_after(wait)
        };
        self.breaker().admit(Instant::now()).map_err(away)?;
        let mut found = self.client.subscribe();
        let known = found.borrow().clone();
        if let Some(client) = known {
            return Ok(Pass { upstream: self, client });
        }
        self.wanted.notify_one();
        let client = timeout(patience, found.wait_for(Option::is_some)).await;
        match client {
            Ok(Ok(client)) => {
                let client = client.clone().ok_or_else(Error::internal)?;
                Ok(Pass { upstream: self, client })
            }
            Ok(Err(_)) | Err(_) => {
                let message = "the agent behind this one has not been found yet; try again later";
                Err(Error::new(ErrorKind::Unavailable, message).with_retry_after(patience))
            }
        }
    }

    pub(super) fn health(&self) -> Health {
        match self.client.borrow().is_some() {
            _ if self.missing.load(Relaxed) || self.breaker().is_open() => Health::Unhealthy,
            true => Health::Healthy,
            false => Health::Unknown,
        }
    }

    /// Where it is looked for, without what may be secret of that.
    fn url(&self) -> &str {
        let url = self.source.url().unwrap_or_default();
        url.split(['?', '#']).next().unwrap_or_default()
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        // It is two numbers.
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for the agent, for as long as somebody wants it.
    async fn keep(&self, placard: Option<CardHandle>) {
        let mut pause = FIRST;
        loop {
            let found = self.look(placard.as_ref()).await;
            self.missing.store(found.is_err(), Relaxed);
            let wait = match found {
                Ok(()) => {
                    pause = FIRST;
                    AGAIN
                }
                Err(error) => {
                    warn!(agent = self.name, %error, "the agent behind is not found");
                    let wait = pause;
                    pause = (pause * 2).min(LONGEST);
                    wait
                }
            };
            sleep(LEAST).await;
            tokio::select! {
                () = sleep(wait) => {}
                () = self.wanted.notified() => {}
            }
        }
    }

    async fn look(&self, placard: Option<&CardHandle>) -> Result<(), ClientError> {
        let client = (self.set_up)(Client::builder(self.source.clone()))?.connect().await?;
        let known = self.client.borrow().clone();
        let same = |it: Client| it.card() == client.card() && it.interface() == client.interface();
        if known.is_some_and(same) {
            return Ok(());
        }
        let Some(found) = client.card() else { return Ok(()) };
        self.words.hide_all(found);
        if let Some(choice) = client.interface() {
            self.words.hide(&choice.url);
        }
        if let Some(placard) = placard {
            let mut card = card::published(found, &self.words);
            (self.describe)(&mut card);
            placard.set(card);
        }
        if let Some(choice) = client.interface() {
            let (version, binding) = (choice.version, &choice.binding);
            let (url, skills) = (self.url(), found.skills.len());
            info!(agent = self.name, url, %version, %binding, skills, "the agent behind is found");
            if let Some(doubt) = choice.mismatch {
                warn!(agent = self.name, url, %doubt, "the agent behind may be another one");
            }
        }
        self.client.send_replace(Some(client));
        Ok(())
    }
}

/// Leave to make a call, and to say what came of it.
pub(super) struct Pass<'a> {
    upstream: &'a Upstream,
    client: Client,
}

impl Pass<'_> {
    /// The client, which activates what the caller activates.
    pub(super) fn client(&self, extensions: &[String]) -> Client {
        match extensions {
            [] => self.client.clone(),
            some => self.client.with_extensions(some.iter().cloned()),
        }
    }

    /// Says whether there was an answer.
    pub(super) fn note(&mut self, error: Option<&ClientError>) {
        match error {
            Some(
                ClientError::Unreachable { .. }
                | ClientError::ConnectionLost { .. }
                | ClientError::Timeout { .. }
                | ClientError::UpstreamUnavailable { .. }
                | ClientError::Forbidden { .. }
                | ClientError::InvalidResponse { .. },
            ) => {
                self.upstream.breaker().failed(Instant::now());
                // It may have moved.
                self.upstream.wanted.notify_one();
            }
            Some(_) | None => self.upstream.breaker().answered(),
        }
    }
}

/// Looks for the agent until this is dropped.
pub(super) struct Keeper(JoinHandle<()>);

impl Keeper {
    pub(super) fn new(upstream: Arc<Upstream>, placard: Option<CardHandle>) -> Self {
        Self(tokio::spawn(async move { upstream.keep(placard).await }))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}
