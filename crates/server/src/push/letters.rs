//! Dead letters: what was given up, and what an operator does about it.

use latimer_protocol::Revision;
use latimer_store::{DeadLetter, Error as StoreError, LoggedEvent, Webhook};
use serde_json::{Value, json};

use super::Courier;
use super::run::{Replay, attempt, notification};

/// A delivery that was given up, as it is shown to an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Letter {
    /// What was given up.
    pub dead: DeadLetter,
    /// Where it should have gone: scheme, host and port.
    pub receiver: String,
}

impl Letter {
    /// As an operator sees it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let Self { dead, receiver } = self;
        json!({
            "id": dead.id,
            "taskId": dead.task.id.as_str(),
            "agent": &*dead.task.agent,
            "caller": &*dead.task.owner,
            "webhook": dead.webhook.as_str(),
            "event": dead.revision.get(),
            "receiver": receiver,
            "attempts": dead.attempts,
            "at": dead.abandoned_at.to_string(),
            "reason": dead.reason,
        })
    }
}

/// What came of trying again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replayed {
    /// It arrived, and is no dead letter any more.
    Delivered,
    /// It did not, for this reason.
    Failed(String),
    /// There is no such letter.
    Unknown,
}

impl Courier {
    /// What was given up, the earliest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn dead_letters(&self, limit: usize) -> Result<Vec<Letter>, StoreError> {
        let mut letters = Vec::new();
        for dead in self.0.store.webhooks().dead_letters(limit).await? {
            // One that cannot be read does not hide the others.
            let webhook = self.0.store.webhooks().get(&dead.task, &dead.webhook).await;
            let receiver = webhook.ok().flatten().map_or_else(String::new, |it| self.receiver(&it));
            letters.push(Letter { dead, receiver });
        }
        Ok(letters)
    }

    /// Tries once more to deliver what was given up.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn replay(&self, id: &str) -> Result<Replayed, StoreError> {
        let store = &self.0.store;
        let Some(dead) = store.webhooks().dead_letter(id).await? else {
            return Ok(Replayed::Unknown);
        };
        let webhook = store.webhooks().get(&dead.task, &dead.webhook).await?;
        let before = Revision::new(dead.revision.get().saturating_sub(1));
        let event = store.events(&dead.task, before, 1).await?.pop();
        let (Some(webhook), Some(LoggedEvent { revision, event })) = (webhook, event) else {
            return Ok(Replayed::Unknown);
        };
        let mut replay = Replay::default();
        let sent = notification(&self.0, &webhook, revision, event, &mut replay).await?;
        if let Err(undelivered) = attempt(&self.0, &webhook, revision, sent).await {
            return Ok(Replayed::Failed(undelivered.reason));
        }
        store.webhooks().remove_dead_letter(id).await?;
        Ok(Replayed::Delivered)
    }

    /// Forgets what was given up; false when there is no such letter.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn drop_letter(&self, id: &str) -> Result<bool, StoreError> {
        self.0.store.webhooks().remove_dead_letter(id).await
    }

    fn receiver(&self, webhook: &Webhook) -> String {
        let target = self.0.guard.check_without_dns(&webhook.config.url);
        target.map_or_else(|_| "an address that is not allowed".to_owned(), |it| it.origin())
    }
}
