//! Operator access to dead letters: list, replay and delete.

use latimer_protocol::Revision;
use latimer_store::{DeadLetter, Error as StoreError, LoggedEvent, Webhook};
use serde_json::{Value, json};

use super::WebhookDispatcher;
use super::run::{LogReplay, attempt, build_payload};

/// A dead letter with the receiver of its webhook, for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetterView {
    /// The abandoned delivery.
    pub dead_letter: DeadLetter,
    /// Scheme, host and port of the receiver. Empty if the webhook no longer exists.
    pub receiver: String,
}

impl DeadLetterView {
    /// Returns the JSON object of the operator API.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let Self { dead_letter, receiver } = self;
        json!({
            "id": dead_letter.id,
            "taskId": dead_letter.task.id.as_str(),
            "agent": &*dead_letter.task.agent,
            "caller": &*dead_letter.task.owner,
            "webhook": dead_letter.webhook.as_str(),
            "event": dead_letter.revision.get(),
            "receiver": receiver,
            "attempts": dead_letter.attempts,
            "at": dead_letter.abandoned_at.to_string(),
            "reason": dead_letter.reason,
        })
    }
}

/// Result of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayOutcome {
    /// The event was delivered and the dead letter deleted.
    Delivered,
    /// The delivery failed for this reason; the dead letter remains.
    Failed(String),
    /// There is no such dead letter, or its webhook or event no longer exists.
    NotFound,
}

impl WebhookDispatcher {
    /// Lists at most `limit` dead letters, oldest first.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetterView>, StoreError> {
        let mut views = Vec::new();
        for dead_letter in self.0.store.webhooks().dead_letters(limit).await? {
            // An unreadable webhook leaves the receiver empty.
            let webhook =
                self.0.store.webhooks().get(&dead_letter.task, &dead_letter.webhook).await;
            let receiver = webhook.ok().flatten().map_or_else(String::new, |it| self.receiver(&it));
            views.push(DeadLetterView { dead_letter, receiver });
        }
        Ok(views)
    }

    /// Delivers a dead letter again: one request, without retries. Deletes the dead letter on
    /// success.
    ///
    /// # Errors
    /// Fails if the store cannot be read or written.
    pub async fn replay(&self, id: &str) -> Result<ReplayOutcome, StoreError> {
        let store = &self.0.store;
        let Some(dead_letter) = store.webhooks().dead_letter(id).await? else {
            return Ok(ReplayOutcome::NotFound);
        };
        let webhook = store.webhooks().get(&dead_letter.task, &dead_letter.webhook).await?;
        let cursor = Revision::new(dead_letter.revision.get().saturating_sub(1));
        let event = store.events(&dead_letter.task, cursor, 1).await?.pop();
        let (Some(webhook), Some(LoggedEvent { revision, event })) = (webhook, event) else {
            return Ok(ReplayOutcome::NotFound);
        };
        let mut replay = LogReplay::default();
        let payload = build_payload(&self.0, &webhook, revision, event, &mut replay).await?;
        if let Err(error) = attempt(&self.0, &webhook, revision, payload).await {
            return Ok(ReplayOutcome::Failed(error.reason));
        }
        store.webhooks().remove_dead_letter(id).await?;
        Ok(ReplayOutcome::Delivered)
    }

    /// Deletes a dead letter. Returns false if there is no such dead letter.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub async fn delete_dead_letter(&self, id: &str) -> Result<bool, StoreError> {
        self.0.store.webhooks().remove_dead_letter(id).await
    }

    fn receiver(&self, webhook: &Webhook) -> String {
        let target = self.0.guard.check_without_dns(&webhook.config.url);
        target.map_or_else(|_| "a forbidden address".to_owned(), |it| it.origin())
    }
}
