//! Periodic removal of expired tasks, and the end of tasks that wait for their callers too long.

use std::sync::atomic::{AtomicI64, Ordering};

use latimer_protocol::{Error, Message, Part, TaskState, TaskStatus, Timestamp};
use latimer_store::TaskKey;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tracing::{info, warn};

use super::live::WriterPermit;
use super::{Engine, ids, store_error};

/// Number of tasks that one read of the store returns at most.
const EXPIRY_BATCH: usize = 64;

/// Number of interrupted tasks, as far as this process knows. Each sweep corrects it.
#[derive(Debug, Default)]
pub(super) struct WaitingTasks {
    count: AtomicI64,
    excess: Notify,
}

impl WaitingTasks {
    fn set(&self, count: u64) {
        self.count.store(i64::try_from(count).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    fn change_by(&self, change: i64) -> i64 {
        self.count.fetch_add(change, Ordering::Relaxed) + change
    }
}

impl Engine {
    /// Returns the limit of interrupted tasks. At least half of the store is left for other tasks.
    fn max_waiting(&self) -> u64 {
        let retention = self.store().retention();
        retention.max_waiting.min((retention.max_tasks / 2).max(1))
    }

    /// Counts the change of a task from one state to another, and starts an expiry if too many tasks
    /// wait.
    pub(super) fn count_waiting(&self, before: TaskState, after: TaskState) {
        let change = i64::from(after.is_interrupted()) - i64::from(before.is_interrupted());
        if change == 0 {
            return;
        }
        let waiting = self.0.waiting.change_by(change);
        if u64::try_from(waiting).is_ok_and(|it| it > self.max_waiting()) {
            self.0.waiting.excess.notify_one();
        }
    }

    /// Removes finished tasks and cancels waiting ones, at the interval of the store's retention. Too
    /// many waiting tasks are canceled at once. Ends when the engine drains.
    pub(super) async fn sweep(self) {
        let interval = self.store().retention().sweep_interval;
        let mut next_sweep = Instant::now() + interval;
        loop {
            if let Err(error) = self.cancel_excess_waiting().await {
                warn!(%error, "cancellation of waiting tasks failed");
            }
            tokio::select! {
                () = sleep_until(next_sweep) => {}
                () = self.0.waiting.excess.notified() => continue,
                () = self.shutdown().draining() => return,
            }
            next_sweep = Instant::now() + interval;
            match self.store().sweep(ids::now()).await {
                Ok(0) => {}
                Ok(tasks) => info!(tasks, "expired tasks removed"),
                Err(error) => warn!(%error, "removal of expired tasks failed"),
            }
            if let Err(error) = self.cancel_idle().await {
                warn!(%error, "cancellation of idle tasks failed");
            }
        }
    }

    /// Cancels tasks that have waited longer than the retention allows.
    async fn cancel_idle(&self) -> Result<(), Error> {
        let max_idle = self.store().retention().max_idle;
        let age = i64::try_from(max_idle.as_millis()).unwrap_or(i64::MAX);
        let now = ids::now();
        let idle_since = Timestamp::from_millis(now.as_millis().saturating_sub(age));
        let reason = format!("the task waited for a message for more than {max_idle:?}");
        loop {
            let idle_since = idle_since.unwrap_or(Timestamp::EPOCH);
            let listed = self.store().list_interrupted(idle_since, EXPIRY_BATCH).await;
            let mut canceled = 0;
            for task in listed.map_err(store_error)?.tasks {
                canceled += u64::from(self.cancel_waiting(&task, &reason).await?);
            }
            if canceled == 0 {
                return Ok(());
            }
            info!(tasks = canceled, "idle tasks canceled");
        }
    }

    /// Cancels waiting tasks above the limit, those of the owner with the most first.
    async fn cancel_excess_waiting(&self) -> Result<(), Error> {
        loop {
            let listed = self.store().list_interrupted(ids::now(), 1).await.map_err(store_error)?;
            self.0.waiting.set(listed.total);
            if listed.total <= self.max_waiting() {
                return Ok(());
            }
            let reason = "too many tasks wait for a message";
            let mut canceled = false;
            for task in &listed.tasks {
                canceled |= self.cancel_waiting(task, reason).await?;
            }
            if !canceled {
                // Its caller has just answered: the next change of a task starts another attempt.
                return Ok(());
            }
        }
    }

    /// Cancels a task that waits for its caller. Returns `false` if it waits no longer.
    async fn cancel_waiting(&self, task: &TaskKey, reason: &str) -> Result<bool, Error> {
        let live = self.0.live_tasks.get_or_create(task);
        let Some(_permit) = WriterPermit::try_acquire(&live) else { return Ok(false) };
        let stored = self.store().load(task).await.map_err(store_error)?;
        let Some(stored) = stored.filter(|it| it.header.state.is_interrupted()) else {
            return Ok(false);
        };
        live.sync_from_store(&stored);
        let message = Message::agent(ids::message(), Part::text(reason));
        let status = TaskStatus::from(TaskState::Canceled).with_message(message);
        let released = stored.clone();
        self.append_final_status(&live, stored, status).await.map_err(store_error)?;
        // An agent that is slow to release its task must not delay the expiry of others.
        let engine = self.clone();
        self.0.tracker.spawn(async move { engine.release_task(&released).await });
        Ok(true)
    }
}
