//! Webhooks: readers of a task's log whose place is in the store.
//!
//! A [`Courier`] knows which webhooks have something to do. When a task has new events, each of its
//! webhooks has a run: it delivers event by event, in order, writes down how far it got, and ends
//! when there is nothing left. What fails is tried again after a pause, within a budget, and then
//! becomes a dead letter. All that matters is in the store, so that a run can end anywhere.

mod budget;
mod delivery;
mod gates;
mod letters;
mod run;
mod settings;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

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

use delivery::Signer;
use gates::Gates;
pub use letters::{Letter, Replayed};
pub use settings::{OlderBody, PushSettings};

use crate::engine::ids;
use crate::metrics::{Deliveries, Delivery};
use crate::signing::Keyring;

/// How many deliveries of one caller go on at a time, to one receiver and to all.
const PER_RECEIVER: usize = 32;
const PER_CALLER: usize = 256;

/// Delivers events to webhooks. Cheap to clone; clones are one.
#[derive(Clone)]
pub struct Courier(Arc<Inner>);

struct Inner {
    store: Arc<dyn TaskStore>,
    settings: PushSettings,
    guard: Guard,
    client: HttpClient,
    signer: OnceLock<Signer>,
    /// Webhooks with something to do, now or later.
    active: Mutex<Active>,
    /// How many there are, so that tasks without any need not look.
    count: AtomicUsize,
    receivers: Gates<(Arc<str>, String)>,
    callers: Gates<Arc<str>>,
    stopped: CancellationToken,
    runs: TaskTracker,
    deliveries: OnceLock<Arc<Deliveries>>,
}

/// Webhooks with something to do.
#[derive(Default)]
struct Active {
    tasks: HashMap<TaskKey, Vec<Slot>>,
    callers: HashMap<Arc<str>, usize>,
}

/// A webhook with something to do.
struct Slot {
    id: PushConfigId,
    run: Run,
    /// The webhook itself is not what it was.
    changed: Arc<Notify>,
}

/// Whether a webhook has a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    Idle,
    Busy,
    /// More came while it was at it.
    Again,
}

impl Courier {
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
            count: AtomicUsize::new(0),
            receivers: Gates::new(PER_RECEIVER),
            callers: Gates::new(PER_CALLER),
            stopped: CancellationToken::new(),
            runs: TaskTracker::new(),
            deliveries: OnceLock::new(),
        }))
    }

    /// Signs deliveries from now on, unless somebody does. `issuer` is who it says it is.
    #[must_use]
    pub fn signed_by(self, keyring: Keyring, issuer: impl Into<String>) -> Self {
        self.0.signer.get_or_init(|| Signer { keyring, issuer: issuer.into() });
        self
    }

    /// Counts here.
    pub(crate) fn counting(self, deliveries: Arc<Deliveries>) -> Self {
        self.0.deliveries.get_or_init(|| deliveries);
        self
    }

    pub(crate) fn settings(&self) -> &PushSettings {
        &self.0.settings
    }

    /// How many webhooks have something to do, now or later.
    pub(crate) fn active(&self) -> usize {
        self.0.count.load(Ordering::Relaxed)
    }

    /// A webhook as it was asked for, if it may be.
    ///
    /// # Errors
    /// When it leads where nothing is sent to, or says what cannot be sent.
    pub(crate) async fn admit(
        &self,
        mut config: TaskPushNotificationConfig,
        task: TaskKey,
        seen: Revision,
        dialect: Dialect,
    ) -> Result<Webhook, Error> {
        let is_there = config.id.as_ref().is_some_and(|id| self.has(&task, id));
        if self.0.settings.per_caller <= self.active_of(&task.owner) && !is_there {
            let message = "too many webhooks have something to do; try again later";
            return Err(Error::new(ErrorKind::RateLimited, message));
        }
        let refused = |forbidden: latimer_outbound::Forbidden| {
            Error::from(InvalidField::new("url", forbidden.to_string()))
        };
        self.0.guard.check(&config.url).await.map_err(refused)?;
        let id = config.id.take().unwrap_or_else(ids::webhook);
        config.id = Some(id.clone());
        config.task_id = Some(task.id.clone());
        config.tenant = None;
        let progress = DeliveryProgress { cursor: seen, ..DeliveryProgress::default() };
        let webhook = Webhook { task, id, config, dialect, generation: 0, progress };
        let nothing = Notification { media_type: "", body: Vec::new() };
        match delivery::request(&webhook, nothing, "", None) {
            Ok(_) => Ok(webhook),
            Err(problem) => Err(Error::new(ErrorKind::InvalidParams, problem)),
        }
    }

    /// Takes on a webhook that is in the store.
    pub(crate) fn take_on(&self, task: &TaskKey, id: &PushConfigId) {
        {
            let mut active = self.lock();
            let slots = active.tasks.entry(task.clone()).or_default();
            if !slots.iter().any(|it| it.id == *id) {
                slots.push(Slot { id: id.clone(), run: Run::Idle, changed: Arc::default() });
                *active.callers.entry(task.owner.clone()).or_default() += 1;
                self.0.count.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.changed(task);
    }

    /// Tells that webhooks of a task are not what they were.
    pub(crate) fn changed(&self, task: &TaskKey) {
        for slot in self.lock().tasks.get(task).into_iter().flatten() {
            slot.changed.notify_one();
        }
        self.happened(task);
    }

    /// Takes on the webhooks that a former process left.
    pub(crate) async fn resume(&self) -> Result<(), StoreError> {
        let active = self.0.store.webhooks().list_active().await?;
        if !active.is_empty() {
            info!(webhooks = active.len(), "going on with webhooks");
        }
        for (task, id) in active {
            self.take_on(&task, &id);
        }
        Ok(())
    }

    /// Tells that a task has new events.
    pub(crate) fn happened(&self, task: &TaskKey) {
        if self.active() == 0 || self.0.stopped.is_cancelled() {
            return;
        }
        let mut active = self.lock();
        let Some(slots) = active.tasks.get_mut(task) else { return };
        for slot in slots {
            match slot.run {
                Run::Idle => {
                    slot.run = Run::Busy;
                    let changed = Arc::clone(&slot.changed);
                    self.0.runs.spawn(self.clone().run(task.clone(), slot.id.clone(), changed));
                }
                Run::Busy | Run::Again => slot.run = Run::Again,
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
                run::End::Later
            });
            if end == run::End::Later {
                tokio::select! {
                    () = self.0.stopped.cancelled() => return,
                    () = tokio::time::sleep(self.0.settings.first_pause) => continue,
                }
            }
            if self.rest(&task, &id, end) {
                return;
            }
        }
    }

    /// Ends a run, unless there is more to do by now.
    fn rest(&self, task: &TaskKey, id: &PushConfigId, end: run::End) -> bool {
        let mut active = self.lock();
        let Some(slots) = active.tasks.get_mut(task) else { return true };
        let Some(place) = slots.iter().position(|it| it.id == *id) else { return true };
        if slots[place].run == Run::Again {
            slots[place].run = Run::Busy;
            return false;
        }
        slots[place].run = Run::Idle;
        if end == run::End::Over {
            slots.remove(place);
            if slots.is_empty() {
                active.tasks.remove(task);
            }
            self.0.count.fetch_sub(1, Ordering::Relaxed);
            if let Some(count) = active.callers.get_mut(&task.owner) {
                *count -= 1;
                if *count == 0 {
                    active.callers.remove(&task.owner);
                }
            }
        }
        true
    }

    fn has(&self, task: &TaskKey, id: &PushConfigId) -> bool {
        self.lock().tasks.get(task).is_some_and(|slots| slots.iter().any(|it| it.id == *id))
    }

    fn active_of(&self, caller: &Arc<str>) -> usize {
        self.lock().callers.get(caller).copied().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Active> {
        self.0.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn count(&self, delivery: Delivery) {
        if let Some(deliveries) = self.deliveries.get() {
            deliveries.count(delivery);
        }
    }
}

impl fmt::Debug for Courier {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Courier").field("active", &self.active()).finish_non_exhaustive()
    }
}
