//! Webhook deliveries.
//!
//! A webhook is a reader of a task's log whose cursor is in the store. The [`WebhookDispatcher`]
//! knows the active webhooks. When a task has new events, each of its webhooks has a run, which
//! delivers the events in order, stores its progress after each one and ends when it is up to date.
//! Failed deliveries are retried with backoff and become dead letters when the retry budget is
//! spent. All progress is in the store, so a run can be stopped at any point.
//!
//! | module | content |
//! | --- | --- |
//! | `dead_letters` | operator access to dead letters |
//! | `delivery` | request of a delivery and interpretation of its response |
//! | `retry` | retry schedule and retry budget |
//! | `run` | one run of a webhook |
//! | `settings` | settings of webhook deliveries |

mod dead_letters;
mod delivery;
mod retry;
mod run;
mod settings;
#[cfg_attr(not(feature = "signing"), path = "signer/disabled.rs")]
mod signer;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use latimer_outbound::{Guard, HttpClient, InvalidTls, Rules};
use latimer_protocol::{
    Dialect, Error, ErrorKind, InvalidField, Notification, PushConfigId, Revision,
    TaskPushNotificationConfig,
};
use latimer_store::{DeliveryProgress, Error as StoreError, TaskKey, TaskStore, Webhook};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

pub use dead_letters::{DeadLetterView, ReplayOutcome};
pub use settings::{PushSettings, V0_3Body};
use signer::Signer;

use crate::engine::ids;
use crate::metrics::{DeliveryCounters, DeliveryOutcome};
use crate::sync::KeyedSemaphore;

/// Limits on concurrent deliveries of one caller: to one receiver, and in total.
const MAX_CONCURRENT_PER_RECEIVER: usize = 32;
const MAX_CONCURRENT_PER_CALLER: usize = 256;

/// Delivers events to webhooks. Cheap to clone; clones share one dispatcher.
///
/// Runs are background tasks, which need a Tokio runtime. [`Engine::drain`](crate::Engine::drain)
/// stops them; dropping the dispatcher does not.
#[derive(Clone)]
pub struct WebhookDispatcher(Arc<Inner>);

struct Inner {
    store: Arc<dyn TaskStore>,
    settings: PushSettings,
    guard: Guard,
    client: HttpClient,
    signer: Signer,
    /// Webhooks whose tasks may have undelivered or future events.
    active: Mutex<ActiveWebhooks>,
    /// Number of active webhooks, so that [`WebhookDispatcher::notify`] needs no lock without any.
    active_count: AtomicUsize,
    receiver_permits: KeyedSemaphore<(Arc<str>, String)>,
    caller_permits: KeyedSemaphore<Arc<str>>,
    stopped: CancellationToken,
    runs: TaskTracker,
    counters: OnceLock<Arc<DeliveryCounters>>,
}

/// Active webhooks by task, and their number by caller.
#[derive(Default)]
struct ActiveWebhooks {
    tasks: HashMap<TaskKey, Vec<WebhookSlot>>,
    callers: HashMap<Arc<str>, usize>,
}

/// An active webhook.
struct WebhookSlot {
    id: PushConfigId,
    state: RunState,
    /// Notified when the webhook was replaced or deleted.
    changed: Arc<Notify>,
}

/// State of the runs of a webhook.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunState {
    /// There is no run.
    Idle,
    /// A run is in progress.
    Running,
    /// A run is in progress, and another one follows because of new events.
    RunAgain,
}

impl WebhookDispatcher {
    /// Creates a dispatcher for the webhooks in `store`, with its own HTTP client.
    /// `allow_loopback` applies if [`PushSettings::allow_loopback`] is `None`.
    ///
    /// # Errors
    /// Fails if TLS cannot be initialized.
    pub fn new(
        store: Arc<dyn TaskStore>,
        settings: PushSettings,
        allow_loopback: bool,
    ) -> Result<Self, InvalidTls> {
        let rules = Rules {
            allow: settings.allow.clone(),
            allow_loopback: settings.allow_loopback.unwrap_or(allow_loopback),
        };
        let guard = Guard::new(rules);
        let mut client = HttpClient::builder(guard.clone()).connect_timeout(settings.timeout);
        if let Some(name) = &settings.user_agent {
            client = client.user_agent(name.clone());
        }
        let client = client.build()?;
        Ok(Self::with_client(store, settings, guard, client))
    }

    /// Creates a dispatcher with a given address guard and HTTP client. The client must enforce the
    /// same rules.
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
            signer: Signer::default(),
            active: Mutex::default(),
            active_count: AtomicUsize::new(0),
            receiver_permits: KeyedSemaphore::new(MAX_CONCURRENT_PER_RECEIVER),
            caller_permits: KeyedSemaphore::new(MAX_CONCURRENT_PER_CALLER),
            stopped: CancellationToken::new(),
            runs: TaskTracker::new(),
            counters: OnceLock::new(),
        }))
    }

    /// Counts deliveries in `counters`. Only the first call has an effect.
    pub(crate) fn with_counters(self, counters: Arc<DeliveryCounters>) -> Self {
        self.0.counters.get_or_init(|| counters);
        self
    }

    /// Returns the maximum number of webhooks of one task.
    pub(crate) fn max_per_task(&self) -> usize {
        self.0.settings.max_per_task
    }

    /// Returns the number of active webhooks.
    pub(crate) fn active_count(&self) -> usize {
        self.0.active_count.load(Ordering::Relaxed)
    }

    /// Converts the configuration that a client sent into a webhook that starts after `cursor`.
    /// Resolves the host of its URL.
    ///
    /// # Errors
    /// Fails if the URL is not allowed, a value does not fit into an HTTP header, or the caller has
    /// the maximum number of active webhooks.
    pub(crate) async fn validate(
        &self,
        mut config: TaskPushNotificationConfig,
        task: TaskKey,
        cursor: Revision,
        dialect: Dialect,
    ) -> Result<Webhook, Error> {
        let is_active = config.id.as_ref().is_some_and(|id| self.is_active(&task, id));
        if self.0.settings.max_per_caller <= self.active_for_caller(&task.owner) && !is_active {
            let message = "the caller has too many active webhooks; try again later";
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
        match delivery::request(&webhook, empty, "", &Signer::default()) {
            Ok(_) => Ok(webhook),
            Err(problem) => Err(Error::new(ErrorKind::InvalidParams, problem)),
        }
    }

    /// Adds a stored webhook to the active ones and starts a run.
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

    /// Makes the runs of a task reload their webhooks, after one of them was replaced or deleted.
    pub(crate) fn notify_changed(&self, task: &TaskKey) {
        for slot in self.lock().tasks.get(task).into_iter().flatten() {
            slot.changed.notify_one();
        }
        self.notify(task);
    }

    /// Activates the webhooks that an ended process left active.
    pub(crate) async fn resume(&self) -> Result<(), StoreError> {
        let active = self.0.store.webhooks().list_active().await?;
        if !active.is_empty() {
            info!(webhooks = active.len(), "webhooks resumed");
        }
        for (task, id) in active {
            self.activate(&task, &id);
        }
        Ok(())
    }

    /// Starts runs for new events of a task. Cheap if there are no active webhooks.
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

    /// Stops all runs. The next process resumes them.
    pub(crate) fn stop(&self) {
        self.0.stopped.cancel();
        self.0.runs.close();
    }

    /// Waits until all runs have ended.
    pub(crate) async fn stopped(&self) {
        self.0.runs.wait().await;
    }

    /// Runs a webhook until it is up to date or the dispatcher stops. Retries while the store
    /// fails.
    async fn run(self, task: TaskKey, id: PushConfigId, changed: Arc<Notify>) {
        loop {
            let end = tokio::select! {
                biased;
                () = self.0.stopped.cancelled() => return,
                end = run::run(&self.0, &task, &id, &changed) => end,
            };
            let end = end.unwrap_or_else(|error| {
                warn!(task = %task.id, %error, "webhook run failed; retrying");
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

    /// Ends a run and returns true, unless new events require another one.
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
        self.0.active.lock()
    }
}

impl Inner {
    fn record(&self, outcome: DeliveryOutcome) {
        if let Some(counters) = self.counters.get() {
            counters.record(outcome);
        }
    }
}

impl fmt::Debug for WebhookDispatcher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("WebhookDispatcher")
            .field("active", &self.active_count())
            .finish_non_exhaustive()
    }
}
