//! Implementation of the webhook store.

use async_trait::async_trait;
use latimer_protocol::PushConfigId;

use super::error::unavailable;
use super::writer::{AddWebhook, AdvanceWebhook, PreparedWebhook, RemoveDeadLetter, RemoveWebhook};
use super::{SqliteStore, codec, reader};
use crate::{AddWebhookOutcome, DeadLetter, Error, ProgressUpdate, TaskKey, Webhook, WebhookStore};

impl SqliteStore {
    /// Encodes and encrypts a webhook on the caller's thread.
    pub(super) fn prepare_webhook(&self, webhook: Webhook) -> Result<PreparedWebhook, Error> {
        let config = codec::write_config(&webhook.config).map_err(unavailable)?;
        let associated_data = reader::webhook_associated_data(&webhook.task, &webhook.id);
        let sealed_config = self.seal.seal(config, &associated_data).map_err(unavailable)?;
        Ok(PreparedWebhook { webhook, sealed_config })
    }
}

#[async_trait]
impl WebhookStore for SqliteStore {
    async fn add(&self, webhook: Webhook, limit: usize) -> Result<AddWebhookOutcome, Error> {
        self.writer.run(AddWebhook { prepared: self.prepare_webhook(webhook)?, limit }).await
    }

    async fn get(&self, task: &TaskKey, id: &PushConfigId) -> Result<Option<Webhook>, Error> {
        self.readers.read(|db| reader::webhook(db, task, id, &self.seal))
    }

    async fn list_for_task(&self, task: &TaskKey) -> Result<Vec<Webhook>, Error> {
        self.readers.read(|db| reader::webhooks(db, task, &self.seal))
    }

    async fn remove(&self, task: &TaskKey, id: &PushConfigId) -> Result<bool, Error> {
        self.writer.run(RemoveWebhook { task: task.clone(), id: id.clone() }).await
    }

    async fn list_active(&self) -> Result<Vec<(TaskKey, PushConfigId)>, Error> {
        self.readers.read_blocking(reader::active_webhooks).await
    }

    async fn advance(&self, update: ProgressUpdate) -> Result<bool, Error> {
        self.writer.run(AdvanceWebhook(update)).await
    }

    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, Error> {
        self.readers.read_blocking(move |db| reader::dead_letters(db, limit)).await
    }

    async fn dead_letter(&self, id: &str) -> Result<Option<DeadLetter>, Error> {
        self.readers.read(|db| reader::dead_letter(db, id))
    }

    async fn remove_dead_letter(&self, id: &str) -> Result<bool, Error> {
        self.writer.run(RemoveDeadLetter(id.to_owned())).await
    }
}
