//! Webhooks: readers of a task's log whose place is in the store.
//!
//! A [`WebhookDispatcher`] knows which webhooks have something to do. When a task has new events, each of its
//! webhooks has a run: it delivers event by event, in order, writes down how far it got, and ends
//! when there is nothing left. What fails is tried again after a pause, within a budget, and then
//! becomes a dead letter. All that matters is in the store, so that a run can end anywhere.

mod dead_letters;
mod delivery;
mod retry;
mod run;
mod settings;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use latimer_outbound::{Guard, HttpClient, InvalidTls, Rules};
use latimer_protocol::{
    Dialect, Error, ErrorKind, InvalidField, Notification, PushConfigId, Revision,
    TaskPushNotificationConfig,
};
use latimer_store::{DeliveryProgress, Error as StoreError, TaskKey, TaskStore, Webhook};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

pub use dead_letters::{DeadLetterView, ReplayOutcome};
use delivery::Signer;
pub use settings::{PushSettings, V0_3Body};

use crate::engine::ids;
use crate::metrics::{DeliveryCounters, DeliveryOutcome};
use crate::signing::Keyring;
use crate::sync::{KeyedSemaphore, lock_unpoisoned};

/// How many deliveries of one caller go on at a time, to one receiver and to all.
const MAX_CONCURRENT_PER_RECEIVER: usize = 32;
const MAX_CONCURRENT_PER_CALLER: usize = 256;

/// Delivers events to webhooks. Cheap to clone; clones are one.
#[derive(Clone)]
pub struct WebhookDispatcher(Arc<Inner>);

struct Inner {
    store: Arc<dyn TaskStore>,
    settings: PushSettings,
    guard: Guard,
    client: HttpClient,
    signer: OnceLock<Signer>,
    /// Webhooks with something to do, now or later.
    active: Mutex<ActiveWebhooks>,
    /// How many there are, so that tasks without any need not look.
    active_count: AtomicUsize,
    receiver_permits: KeyedSemaphore<(Arc<str>, String)>,
    caller_permits: KeyedSemaphore<Arc<str>>,
    stopped: CancellationToken,
    runs: TaskTracker,
    counters: OnceLock<Arc<DeliveryCounters>>,
}

/// Webhooks with something to do.
#[derive(Default)]
struct ActiveWebhooks {
    tasks: HashMap<TaskKey, Vec<WebhookSlot>>,
    callers: HashMap<Arc<str>, usize>,
}

/// A webhook with something to do.
struct WebhookSlot {
    id: PushConfigId,
    state: RunState,
    /// The webhook itself is not what it was.
    changed: Arc<Notify>,
}

/// Whether a webhook has a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunState {
    Idle,
    Running,
    /// More came while it was at it.
    RunAgain,
}

impl WebhookDispatcher {
    /// A courier for the webhooks in `store`. `loopback` is whether they may lead to this machine
    /// when the settings do not say.
    ///
    /// # Errors
    /// When there is no way to speak TLS.
    pub fn new(
        store: Arc<dyn TaskStore>,
        settings: PushSettings,
        loopback: bool,
    ) -> Result<Self, InvalidTls> {
        let rules = Rules {
            allow: settings.allow.clone(),
            allow_loopback: settings.allow_loopback.unwrap_or(loopback),
        };
        let guard = Guard::new(rules);
        let mut client = HttpClient::builder(guard.clone()).connect_timeout(settings.timeout);
        if let Some(name) = &settings.user_agent {
            client = client.user_agent(name.clone());
        }
        let client = client.build()?;
        Ok(Self::with_client(store, settings, guard, client))
    }

    /// The same, with a guard and a client of one's own.
    #[must_use]
    pub fn with_client(
        store: Arc<dyn TaskStore>,
        settings: PushSettings,
        guard: Guard,
        client: HttpClient,
    ) -> Self {
        Self(Arc::new(Inner {
            store,
            settings,
            guard,
            client,
            signer: OnceLock::new(),
            active: Mutex::default(),
            active_count: AtomicUsize::new(0),
            receiver_permits: KeyedSemaphore::new(MAX_CONCURRENT_PER_RECEIVER),
            caller_permits: KeyedSemaphore::new(MAX_CONCURRENT_PER_CALLER),
            stopped: CancellationToken::new(),
            runs: TaskTracker::new(),
            counters: OnceLock::new(),
        }))
    }

    /// Signs deliveries from now on, unless somebody does. `issuer` is who it says it is.
    #[must_use]
    pub fn with_signer(self, keyring: Keyring, issuer: impl Into<String>) -> Self {
        self.0.signer.get_or_init(|| Signer { keyring, issuer: issuer.into() });
        self
    }

    /// Counts here.
    pub(crate) fn with_counters(self, counters: Arc<DeliveryCounters>) -> Self {
        self.0.counters.get_or_init(|| counters);
        self
    }

    pub(crate) fn settings(&self) -> &PushSettings {
        &self.0.settings
    }

    /// How many webhooks have something to do, now or later.
    pub(crate) fn active_count(&self) -> usize {
        self.0.active_count.load(Ordering::Relaxed)
    }

    /// A webhook as it was asked for, if it may be.
    ///
    /// # Errors
    /// When it leads where nothing is sent to, or says what cannot be sent.
    pub(crate) async fn validate(
        &self,
        mut config: TaskPushNotificationConfig,
        task: TaskKey,
        cursor: Revision,
        dialect: Dialect,
    ) -> Result<Webhook, Error> {
        let is_active = config.id.as_ref().is_some_and(|id| self.is_active(&task, id));
        if self.0.settings.max_per_caller <= self.active_for_caller(&task.owner) && !is_active {
            let message = "too many webhooks have something to do; try again later";
            return Err(Error::new(ErrorKind::RateLimited, message));
        }
        let forbidden_url = |forbidden: latimer_outbound::Forbidden| {
            Error::from(InvalidField::new("url", forbidden.to_string()))
        };
        self.0.guard.check(&config.url).await.map_err(forbidden_url)?;
        let id = config.id.take().unwrap_or_else(ids::webhook);
        config.id = Some(id.clone());
        config.task_id = Some(task.id.clone());
        config.tenant = None;
        let progress = DeliveryProgress { cursor, ..DeliveryProgress::default() };
        let webhook = Webhook { task, id, config, dialect, generation: 0, progress };
        let empty = Notification { media_type: "", body: Vec::new() };
        match delivery::request(&webhook, empty, "", None) {
            Ok(_) => Ok(webhook),
            Err(problem) => Err(Error::new(ErrorKind::InvalidParams, problem)),
        }
    }

    /// Takes on a webhook that is in the store.
    pub(crate) fn activate(&self, task: &TaskKey, id: &PushConfigId) {
        {
            let mut active = self.lock();
            let slots = active.tasks.entry(task.clone()).or_default();
            if !slots.iter().any(|it| it.id == *id) {
                slots.push(WebhookSlot {
                    id: id.clone(),
                    state: RunState::Idle,
                    changed: Arc::default(),
                });
                *active.callers.entry(task.owner.clone()).or_default() += 1;
                self.0.active_count.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.notify_changed(task);
    }

    /// Tells that webhooks of a task are not what they were.
    pub(crate) fn notify_changed(&self, task: &TaskKey) {
        for slot in self.lock().tasks.get(task).into_iter().flatten() {
            slot.changed.notify_one();
        }
        self.notify(task);
    }

    /// Takes on the webhooks that a former process left.
    pub(crate) async fn resume(&self) -> Result<(), StoreError> {
        let active = self.0.store.webhooks().list_active().await?;
        if !active.is_empty() {
            info!(webhooks = active.len(), "going on with webhooks");
        }
        for (task, id) in active {
            self.activate(&task, &id);
        }
        Ok(())
    }

    /// Tells that a task has new events.
    pub(crate) fn notify(&self, task: &TaskKey) {
        if self.active_count() == 0 || self.0.stopped.is_cancelled() {
            return;
        }
        let mut active = self.lock();
        let Some(slots) = active.tasks.get_mut(task) else { return };
        for slot in slots {
            match slot.state {
                RunState::Idle => {
                    slot.state = RunState::Running;
                    let changed = Arc::clone(&slot.changed);
                    self.0.runs.spawn(self.clone().run(task.clone(), slot.id.clone(), changed));
                }
                RunState::Running | RunState::RunAgain => slot.state = RunState::RunAgain,
            }
        }
    }

    /// Ends all runs where they are. The next process goes on from there.
    pub(crate) fn stop(&self) {
        self.0.stopped.cancel();
        self.0.runs.close();
    }

    /// Waits until all runs have ended.
    pub(crate) async fn stopped(&self) {
        self.0.runs.wait().await;
    }

    async fn run(self, task: TaskKey, id: PushConfigId, changed: Arc<Notify>) {
        loop {
            let end = tokio::select! {
                biased;
                () = self.0.stopped.cancelled() => return,
                end = run::run(&self.0, &task, &id, &changed) => end,
            };
            let end = end.unwrap_or_else(|error| {
                warn!(task = %task.id, %error, "webhook cannot go on");
                run::RunEnd::StoreUnavailable
            });
            if end == run::RunEnd::StoreUnavailable {
                tokio::select! {
                    () = self.0.stopped.cancelled() => return,
                    () = tokio::time::sleep(self.0.settings.initial_backoff) => continue,
                }
            }
            if self.finish_run(&task, &id, end) {
                return;
            }
        }
    }

    /// Ends a run, unless there is more to do by now.
    fn finish_run(&self, task: &TaskKey, id: &PushConfigId, end: run::RunEnd) -> bool {
        let mut active = self.lock();
        let Some(slots) = active.tasks.get_mut(task) else { return true };
        let Some(index) = slots.iter().position(|it| it.id == *id) else { return true };
        if slots[index].state == RunState::RunAgain {
            slots[index].state = RunState::Running;
            return false;
        }
        slots[index].state = RunState::Idle;
        if end == run::RunEnd::Finished {
            slots.remove(index);
            if slots.is_empty() {
                active.tasks.remove(task);
            }
            self.0.active_count.fetch_sub(1, Ordering::Relaxed);
            if let Some(count) = active.callers.get_mut(&task.owner) {
                *count -= 1;
                if *count == 0 {
                    active.callers.remove(&task.owner);
                }
            }
        }
        true
    }

    fn is_active(&self, task: &TaskKey, id: &PushConfigId) -> bool {
        self.lock().tasks.get(task).is_some_and(|slots| slots.iter().any(|it| it.id == *id))
    }

    fn active_for_caller(&self, caller: &Arc<str>) -> usize {
        self.lock().callers.get(caller).copied().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, ActiveWebhooks> {
        lock_unpoisoned(&self.0.active)
    }
}

impl Inner {
    fn record(&self, outcome: DeliveryOutcome) {
        if let Some(counters) = self.counters.get() {
            counters.count(outcome);
        }
    }
}

impl fmt::Debug for WebhookDispatcher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Courier").field("active", &self.active_count()).finish_non_exhaustive()
    }
}
