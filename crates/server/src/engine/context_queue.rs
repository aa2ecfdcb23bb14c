//! Queue of each context, for agents whose policy runs one turn at a time per context.

use std::sync::Arc;

use latimer_protocol::ContextId;
use latimer_store::TaskKey;

use crate::sync::{KeyedPermit, KeyedSemaphore, SemaphoreSlot};

/// Queues of the contexts of all agents whose policy queues or rejects concurrent tasks. One turn per
/// context has the permit.
#[derive(Debug)]
pub(super) struct ContextQueue(KeyedSemaphore<ContextKey>);

/// Owner, agent and context of a queue.
type ContextKey = (Arc<str>, Arc<str>, ContextId);

/// Slot in a queue.
pub(super) type ContextSlot = SemaphoreSlot<ContextKey>;

/// Permit to run a turn in a context.
pub(super) type ContextPermit = KeyedPermit<ContextKey>;

impl Default for ContextQueue {
    fn default() -> Self {
        Self(KeyedSemaphore::new(1))
    }
}

impl ContextQueue {
    /// Returns a slot for the context of a task. The turn enters the queue when it polls
    /// [`SemaphoreSlot::acquire`].
    pub(super) fn slot(&self, task: &TaskKey, context: &ContextId) -> ContextSlot {
        self.0.slot((task.owner.clone(), task.agent.clone(), context.clone()))
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
