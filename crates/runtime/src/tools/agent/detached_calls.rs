//! Calls whose agent takes longer than they wait.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use latimer_protocol::ContextId;

use super::ContextState;
use super::call::AgentCall;
use super::connector::ConnectedAgent;

/// How many are kept. One more, and the oldest is stopped.
const MAX_DETACHED: usize = 256;

/// A call that an agent is at.
pub(super) struct DetachedCall {
    pub(super) agent_call: AgentCall,
    pub(super) agent: Arc<ConnectedAgent>,
    pub(super) context_state: ContextState,
}

/// Calls that agents are at and nobody waits for, by their conversations.
#[derive(Default)]
pub(super) struct DetachedCalls(Mutex<VecDeque<(ContextId, DetachedCall)>>);

impl DetachedCalls {
    /// The one of a conversation, which is waited for again.
    pub(super) fn take(&self, context_key: &ContextId) -> Option<DetachedCall> {
        let mut calls = self.lock();
        let index = calls.iter().position(|(it, _)| it == context_key)?;
        calls.remove(index).map(|(_, call)| call)
    }

    pub(super) fn put(&self, context_key: ContextId, call: DetachedCall) {
        let mut calls = self.lock();
        calls.push_back((context_key, call));
        let oldest = (calls.len() > MAX_DETACHED).then(|| calls.pop_front());
        drop(calls);
        drop(oldest);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(ContextId, DetachedCall)>> {
        // A call is put in whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
