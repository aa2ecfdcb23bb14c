//! One message at a time in a conversation, for agents that want it so.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use latimer_protocol::ContextId;
use latimer_store::TaskKey;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, TryAcquireError};

/// The conversations of agents that do one thing at a time.
#[derive(Debug, Default)]
pub(super) struct Lanes(Mutex<HashMap<Name, Shared>>);

type Name = (Arc<str>, Arc<str>, ContextId);

#[derive(Debug)]
struct Shared {
    semaphore: Arc<Semaphore>,
    users: usize,
}

/// A place in the queue of a conversation.
#[derive(Debug)]
pub(super) struct Lane {
    lanes: Arc<Lanes>,
    name: Name,
    semaphore: Arc<Semaphore>,
}

/// The right to work in a conversation.
#[derive(Debug)]
pub(super) struct Right {
    /// Given back before the lane goes.
    _permit: OwnedSemaphorePermit,
    _lane: Lane,
}

impl Lanes {
    /// The lane of the conversation of a task.
    pub(super) fn lane(self: &Arc<Self>, key: &TaskKey, context: &ContextId) -> Lane {
        let name = (key.owner.clone(), key.agent.clone(), context.clone());
        let mut lanes = self.lock();
        let new = || Shared { semaphore: Arc::new(Semaphore::new(1)), users: 0 };
        let shared = lanes.entry(name.clone()).or_insert_with(new);
        shared.users += 1;
        let semaphore = Arc::clone(&shared.semaphore);
        drop(lanes);
        Lane { lanes: Arc::clone(self), name, semaphore }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Name, Shared>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    /// Waits for its turn.
    pub(super) async fn wait(self) -> Result<Right, AcquireError> {
        let permit = Arc::clone(&self.semaphore).acquire_owned().await?;
        Ok(Right { _permit: permit, _lane: self })
    }

    /// Takes its turn if nobody else has it.
    pub(super) fn enter(self) -> Result<Right, TryAcquireError> {
        let permit = Arc::clone(&self.semaphore).try_acquire_owned()?;
        Ok(Right { _permit: permit, _lane: self })
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let mut lanes = self.lanes.lock();
        let Some(shared) = lanes.get_mut(&self.name) else { return };
        shared.users -= 1;
        if shared.users == 0 {
            lanes.remove(&self.name);
        }
    }
}
