//! What callers, the receiver and those who look on share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;
use tokio::time::sleep;
use uuid::Uuid;

use super::errand::Errand;
use super::receiver::Receiver;
use crate::Failure;

/// How many faults are shown.
const SHOWN: usize = 20;

/// What is shared.
#[derive(Debug)]
pub struct World {
    /// Where the server listens.
    pub address: String,
    /// Where webhooks lead.
    pub receiver: Receiver,
    /// What callers do.
    pub errands: Vec<Errand>,
    weather: watch::Sender<Weather>,
    over: AtomicBool,
    /// Makes message ids those of this run.
    run: Uuid,
    messages: AtomicU64,
    tallies: Mutex<BTreeMap<&'static str, Tally>>,
    faults: Mutex<Vec<Fault>>,
    fault_count: AtomicU64,
}

/// Whether the server can be expected to answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weather {
    /// How often it was started.
    pub life: u32,
    /// It is there, and is not about to go.
    pub up: bool,
}

/// What became of the errands of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// They went as they should.
    pub done: u64,
    /// The server went away meanwhile.
    pub cut_short: u64,
    /// They did not go as they should.
    pub failed: u64,
}

/// What should not have happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// On which errand, or where else.
    pub place: &'static str,
    /// What it was.
    pub what: String,
}

impl World {
    /// A world whose server is not there yet.
    ///
    /// # Errors
    /// When nobody can listen for webhooks.
    pub async fn new(address: &str, errands: Vec<Errand>) -> Result<Self, Failure> {
        Ok(Self {
            address: address.to_owned(),
            receiver: Receiver::start().await?,
            errands,
            weather: watch::Sender::default(),
            over: AtomicBool::new(false),
            run: Uuid::now_v7(),
            messages: AtomicU64::new(0),
            tallies: Mutex::default(),
            faults: Mutex::default(),
            fault_count: AtomicU64::new(0),
        })
    }

    /// The server can be called, in another life.
    pub fn is_up(&self) {
        self.weather.send_modify(|it| *it = Weather { life: it.life + 1, up: true });
    }

    /// The server goes. To be said before it is told: whoever is cut off then knows why.
    pub fn is_down(&self) {
        self.weather.send_modify(|it| it.up = false);
    }

    /// How it is now.
    #[must_use]
    pub fn weather(&self) -> Weather {
        *self.weather.borrow()
    }

    /// Waits until the server can be called, and tells in which life.
    pub async fn until_up(&self) -> u32 {
        let mut weather = self.weather.subscribe();
        // Whoever could end this is what we are part of.
        let up = weather.wait_for(|it| it.up).await;
        up.map_or(0, |it| it.life)
    }

    /// Nobody sets out any more.
    pub fn is_over(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Whether nobody sets out any more.
    #[must_use]
    pub fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// An id that no message had.
    pub fn message_id(&self) -> String {
        format!("{}-{}", self.run.simple(), self.messages.fetch_add(1, Ordering::Relaxed))
    }

    /// Has the receiver go away and come back until it is over.
    pub async fn be_away_now_and_then(self: Arc<Self>, every: Duration, time: Duration) {
        let step = Duration::from_millis(500);
        let mut waited = Duration::ZERO;
        while !self.over() {
            sleep(step).await;
            waited += step;
            if waited >= every {
                waited = Duration::ZERO;
                if let Err(error) = self.receiver.be_away(time).await {
                    self.fault("receiver", error.to_string());
                }
            }
        }
    }

    /// Notes what became of an errand.
    pub fn count(&self, errand: &'static str, count: impl FnOnce(&mut Tally)) {
        count(lock(&self.tallies).entry(errand).or_default());
    }

    /// Notes what should not have happened.
    pub fn fault(&self, place: &'static str, what: String) {
        self.fault_count.fetch_add(1, Ordering::Relaxed);
        let mut faults = lock(&self.faults);
        if faults.len() < SHOWN {
            faults.push(Fault { place, what });
        }
    }

    /// What became of all errands.
    #[must_use]
    pub fn tallies(&self) -> Vec<(&'static str, Tally)> {
        lock(&self.tallies).iter().map(|(name, tally)| (*name, *tally)).collect()
    }

    /// The first faults, and how many there were.
    #[must_use]
    pub fn faults(&self) -> (Vec<Fault>, u64) {
        (lock(&self.faults).clone(), self.fault_count.load(Ordering::Relaxed))
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
