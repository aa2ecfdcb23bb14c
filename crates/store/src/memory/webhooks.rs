//! Webhooks of tasks in memory.

use async_trait::async_trait;
use latimer_protocol::PushConfigId;

use super::{MemoryStore, TaskEntry};
use crate::{
    AddWebhookOutcome, DeadLetter, DeliveryProgress, Error, ProgressUpdate, TaskKey, Webhook,
    WebhookStore,
};

/// Webhooks and dead letters of one task.
#[derive(Default)]
pub(super) struct TaskWebhooks {
    all: Vec<Webhook>,
    dead_letters: Vec<DeadLetter>,
}

impl TaskWebhooks {
    pub(super) fn from_webhook(webhook: Webhook) -> Self {
        Self { all: vec![webhook], dead_letters: Vec::new() }
    }

    /// Adds a webhook. Replaces one with the same id and keeps its cursor.
    pub(super) fn add(&mut self, webhook: Webhook) {
        match self.all.iter_mut().find(|it| it.id == webhook.id) {
            Some(existing) => {
                let progress = DeliveryProgress {
                    cursor: existing.progress.cursor,
                    ..DeliveryProgress::default()
                };
                let generation = existing.generation + 1;
                *existing = Webhook { generation, progress, ..webhook };
            }
            None => self.all.push(webhook),
        }
    }

    fn contains(&self, id: &PushConfigId) -> bool {
        self.all.iter().any(|it| it.id == *id)
    }
}

impl MemoryStore {
    /// Calls `update` with the webhooks of a task; `None` if the task does not exist.
    fn with_webhooks<T>(
        &self,
        task: &TaskKey,
        update: impl FnOnce(&mut TaskWebhooks) -> T,
    ) -> Option<T> {
        let hash = self.hash(&task.owner, &task.id);
        let mut shard = self.tasks.lock(hash);
        let entry = shard.find_mut(hash, |it| it.key == *task)?;
        match &mut entry.webhooks {
            Some(webhooks) => Some(update(webhooks)),
            none => {
                let mut webhooks = Box::<TaskWebhooks>::default();
                let result = update(&mut webhooks);
                *none = Some(webhooks).filter(|it| !it.all.is_empty());
                Some(result)
            }
        }
    }

    /// Calls `visit` for every task with webhooks. Scans all tasks, of which a memory store has
    /// few.
    fn for_each_with_webhooks(
        &self,
        mut visit: impl FnMut(&TaskKey, &TaskEntry, &mut TaskWebhooks),
    ) {
        for mut shard in self.tasks.lock_each() {
            for entry in shard.iter_mut() {
                if let Some(mut webhooks) = entry.webhooks.take() {
                    visit(&entry.key, entry, &mut webhooks);
                    entry.webhooks = Some(webhooks);
                }
            }
        }
    }
}

#[async_trait]
impl WebhookStore for MemoryStore {
    async fn add(&self, webhook: Webhook, limit: usize) -> Result<AddWebhookOutcome, Error> {
        let task = webhook.task.clone();
        let added = self.with_webhooks(&task, |webhooks| {
            if webhooks.all.len() >= limit && !webhooks.contains(&webhook.id) {
                return AddWebhookOutcome::LimitReached;
            }
            webhooks.add(webhook);
            AddWebhookOutcome::Added
        });
        Ok(added.unwrap_or(AddWebhookOutcome::TaskNotFound))
    }

    async fn get(&self, task: &TaskKey, id: &PushConfigId) -> Result<Option<Webhook>, Error> {
        let webhook = self.with_webhooks(task, |it| it.all.iter().find(|it| it.id == *id).cloned());
        Ok(webhook.flatten())
    }

    async fn list_for_task(&self, task: &TaskKey) -> Result<Vec<Webhook>, Error> {
        Ok(self.with_webhooks(task, |it| it.all.clone()).unwrap_or_default())
    }

    async fn remove(&self, task: &TaskKey, id: &PushConfigId) -> Result<bool, Error> {
        let removed = self.with_webhooks(task, |webhooks| {
            let existed = webhooks.contains(id);
            webhooks.all.retain(|it| it.id != *id);
            webhooks.dead_letters.retain(|it| it.webhook != *id);
            existed
        });
        Ok(removed.unwrap_or_default())
    }

    async fn list_active(&self) -> Result<Vec<(TaskKey, PushConfigId)>, Error> {
        let mut active = Vec::new();
        self.for_each_with_webhooks(|task, entry, webhooks| {
            if entry.is_held() {
                return;
            }
            let is_terminal = entry.header.state.is_terminal();
            let active_webhooks = webhooks
                .all
                .iter()
                .filter(|it| !is_terminal || it.progress.cursor < entry.revision);
            active.extend(active_webhooks.map(|it| (task.clone(), it.id.clone())));
        });
        Ok(active)
    }

    async fn advance(&self, update: ProgressUpdate) -> Result<bool, Error> {
        let ProgressUpdate { task, webhook: id, generation, from, to, dead_letter } = update;
        let advanced = self.with_webhooks(&task, |webhooks| {
            let mut all = webhooks.all.iter_mut();
            let is_same = |it: &&mut Webhook| it.id == id && it.generation == generation;
            let Some(webhook) = all.find(is_same).filter(|it| it.progress.cursor == from) else {
                return false;
            };
            webhook.progress = to;
            webhooks.dead_letters.extend(dead_letter);
            true
        });
        Ok(advanced.unwrap_or_default())
    }

    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, Error> {
        let mut dead_letters = Vec::new();
        self.for_each_with_webhooks(|_, _, webhooks| {
            dead_letters.extend(webhooks.dead_letters.iter().cloned())
        });
        dead_letters.sort_by_key(|it| (it.abandoned_at, it.revision));
        dead_letters.truncate(limit);
        Ok(dead_letters)
    }

    async fn dead_letter(&self, id: &str) -> Result<Option<DeadLetter>, Error> {
        let mut dead_letter = None;
        self.for_each_with_webhooks(|_, _, webhooks| {
            dead_letter = dead_letter
                .take()
                .or_else(|| webhooks.dead_letters.iter().find(|it| it.id == id).cloned());
        });
        Ok(dead_letter)
    }

    async fn remove_dead_letter(&self, id: &str) -> Result<bool, Error> {
        let mut removed = false;
        self.for_each_with_webhooks(|_, _, webhooks| {
            let before = webhooks.dead_letters.len();
            webhooks.dead_letters.retain(|it| it.id != id);
            removed |= webhooks.dead_letters.len() < before;
        });
        Ok(removed)
    }
}
