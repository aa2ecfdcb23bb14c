//! Webhooks: readers of a task's log whose place is kept, so that they go on after a restart.

use std::fmt;

use async_trait::async_trait;
use latimer_protocol::{Dialect, PushConfigId, Revision, TaskPushNotificationConfig, Timestamp};

use crate::{Error, TaskKey};

/// A webhook of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    /// The task.
    pub task: TaskKey,
    /// Its name within the task.
    pub id: PushConfigId,
    /// Where events go, and what the receiver knows their sender by.
    pub config: TaskPushNotificationConfig,
    /// The dialect in which it was registered, which is that of what is delivered.
    pub dialect: Dialect,
    /// How often it was replaced by another of its name. The store counts.
    pub generation: u64,
    /// How far it got.
    pub progress: DeliveryProgress,
}

/// How far a webhook got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryProgress {
    /// The last event that was delivered, or given up.
    pub cursor: Revision,
    /// How often the next one was tried in vain.
    pub attempts: u32,
    /// Since when nothing was delivered, if the last attempt failed.
    pub failing_since: Option<Timestamp>,
    /// The next attempt is not before this.
    pub next_attempt_at: Option<Timestamp>,
}

/// An event that could not be delivered, and was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Names the delivery, to its receiver as well.
    pub id: String,
    /// The task.
    pub task: TaskKey,
    /// The webhook.
    pub webhook: PushConfigId,
    /// The event.
    pub revision: Revision,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was given up.
    pub abandoned_at: Timestamp,
    /// What became of the last attempt.
    pub reason: String,
}

/// One step of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressUpdate {
    /// The task.
    pub task: TaskKey,
    /// The webhook.
    pub webhook: PushConfigId,
    /// The one of that name which makes the step.
    pub generation: u64,
    /// What it had seen before.
    pub from: Revision,
    /// How far it is now.
    pub to: DeliveryProgress,
    /// What was given up with this step.
    pub dead_letter: Option<DeadLetter>,
}

/// What came of registering a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddWebhookOutcome {
    /// It is there.
    Added,
    /// The task has as many as it may.
    LimitReached,
    /// There is no such task.
    TaskNotFound,
}

/// Where webhooks are kept: with their tasks, and gone with them.
///
/// Whatever a backend writes where others may read it (a file, a dump) shows neither the address nor
/// the secrets of a webhook.
#[async_trait]
pub trait WebhookStore: fmt::Debug + Send + Sync {
    /// Registers a webhook, of which its task may have `limit`. One of the same name takes the place
    /// of the other, and goes on where that was.
    async fn add(&self, webhook: Webhook, limit: usize) -> Result<AddWebhookOutcome, Error>;

    /// One webhook of a task.
    async fn get(&self, task: &TaskKey, id: &PushConfigId) -> Result<Option<Webhook>, Error>;

    /// The webhooks of a task, in the order in which they were registered.
    async fn list_for_task(&self, task: &TaskKey) -> Result<Vec<Webhook>, Error>;

    /// Removes a webhook with its dead letters; false when it is not there.
    async fn remove(&self, task: &TaskKey, id: &PushConfigId) -> Result<bool, Error>;

    /// All webhooks with something to do, now or later: their tasks go on, or have events that they
    /// have not seen.
    async fn list_active(&self) -> Result<Vec<(TaskKey, PushConfigId)>, Error>;

    /// Writes down how far a webhook got, and what was given up, in one step; false when it is gone,
    /// was replaced, or is not where the step begins.
    async fn advance(&self, update: ProgressUpdate) -> Result<bool, Error>;

    /// What was given up, the earliest first, at most `limit`.
    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, Error>;

    /// One of them.
    async fn dead_letter(&self, id: &str) -> Result<Option<DeadLetter>, Error>;

    /// Forgets one of them; false when it is not there.
    async fn remove_dead_letter(&self, id: &str) -> Result<bool, Error>;
}
