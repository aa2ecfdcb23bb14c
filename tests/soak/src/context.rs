//! State shared by the callers, the webhook receiver and the monitor.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::sleep;
use uuid::Uuid;

use super::receiver::Receiver;
use super::scenario::Scenario;
use latimer_bench::BenchError;

/// Maximum number of violations that are stored with their text; the others are only counted.
const MAX_LISTED_VIOLATIONS: usize = 20;

/// State of one soak run, shared by all its tasks.
#[derive(Debug)]
pub struct SoakContext {
    /// Socket address of the server.
    pub address: String,
    /// Receiver of all webhook deliveries.
    pub receiver: Receiver,
    /// Scenarios from which callers pick.
    pub scenarios: Vec<Scenario>,
    status: watch::Sender<ServerStatus>,
    finished: AtomicBool,
    /// Prefix that keeps message ids of different runs apart.
    run_id: Uuid,
    next_message: AtomicU64,
    tallies: Mutex<BTreeMap<&'static str, Tally>>,
    violations: Mutex<Vec<Violation>>,
    violation_count: AtomicU64,
}

/// Whether the server is expected to respond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerStatus {
    /// Number of server starts so far.
    pub generation: u32,
    /// Whether the server is ready and no stop has been requested.
    pub up: bool,
}

/// Number of runs of one scenario, by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Runs that ended as expected.
    pub done: u64,
    /// Runs that a server stop interrupted.
    pub interrupted: u64,
    /// Runs that ended with a violation.
    pub failed: u64,
}

/// Unexpected behavior of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Name of the scenario or component that observed it.
    pub source: &'static str,
    /// Description with the offending response.
    pub message: String,
}

impl SoakContext {
    /// Creates the context of a server that has not been started yet, and starts the webhook receiver.
    ///
    /// # Errors
    /// Fails if the receiver cannot listen on a port.
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

    /// Marks the server as ready in a new process; callers waiting for it continue.
    pub fn mark_up(&self) {
        self.status
            .send_modify(|it| *it = ServerStatus { generation: it.generation + 1, up: true });
    }

    /// Marks the server as stopping. Must be called before the stop signal is sent, so that an
    /// interrupted caller attributes the broken connection to the stop.
    pub fn mark_down(&self) {
        self.status.send_modify(|it| it.up = false);
    }

    /// Returns the current status of the server.
    #[must_use]
    pub fn server_status(&self) -> ServerStatus {
        *self.status.borrow()
    }

    /// Waits until the server is ready, and returns the number of its process.
    pub async fn wait_until_up(&self) -> u32 {
        let mut updates = self.status.subscribe();
        // Fails only if the sender is dropped, but `self` owns it.
        let status = updates.wait_for(|it| it.up).await;
        status.map_or(0, |it| it.generation)
    }

    /// Tells callers to stop after their current scenario.
    pub fn finish(&self) {
        self.finished.store(true, Ordering::Relaxed);
    }

    /// Returns whether callers have been told to stop.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Relaxed)
    }

    /// Returns a message id that is unique across runs.
    pub fn new_message_id(&self) -> String {
        format!("{}-{}", self.run_id.simple(), self.next_message.fetch_add(1, Ordering::Relaxed))
    }

    /// Takes the webhook receiver offline for `duration` after every `interval`, until the run
    /// finishes.
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

    /// Updates the tally of a scenario.
    pub fn record(&self, scenario: &'static str, update: impl FnOnce(&mut Tally)) {
        update(self.tallies.lock().entry(scenario).or_default());
    }

    /// Counts a violation, and stores the text of the first ones.
    pub fn record_violation(&self, source: &'static str, message: String) {
        self.violation_count.fetch_add(1, Ordering::Relaxed);
        let mut violations = self.violations.lock();
        if violations.len() < MAX_LISTED_VIOLATIONS {
            violations.push(Violation { source, message });
        }
    }

    /// Returns the tallies of all scenarios, by name.
    #[must_use]
    pub fn tallies(&self) -> Vec<(&'static str, Tally)> {
        self.tallies.lock().iter().map(|(name, tally)| (*name, *tally)).collect()
    }

    /// Returns the first violations and the number of all.
    #[must_use]
    pub fn violations(&self) -> (Vec<Violation>, u64) {
        (self.violations.lock().clone(), self.violation_count.load(Ordering::Relaxed))
    }
}
