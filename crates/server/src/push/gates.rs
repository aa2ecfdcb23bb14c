//! How many deliveries go on at a time, so that who is slow delays nobody else.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A gate for each of many, through which so many may go at a time.
#[derive(Debug)]
pub(super) struct Gates<K> {
    width: usize,
    open: Mutex<HashMap<K, Arc<Semaphore>>>,
}

impl<K: Clone + Eq + Hash> Gates<K> {
    pub(super) fn new(width: usize) -> Self {
        Self { width, open: Mutex::default() }
    }

    /// Goes through a gate when there is room, and makes room when it is dropped.
    pub(super) async fn enter(&self, name: &K) -> Option<OwnedSemaphorePermit> {
        let gate = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if open.len() > MANY {
                // Whoever is within, or waits, has one as well.
                open.retain(|_, gate| Arc::strong_count(gate) > 1);
            }
            let gate = open.entry(name.clone());
            Arc::clone(gate.or_insert_with(|| Arc::new(Semaphore::new(self.width))))
        };
        gate.acquire_owned().await.ok()
    }
}

/// As many gates are kept without looking whether somebody uses them.
const MANY: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_gate_is_as_wide_as_it_is_and_delays_no_other() {
        let gates = Gates::new(2);
        let (first, second) = (gates.enter(&"slow").await, gates.enter(&"slow").await);
        let waits = gates.enter(&"slow");
        tokio::pin!(waits);
        let pending = std::future::poll_fn(|context| {
            std::task::Poll::Ready(waits.as_mut().poll(context).is_pending())
        });
        assert!(pending.await, "there is no room");
        assert!(gates.enter(&"other").await.is_some());
        drop(first);
        assert!(waits.await.is_some());
        drop(second);
    }

    #[tokio::test]
    async fn gates_that_nobody_uses_go() {
        let gates = Gates::new(1);
        let within = gates.enter(&usize::MAX).await;
        for name in 0..3 * MANY {
            drop(gates.enter(&name).await);
        }
        let open = gates.open.lock().unwrap();
        assert!(open.len() <= MANY + 1 && open.contains_key(&usize::MAX));
        drop(within);
    }
}
