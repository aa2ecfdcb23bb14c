//! One message at a time in a conversation, for agents that want it so.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use latimer_protocol::ContextId;
use latimer_store::TaskKey;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, TryAcquireError};

/// The conversations of agents that do one thing at a time.
#[derive(Debug, Default)]
pub(super) struct ContextQueue(Mutex<HashMap<ContextKey, ContextEntry>>);

type ContextKey = (Arc<str>, Arc<str>, ContextId);

#[derive(Debug)]
struct ContextEntry {
    semaphore: Arc<Semaphore>,
    users: usize,
}

/// A place in the queue of a conversation.
#[derive(Debug)]
pub(super) struct QueueSlot {
    queue: Arc<ContextQueue>,
    key: ContextKey,
    semaphore: Arc<Semaphore>,
}

/// The right to work in a conversation.
#[derive(Debug)]
pub(super) struct ContextPermit {
    /// Given back before the lane goes.
    _permit: OwnedSemaphorePermit,
    _slot: QueueSlot,
}

impl ContextQueue {
    /// The lane of the conversation of a task.
    pub(super) fn slot(self: &Arc<Self>, key: &TaskKey, context: &ContextId) -> QueueSlot {
        let context_key = (key.owner.clone(), key.agent.clone(), context.clone());
        let mut entries = self.lock();
        let new = || ContextEntry { semaphore: Arc::new(Semaphore::new(1)), users: 0 };
        let entry = entries.entry(context_key.clone()).or_insert_with(new);
        entry.users += 1;
        let semaphore = Arc::clone(&entry.semaphore);
        drop(entries);
        QueueSlot { queue: Arc::clone(self), key: context_key, semaphore }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ContextKey, ContextEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueSlot {
    /// Waits for its turn.
    pub(super) async fn acquire(self) -> Result<ContextPermit, AcquireError> {
        let permit = Arc::clone(&self.semaphore).acquire_owned().await?;
        Ok(ContextPermit { _permit: permit, _slot: self })
    }

    /// Takes its turn if nobody else has it.
    pub(super) fn try_acquire(self) -> Result<ContextPermit, TryAcquireError> {
        let permit = Arc::clone(&self.semaphore).try_acquire_owned()?;
        Ok(ContextPermit { _permit: permit, _slot: self })
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        let mut entries = self.queue.lock();
        let Some(entry) = entries.get_mut(&self.key) else { return };
        entry.users -= 1;
        if entry.users == 0 {
            entries.remove(&self.key);
        }
    }
}
