//! What callers, the receiver and those who look on share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;
use tokio::time::sleep;
use uuid::Uuid;

use super::receiver::Receiver;
use super::scenario::Scenario;
use latimer_bench::BenchError;

/// How many faults are shown.
const MAX_LISTED_VIOLATIONS: usize = 20;

/// What is shared.
#[derive(Debug)]
pub struct SoakContext {
    /// Where the server listens.
    pub address: String,
    /// Where webhooks lead.
    pub receiver: Receiver,
    /// What callers do.
    pub scenarios: Vec<Scenario>,
    status: watch::Sender<ServerStatus>,
    finished: AtomicBool,
    /// Makes message ids those of this run.
    run_id: Uuid,
    next_message: AtomicU64,
    tallies: Mutex<BTreeMap<&'static str, Tally>>,
    violations: Mutex<Vec<Violation>>,
    violation_count: AtomicU64,
}

/// Whether the server can be expected to answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerStatus {
    /// How often it was started.
    pub generation: u32,
    /// It is there, and is not about to go.
    pub up: bool,
}

/// What became of the errands of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// They went as they should.
    pub done: u64,
    /// The server went away meanwhile.
    pub interrupted: u64,
    /// They did not go as they should.
    pub failed: u64,
}

/// What should not have happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// On which errand, or where else.
    pub source: &'static str,
    /// What it was.
    pub message: String,
}

impl SoakContext {
    /// A world whose server is not there yet.
    ///
    /// # Errors
    /// When nobody can listen for webhooks.
    pub async fn new(address: &str, scenarios: Vec<Scenario>) -> Result<Self, BenchError> {
        Ok(Self {
            address: address.to_owned(),
            receiver: Receiver::start().await?,
            scenarios,
            status: watch::Sender::default(),
            finished: AtomicBool::new(false),
            run_id: Uuid::now_v7(),
            next_message: AtomicU64::new(0),
            tallies: Mutex::default(),
            violations: Mutex::default(),
            violation_count: AtomicU64::new(0),
        })
    }

    /// The server can be called, in another life.
    pub fn mark_up(&self) {
        self.status
            .send_modify(|it| *it = ServerStatus { generation: it.generation + 1, up: true });
    }

    /// The server goes. To be said before it is told: whoever is cut off then knows why.
    pub fn mark_down(&self) {
        self.status.send_modify(|it| it.up = false);
    }

    /// How it is now.
    #[must_use]
    pub fn server_status(&self) -> ServerStatus {
        *self.status.borrow()
    }

    /// Waits until the server can be called, and tells in which life.
    pub async fn wait_until_up(&self) -> u32 {
        let mut updates = self.status.subscribe();
        // Whoever could end this is what we are part of.
        let status = updates.wait_for(|it| it.up).await;
        status.map_or(0, |it| it.generation)
    }

    /// Nobody sets out any more.
    pub fn finish(&self) {
        self.finished.store(true, Ordering::Relaxed);
    }

    /// Whether nobody sets out any more.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Relaxed)
    }

    /// An id that no message had.
    pub fn new_message_id(&self) -> String {
        format!("{}-{}", self.run_id.simple(), self.next_message.fetch_add(1, Ordering::Relaxed))
    }

    /// Has the receiver go away and come back until it is over.
    pub async fn cycle_receiver(self: Arc<Self>, interval: Duration, duration: Duration) {
        let step = Duration::from_millis(500);
        let mut waited = Duration::ZERO;
        while !self.is_finished() {
            sleep(step).await;
            waited += step;
            if waited >= interval {
                waited = Duration::ZERO;
                if let Err(error) = self.receiver.go_offline(duration).await {
                    self.record_violation("receiver", error.to_string());
                }
            }
        }
    }

    /// Notes what became of an errand.
    pub fn record(&self, scenario: &'static str, update: impl FnOnce(&mut Tally)) {
        update(lock_unpoisoned(&self.tallies).entry(scenario).or_default());
    }

    /// Notes what should not have happened.
    pub fn record_violation(&self, source: &'static str, message: String) {
        self.violation_count.fetch_add(1, Ordering::Relaxed);
        let mut violations = lock_unpoisoned(&self.violations);
        if violations.len() < MAX_LISTED_VIOLATIONS {
            violations.push(Violation { source, message });
        }
    }

    /// What became of all errands.
    #[must_use]
    pub fn tallies(&self) -> Vec<(&'static str, Tally)> {
        lock_unpoisoned(&self.tallies).iter().map(|(name, tally)| (*name, *tally)).collect()
    }

    /// The first faults, and how many there were.
    #[must_use]
    pub fn violations(&self) -> (Vec<Violation>, u64) {
        (lock_unpoisoned(&self.violations).clone(), self.violation_count.load(Ordering::Relaxed))
    }
}

pub(super) fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
