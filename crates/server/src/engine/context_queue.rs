//! One turn at a time per context, for agents whose policy asks for it.

use std::sync::Arc;

use latimer_protocol::ContextId;
use latimer_store::TaskKey;

use crate::sync::{KeyedPermit, KeyedSemaphore, SemaphoreSlot};

/// The contexts of agents that run one turn at a time in each.
#[derive(Debug)]
pub(super) struct ContextQueue(KeyedSemaphore<ContextKey>);

/// Owner, agent and context.
type ContextKey = (Arc<str>, Arc<str>, ContextId);

/// Permit to run a turn in a context.
pub(super) type ContextPermit = KeyedPermit<ContextKey>;

impl Default for ContextQueue {
    fn default() -> Self {
        Self(KeyedSemaphore::new(1))
    }
}

impl ContextQueue {
    /// Joins the queue of the context of a task; the place in it is taken when the slot is acquired.
    pub(super) fn slot(&self, task: &TaskKey, context: &ContextId) -> SemaphoreSlot<ContextKey> {
        self.0.slot((task.owner.clone(), task.agent.clone(), context.clone()))
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
