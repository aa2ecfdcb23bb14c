//! How many deliveries go on at a time, so that who is slow delays nobody else.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A gate for each of many, through which so many may go at a time.
#[derive(Debug)]
pub(super) struct KeyedSemaphore<K> {
    permits: usize,
    semaphores: Mutex<HashMap<K, Arc<Semaphore>>>,
}

impl<K: Clone + Eq + Hash> KeyedSemaphore<K> {
    pub(super) fn new(permits: usize) -> Self {
        Self { permits, semaphores: Mutex::default() }
    }

    /// Goes through a gate when there is room, and makes room when it is dropped.
    pub(super) async fn acquire(&self, key: &K) -> Option<OwnedSemaphorePermit> {
        let semaphore = {
            let mut semaphores = self.semaphores.lock().unwrap_or_else(PoisonError::into_inner);
            if semaphores.len() > SWEEP_THRESHOLD {
                // Whoever is within, or waits, has one as well.
                semaphores.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
            }
            let entry = semaphores.entry(key.clone());
            Arc::clone(entry.or_insert_with(|| Arc::new(Semaphore::new(self.permits))))
        };
        semaphore.acquire_owned().await.ok()
    }
}

/// As many gates are kept without looking whether somebody uses them.
const SWEEP_THRESHOLD: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keyed_semaphore_limits_each_key_independently() {
        let semaphores = KeyedSemaphore::new(2);
        let (first, second) =
            (semaphores.acquire(&"slow").await, semaphores.acquire(&"slow").await);
        let waits = semaphores.acquire(&"slow");
        tokio::pin!(waits);
        let pending = std::future::poll_fn(|context| {
            std::task::Poll::Ready(waits.as_mut().poll(context).is_pending())
        });
        assert!(pending.await, "there is no room");
        assert!(semaphores.acquire(&"other").await.is_some());
        drop(first);
        assert!(waits.await.is_some());
        drop(second);
    }

    #[tokio::test]
    async fn unused_semaphores_are_swept() {
        let semaphores = KeyedSemaphore::new(1);
        let held = semaphores.acquire(&usize::MAX).await;
        for key in 0..3 * SWEEP_THRESHOLD {
            drop(semaphores.acquire(&key).await);
        }
        let entries = semaphores.semaphores.lock().unwrap();
        assert!(entries.len() <= SWEEP_THRESHOLD + 1 && entries.contains_key(&usize::MAX));
        drop(held);
    }
}
