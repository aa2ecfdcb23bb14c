//! Calls that exceeded their maximum wait.

use std::collections::VecDeque;
use std::sync::Arc;

use latimer_protocol::ContextId;
use parking_lot::{Mutex, MutexGuard};

use super::ContextState;
use super::call::AgentCall;
use super::connector::ConnectedAgent;

/// Maximum number of detached calls. One more cancels the oldest.
const MAX_DETACHED: usize = 256;

/// A running call and its state.
pub(super) struct DetachedCall {
    pub(super) agent_call: AgentCall,
    pub(super) agent: Arc<ConnectedAgent>,
    pub(super) context_state: ContextState,
}

/// Running calls without a waiting caller, by context.
#[derive(Default)]
pub(super) struct DetachedCalls(Mutex<VecDeque<(ContextId, DetachedCall)>>);

impl DetachedCalls {
    /// Removes and returns the call of a context.
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
        self.0.lock()
    }
}
