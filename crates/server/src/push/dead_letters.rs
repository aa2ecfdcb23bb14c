//! Dead letters: what was given up, and what an operator does about it.

use latimer_protocol::Revision;
use latimer_store::{DeadLetter, Error as StoreError, LoggedEvent, Webhook};
use serde_json::{Value, json};

use super::WebhookDispatcher;
use super::run::{LogReplay, attempt, build_payload};

/// A delivery that was given up, as it is shown to an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetterView {
    /// What was given up.
    pub dead_letter: DeadLetter,
    /// Where it should have gone: scheme, host and port.
    pub receiver: String,
}

impl DeadLetterView {
    /// As an operator sees it.
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

/// What came of trying again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayOutcome {
    /// It arrived, and is no dead letter any more.
    Delivered,
    /// It did not, for this reason.
    Failed(String),
    /// There is no such letter.
    NotFound,
}

impl WebhookDispatcher {
    /// What was given up, the earliest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetterView>, StoreError> {
        let mut views = Vec::new();
        for dead_letter in self.0.store.webhooks().dead_letters(limit).await? {
            // One that cannot be read does not hide the others.
            let webhook =
                self.0.store.webhooks().get(&dead_letter.task, &dead_letter.webhook).await;
            let receiver = webhook.ok().flatten().map_or_else(String::new, |it| self.receiver(&it));
            views.push(DeadLetterView { dead_letter, receiver });
        }
        Ok(views)
    }

    /// Tries once more to deliver what was given up.
    ///
    /// # Errors
    /// When the store cannot be read.
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

    /// Forgets what was given up; false when there is no such letter.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn delete_dead_letter(&self, id: &str) -> Result<bool, StoreError> {
        self.0.store.webhooks().remove_dead_letter(id).await
    }

    fn receiver(&self, webhook: &Webhook) -> String {
        let target = self.0.guard.check_without_dns(&webhook.config.url);
        target.map_or_else(|_| "an address that is not allowed".to_owned(), |it| it.origin())
    }
}
