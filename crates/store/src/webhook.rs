//! Webhooks, with delivery progress that survives a restart, and dead letters.

use std::fmt;

use async_trait::async_trait;
use latimer_protocol::{Dialect, PushConfigId, Revision, TaskPushNotificationConfig, Timestamp};

use crate::{Error, TaskKey};

/// Push-notification webhook of a task, with its delivery progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    /// Key of the task.
    pub task: TaskKey,
    /// Id of the webhook, unique within the task.
    pub id: PushConfigId,
    /// URL and credentials of the receiver.
    pub config: TaskPushNotificationConfig,
    /// Dialect in which the webhook was registered, and in which events are delivered.
    pub dialect: Dialect,
    /// Number of times the webhook was replaced by one with the same id. Maintained by the store.
    pub generation: u64,
    /// Delivery progress.
    pub progress: DeliveryProgress,
}

/// Delivery progress of a webhook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryProgress {
    /// Revision of the last event that was delivered or abandoned.
    pub cursor: Revision,
    /// Number of failed attempts to deliver the next event.
    pub attempts: u32,
    /// Time since which deliveries have failed; `None` if the last attempt succeeded.
    pub failing_since: Option<Timestamp>,
    /// Earliest time of the next attempt; `None` for immediately.
    pub next_attempt_at: Option<Timestamp>,
}

/// Delivery that was abandoned after its retry budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Id of the delivery, which the receiver also sees.
    pub id: String,
    /// Key of the task.
    pub task: TaskKey,
    /// Id of the webhook.
    pub webhook: PushConfigId,
    /// Revision of the event.
    pub revision: Revision,
    /// Number of attempts.
    pub attempts: u32,
    /// Time at which the delivery was abandoned.
    pub abandoned_at: Timestamp,
    /// Error of the last attempt.
    pub reason: String,
}

/// Compare-and-set of the delivery progress of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressUpdate {
    /// Key of the task.
    pub task: TaskKey,
    /// Id of the webhook.
    pub webhook: PushConfigId,
    /// Expected generation of the webhook.
    pub generation: u64,
    /// Expected cursor before the update.
    pub from: Revision,
    /// Progress after the update.
    pub to: DeliveryProgress,
    /// Delivery that is abandoned by the update.
    pub dead_letter: Option<DeadLetter>,
}

/// Outcome of registering a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddWebhookOutcome {
    /// The webhook is registered.
    Added,
    /// The task already has the maximum number of webhooks.
    LimitReached,
    /// The task does not exist.
    TaskNotFound,
}

/// Storage of webhooks and dead letters. Removing a task removes its webhooks.
///
/// A backend encrypts the URLs and secrets of webhooks wherever it stores them outside the memory of
/// the process, such as in a file.
///
/// ```
/// # use latimer_store::{MemoryStore, TaskStore};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), latimer_store::Error> {
/// let store = MemoryStore::default();
/// assert!(store.webhooks().list_active().await?.is_empty());
/// assert!(store.webhooks().dead_letters(10).await?.is_empty());
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait WebhookStore: fmt::Debug + Send + Sync {
    /// Registers a webhook, up to `limit` per task. Replaces a webhook with the same id, whose
    /// cursor it keeps.
    async fn add(&self, webhook: Webhook, limit: usize) -> Result<AddWebhookOutcome, Error>;

    /// Returns a webhook of a task; `None` if it does not exist.
    async fn get(&self, task: &TaskKey, id: &PushConfigId) -> Result<Option<Webhook>, Error>;

    /// Returns the webhooks of a task in registration order.
    async fn list_for_task(&self, task: &TaskKey) -> Result<Vec<Webhook>, Error>;

    /// Removes a webhook and its dead letters. Returns `false` if it does not exist.
    async fn remove(&self, task: &TaskKey, id: &PushConfigId) -> Result<bool, Error>;

    /// Returns all webhooks that have or may get pending deliveries: those whose task is not
    /// terminal or has events after the cursor.
    async fn list_active(&self) -> Result<Vec<(TaskKey, PushConfigId)>, Error>;

    /// Updates the progress of a webhook and stores a dead letter, atomically. Returns `false`
    /// without any effect if the webhook does not exist, was replaced, or has another cursor.
    async fn advance(&self, update: ProgressUpdate) -> Result<bool, Error>;

    /// Returns up to `limit` dead letters, the oldest first.
    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, Error>;

    /// Returns a dead letter; `None` if it does not exist.
    async fn dead_letter(&self, id: &str) -> Result<Option<DeadLetter>, Error>;

    /// Removes a dead letter. Returns `false` if it does not exist.
    async fn remove_dead_letter(&self, id: &str) -> Result<bool, Error>;
}
