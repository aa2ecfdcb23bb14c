//! Queue of each agent whose policy limits the number of concurrent turns.
//!
//! A message reserves a place before anything of it is recorded, so that a full queue rejects it
//! without effect. Its turn then waits for a permit; permits are granted to the callers in rotation.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use latimer_protocol::{Error, ErrorKind};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::agent::{Agent, AgentRegistry};

/// One in this number of permits is reserved for callers without a running turn.
const RESERVED_FRACTION: usize = 8;

/// Turn queues of the agents with a limit, by name.
#[derive(Debug, Default)]
pub(super) struct TurnQueues(HashMap<Arc<str>, Arc<TurnQueue>>);

impl TurnQueues {
    pub(super) fn new(registry: &AgentRegistry) -> Self {
        let queue = |agent: &Arc<Agent>| {
            let (limit, max_queued) = (agent.policy().max_concurrent?, agent.policy().max_queued);
            Some((agent.name().clone(), Arc::new(TurnQueue::new(limit, max_queued))))
        };
        Self(registry.iter().filter_map(queue).collect())
    }

    /// Reserves a place for a turn of an agent. Returns `None` if the agent has no limit.
    ///
    /// # Errors
    /// Returns [`ErrorKind::RateLimited`] if the queue has no place for the caller.
    pub(super) fn reserve(
        &self,
        agent: &str,
        caller: &Arc<str>,
    ) -> Result<Option<TurnPlace>, Error> {
        self.0.get(agent).map(|it| it.reserve(caller)).transpose()
    }

    /// Reserves a place even if the queue is full, for a turn that is recorded already.
    pub(super) fn reserve_recorded(&self, agent: &str, caller: &Arc<str>) -> Option<TurnPlace> {
        let queue = self.0.get(agent)?;
        Some(queue.add_place(&mut queue.state.lock(), caller))
    }
}

/// Running and queued turns of one agent.
#[derive(Debug)]
struct TurnQueue {
    max_running: usize,
    max_queued: usize,
    state: Mutex<QueueState>,
}

#[derive(Debug, Default)]
struct QueueState {
    running: usize,
    /// Turns that have a place and no permit.
    queued: usize,
    next_id: u64,
    callers: HashMap<Arc<str>, CallerTurns>,
    /// Callers with waiting turns; the first one gets the next permit.
    rotation: VecDeque<Arc<str>>,
}

/// Turns of one caller.
#[derive(Debug, Default)]
struct CallerTurns {
    running: usize,
    queued: usize,
    /// Turns that wait for a permit, in order of arrival.
    waiting: VecDeque<(u64, oneshot::Sender<()>)>,
}

/// Place of a turn in the queue of its agent; a permit once [`TurnPlace::acquire`] has completed.
/// Dropping it leaves the queue, or releases the permit.
#[derive(Debug)]
pub(super) struct TurnPlace {
    queue: Arc<TurnQueue>,
    caller: Arc<str>,
    id: u64,
    /// Whether the turn waits for a permit or has it.
    has_entered: bool,
}

impl TurnQueue {
    fn new(max_running: usize, max_queued: usize) -> Self {
        Self { max_running: max_running.max(1), max_queued, state: Mutex::default() }
    }

    /// Reserves a place. While all permits are in use, a caller may have at most as many queued turns
    /// as there are free places, so one caller fills half of the queue, and the next one half of the
    /// remainder.
    fn reserve(self: &Arc<Self>, caller: &Arc<str>) -> Result<TurnPlace, Error> {
        let mut state = self.state.lock();
        let admitted = state.running + state.queued;
        let queued = state.callers.get(caller).map_or(0, |it| it.queued);
        let free = self.max_running.saturating_add(self.max_queued).saturating_sub(admitted);
        if admitted >= self.max_running && queued >= free {
            let message = "the agent has too many queued messages; try again later";
            return Err(Error::new(ErrorKind::RateLimited, message));
        }
        Ok(self.add_place(&mut state, caller))
    }

    fn add_place(self: &Arc<Self>, state: &mut QueueState, caller: &Arc<str>) -> TurnPlace {
        let id = state.next_id;
        state.next_id += 1;
        state.queued += 1;
        state.callers.entry(caller.clone()).or_default().queued += 1;
        TurnPlace { queue: Arc::clone(self), caller: caller.clone(), id, has_entered: false }
    }

    /// Gives free permits to the waiting turns of the callers in rotation.
    fn grant(&self, state: &mut QueueState) {
        // Callers that may not get a permit now stay in the rotation.
        let mut skipped = 0;
        while state.running < self.max_running && skipped < state.rotation.len() {
            let Some(caller) = state.rotation.pop_front() else { return };
            let free = self.max_running - state.running;
            let Some(turns) = state.callers.get_mut(&caller) else { continue };
            if turns.running > 0 && free <= self.max_running / RESERVED_FRACTION {
                state.rotation.push_back(caller);
                skipped += 1;
                continue;
            }
            let Some((_, sender)) = turns.waiting.pop_front() else { continue };
            if !turns.waiting.is_empty() {
                state.rotation.push_back(caller);
            }
            turns.running += 1;
            turns.queued -= 1;
            state.running += 1;
            state.queued -= 1;
            skipped = 0;
            // Without a receiver the place is being dropped, which releases the permit.
            let _ = sender.send(());
        }
    }
}

impl TurnPlace {
    /// Waits for a permit. Enters the queue when it is first polled; dropping the future leaves it.
    pub(super) async fn acquire(mut self) -> Self {
        let granted = self.join_rotation();
        // The sender is dropped only together with this place.
        let _ = granted.await;
        self
    }

    fn join_rotation(&mut self) -> oneshot::Receiver<()> {
        self.has_entered = true;
        let (sender, receiver) = oneshot::channel();
        let mut state = self.queue.state.lock();
        let turns = state.callers.entry(self.caller.clone()).or_default();
        turns.waiting.push_back((self.id, sender));
        if turns.waiting.len() == 1 {
            state.rotation.push_back(self.caller.clone());
        }
        self.queue.grant(&mut state);
        receiver
    }
}

impl Drop for TurnPlace {
    fn drop(&mut self) {
        let mut guard = self.queue.state.lock();
        let state = &mut *guard;
        let Some(turns) = state.callers.get_mut(&self.caller) else { return };
        let waiting = turns.waiting.iter().position(|(id, _)| *id == self.id);
        if let Some(index) = waiting {
            turns.waiting.remove(index);
            if turns.waiting.is_empty() {
                state.rotation.retain(|it| *it != self.caller);
            }
        }
        if self.has_entered && waiting.is_none() {
            turns.running -= 1;
            state.running -= 1;
        } else {
            turns.queued -= 1;
            state.queued -= 1;
        }
        if turns.running == 0 && turns.queued == 0 {
            state.callers.remove(&self.caller);
        }
        self.queue.grant(state);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Acquiring = Pin<Box<dyn Future<Output = TurnPlace>>>;

    fn poll(acquiring: &mut Acquiring) -> Poll<TurnPlace> {
        acquiring.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }

    fn acquire(queue: &Arc<TurnQueue>, caller: &str) -> Acquiring {
        Box::pin(queue.reserve(&caller.into()).unwrap().acquire())
    }

    fn running(queue: &Arc<TurnQueue>, caller: &str) -> TurnPlace {
        match poll(&mut acquire(queue, caller)) {
            Poll::Ready(place) => place,
            Poll::Pending => panic!("{caller} has to wait"),
        }
    }

    fn waiting(queue: &Arc<TurnQueue>, caller: &str) -> Acquiring {
        let mut acquiring = acquire(queue, caller);
        assert!(poll(&mut acquiring).is_pending(), "{caller} has a permit");
        acquiring
    }

    #[test]
    fn permits_are_granted_to_callers_in_rotation() {
        let queue = Arc::new(TurnQueue::new(1, 10));
        let held = running(&queue, "greedy");
        let mut turns = Vec::new();
        for caller in ["greedy", "greedy", "greedy", "other", "third"] {
            let turn = waiting(&queue, caller);
            turns.push((caller, turn));
        }
        let mut order = Vec::new();
        let mut next = Some(held);
        while let Some(place) = next.take() {
            drop(place);
            let ready =
                turns.iter_mut().enumerate().find_map(|(index, (caller, turn))| match poll(turn) {
                    Poll::Ready(place) => Some((index, *caller, place)),
                    Poll::Pending => None,
                });
            if let Some((index, caller, place)) = ready {
                drop(turns.remove(index));
                order.push(caller);
                next = Some(place);
            }
        }
        assert_eq!(order, ["greedy", "other", "third", "greedy", "greedy"]);
        let state = queue.state.lock();
        assert!(state.callers.is_empty() && state.rotation.is_empty());
        assert_eq!((state.running, state.queued), (0, 0));
    }

    #[test]
    fn one_caller_fills_at_most_half_of_the_queue() {
        let queue = Arc::new(TurnQueue::new(2, 8));
        let _running = [running(&queue, "greedy"), running(&queue, "greedy")];
        let mut places = Vec::new();
        for (caller, want) in [("greedy", 4), ("other", 2), ("third", 1), ("fourth", 1)] {
            let before = places.len();
            while let Ok(place) = queue.reserve(&caller.into()) {
                places.push(place);
            }
            assert_eq!(places.len() - before, want, "{caller}");
        }
        let error = queue.reserve(&"fifth".into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RateLimited);
        places.pop();
        assert!(queue.reserve(&"fifth".into()).is_ok());
    }

    #[test]
    fn last_permits_are_reserved_for_callers_without_turns() {
        let queue = Arc::new(TurnQueue::new(16, 16));
        let mut greedy: Vec<_> = (0..14).map(|_| running(&queue, "greedy")).collect();
        let mut fifteenth = waiting(&queue, "greedy");
        let other = running(&queue, "other");
        let _third = running(&queue, "third");
        assert!(poll(&mut fifteenth).is_pending());
        drop(other);
        assert!(poll(&mut fifteenth).is_pending());
        greedy.truncate(12);
        assert!(poll(&mut fifteenth).is_ready());
    }

    #[test]
    fn dropped_turn_leaves_the_queue_or_releases_its_permit() {
        let queue = Arc::new(TurnQueue::new(1, 4));
        let held = running(&queue, "a");
        let (canceled, mut next) = (waiting(&queue, "b"), waiting(&queue, "c"));
        drop(canceled);
        drop(held);
        assert!(poll(&mut next).is_ready());
        let held = running(&queue, "a");
        let (granted, mut next) = (waiting(&queue, "b"), waiting(&queue, "c"));
        drop(held);
        drop(granted);
        assert!(poll(&mut next).is_ready());
    }
}
