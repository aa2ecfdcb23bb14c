//! Webhooks, as the contract has them.

use async_trait::async_trait;
use latimer_protocol::PushConfigId;

use super::failure::unavailable;
use super::writer::{AddWebhook, Advance, NewWebhook, RemoveDead, RemoveWebhook};
use super::{Sqlite, codec, reader};
use crate::{Added, DeadLetter, Error, Key, Step, Webhook, WebhookStore};

impl Sqlite {
    /// Spells out a webhook.
    pub(super) fn spelled_out(&self, webhook: Webhook) -> Result<NewWebhook, Error> {
        let config = codec::write_config(&webhook.config).map_err(unavailable)?;
        let about = reader::about(&webhook.task, &webhook.id);
        let config = self.seal.seal(config, &about).map_err(unavailable)?;
        Ok(NewWebhook { webhook, config })
    }
}

#[async_trait]
impl WebhookStore for Sqlite {
    async fn add(&self, webhook: Webhook, limit: usize) -> Result<Added, Error> {
        self.writer.run(AddWebhook { new: self.spelled_out(webhook)?, limit }).await
    }

    async fn get(&self, task: &Key, id: &PushConfigId) -> Result<Option<Webhook>, Error> {
        self.readers.read(|db| reader::webhook(db, task, id, &self.seal))
    }

    async fn of_task(&self, task: &Key) -> Result<Vec<Webhook>, Error> {
        self.readers.read(|db| reader::webhooks(db, task, &self.seal))
    }

    async fn remove(&self, task: &Key, id: &PushConfigId) -> Result<bool, Error> {
        self.writer.run(RemoveWebhook { task: task.clone(), id: id.clone() }).await
    }

    async fn active(&self) -> Result<Vec<(Key, PushConfigId)>, Error> {
        self.readers.read_long(reader::active).await
    }

    async fn advance(&self, step: Step) -> Result<bool, Error> {
        self.writer.run(Advance(step)).await
    }

    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, Error> {
        self.readers.read_long(move |db| reader::dead_letters(db, limit)).await
    }

    async fn dead_letter(&self, id: &str) -> Result<Option<DeadLetter>, Error> {
        self.readers.read(|db| reader::dead_letter(db, id))
    }

    async fn remove_dead_letter(&self, id: &str) -> Result<bool, Error> {
        self.writer.run(RemoveDead(id.to_owned())).await
    }
}
