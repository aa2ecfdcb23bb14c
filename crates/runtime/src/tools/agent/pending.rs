//! Calls whose agent takes longer than they wait.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use latimer_protocol::ContextId;

use super::Conversation;
use super::errand::Errand;
use super::found::Found;

/// How many are kept. One more, and the oldest is stopped.
const MOST: usize = 256;

/// A call that an agent is at.
pub(super) struct Call {
    pub(super) errand: Errand,
    pub(super) found: Arc<Found>,
    pub(super) known: Conversation,
}

/// Calls that agents are at and nobody waits for, by their conversations.
#[derive(Default)]
pub(super) struct Pending(Mutex<VecDeque<(ContextId, Call)>>);

impl Pending {
    /// The one of a conversation, which is waited for again.
    pub(super) fn take(&self, name: &ContextId) -> Option<Call> {
        let mut calls = self.lock();
        let place = calls.iter().position(|(it, _)| it == name)?;
        calls.remove(place).map(|(_, call)| call)
    }

    pub(super) fn put(&self, name: ContextId, call: Call) {
        let mut calls = self.lock();
        calls.push_back((name, call));
        let oldest = (calls.len() > MOST).then(|| calls.pop_front());
        drop(calls);
        drop(oldest);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(ContextId, Call)>> {
        // A call is put in whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
