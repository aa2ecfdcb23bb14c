//! Webhooks, with the tasks they are of.

use async_trait::async_trait;
use latimer_protocol::PushConfigId;

use super::{Entry, Memory, lock};
use crate::{Added, DeadLetter, Error, Key, Progress, Step, Webhook, WebhookStore};

/// The webhooks of one task, and what they gave up.
#[derive(Default)]
pub(super) struct Webhooks {
    all: Vec<Webhook>,
    dead: Vec<DeadLetter>,
}

impl Webhooks {
    pub(super) fn of(webhook: Webhook) -> Self {
        Self { all: vec![webhook], dead: Vec::new() }
    }

    /// Adds one. It takes the place of another of its name, and goes on where that was.
    pub(super) fn add(&mut self, webhook: Webhook) {
        match self.all.iter_mut().find(|it| it.id == webhook.id) {
            Some(there) => {
                let progress = Progress { seen: there.progress.seen, ..Progress::default() };
                let generation = there.generation + 1;
                *there = Webhook { generation, progress, ..webhook };
            }
            None => self.all.push(webhook),
        }
    }

    fn has(&self, id: &PushConfigId) -> bool {
        self.all.iter().any(|it| it.id == *id)
    }
}

impl Memory {
    /// Looks at the webhooks of a task, and perhaps changes them. None when there is no such task.
    fn with_webhooks<T>(&self, task: &Key, look: impl FnOnce(&mut Webhooks) -> T) -> Option<T> {
        let hash = self.hash(&task.caller, &task.id);
        let mut shard = self.shard(hash);
        let entry = shard.find_mut(hash, |it| it.key == *task)?;
        match &mut entry.webhooks {
            Some(webhooks) => Some(look(webhooks)),
            none => {
                let mut webhooks = Box::<Webhooks>::default();
                let found = look(&mut webhooks);
                *none = Some(webhooks).filter(|it| !it.all.is_empty());
                Some(found)
            }
        }
    }

    /// Looks at every task that has webhooks: there are not many.
    fn each_with_webhooks(&self, mut look: impl FnMut(&Key, &Entry, &mut Webhooks)) {
        for shard in &self.shards {
            for entry in lock(shard).iter_mut() {
                if let Some(mut webhooks) = entry.webhooks.take() {
                    look(&entry.key, entry, &mut webhooks);
                    entry.webhooks = Some(webhooks);
                }
            }
        }
    }
}

#[async_trait]
impl WebhookStore for Memory {
    async fn add(&self, webhook: Webhook, limit: usize) -> Result<Added, Error> {
        let task = webhook.task.clone();
        let added = self.with_webhooks(&task, |webhooks| {
            if webhooks.all.len() >= limit && !webhooks.has(&webhook.id) {
                return Added::TooMany;
            }
            webhooks.add(webhook);
            Added::Yes
        });
        Ok(added.unwrap_or(Added::NoTask))
    }

    async fn get(&self, task: &Key, id: &PushConfigId) -> Result<Option<Webhook>, Error> {
        let found = self.with_webhooks(task, |it| it.all.iter().find(|it| it.id == *id).cloned());
        Ok(found.flatten())
    }

    async fn of_task(&self, task: &Key) -> Result<Vec<Webhook>, Error> {
        Ok(self.with_webhooks(task, |it| it.all.clone()).unwrap_or_default())
    }

    async fn remove(&self, task: &Key, id: &PushConfigId) -> Result<bool, Error> {
        let removed = self.with_webhooks(task, |webhooks| {
            let there = webhooks.has(id);
            webhooks.all.retain(|it| it.id != *id);
            webhooks.dead.retain(|it| it.webhook != *id);
            there
        });
        Ok(removed.unwrap_or_default())
    }

    async fn active(&self) -> Result<Vec<(Key, PushConfigId)>, Error> {
        let mut active = Vec::new();
        self.each_with_webhooks(|task, entry, webhooks| {
            let is_over = entry.header.state.is_terminal();
            let at_work =
                webhooks.all.iter().filter(|it| !is_over || it.progress.seen < entry.revision);
            active.extend(at_work.map(|it| (task.clone(), it.id.clone())));
        });
        Ok(active)
    }

    async fn advance(&self, step: Step) -> Result<bool, Error> {
        let Step { task, webhook: id, generation, from, to, dead } = step;
        let advanced = self.with_webhooks(&task, |webhooks| {
            let mut all = webhooks.all.iter_mut();
            let is_it = |it: &&mut Webhook| it.id == id && it.generation == generation;
            let Some(webhook) = all.find(is_it).filter(|it| it.progress.seen == from) else {
                return false;
            };
            webhook.progress = to;
            webhooks.dead.extend(dead);
            true
        });
        Ok(advanced.unwrap_or_default())
    }

    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, Error> {
        let mut found = Vec::new();
        self.each_with_webhooks(|_, _, webhooks| found.extend(webhooks.dead.iter().cloned()));
        found.sort_by_key(|it| (it.at, it.revision));
        found.truncate(limit);
        Ok(found)
    }

    async fn dead_letter(&self, id: &str) -> Result<Option<DeadLetter>, Error> {
        let mut found = None;
        self.each_with_webhooks(|_, _, webhooks| {
            found = found.take().or_else(|| webhooks.dead.iter().find(|it| it.id == id).cloned());
        });
        Ok(found)
    }

    async fn remove_dead_letter(&self, id: &str) -> Result<bool, Error> {
        let mut removed = false;
        self.each_with_webhooks(|_, _, webhooks| {
            let before = webhooks.dead.len();
            webhooks.dead.retain(|it| it.id != id);
            removed |= webhooks.dead.len() < before;
        });
        Ok(removed)
    }
}
