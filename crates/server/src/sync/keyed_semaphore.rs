//! Keyed semaphores.

use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use super::ShardedMap;

const SHARDS: usize = 16;

/// One semaphore per key, each with the same number of permits. A semaphore is created on first use
/// and exists only while a slot or a permit of its key exists.
#[derive(Debug)]
pub(crate) struct KeyedSemaphore<K> {
    permits: usize,
    entries: Arc<ShardedMap<K, SemaphoreEntry, SHARDS>>,
}

#[derive(Debug)]
struct SemaphoreEntry {
    semaphore: Arc<Semaphore>,
    users: usize,
}

/// Use of the semaphore of a key, without a permit. Keeps the semaphore alive until it is dropped.
#[derive(Debug)]
pub(crate) struct SemaphoreSlot<K: Eq + Hash> {
    entries: Arc<ShardedMap<K, SemaphoreEntry, SHARDS>>,
    key: K,
    semaphore: Arc<Semaphore>,
}

/// Permit of the semaphore of a key. Dropping it releases the permit.
#[derive(Debug)]
pub(crate) struct KeyedPermit<K: Eq + Hash> {
    /// Dropped before the slot, which may remove the semaphore.
    _permit: OwnedSemaphorePermit,
    _slot: SemaphoreSlot<K>,
}

impl<K: Clone + Eq + Hash> KeyedSemaphore<K> {
    /// Creates semaphores with `permits` permits for each key.
    pub(crate) fn new(permits: usize) -> Self {
        Self { permits, entries: Arc::default() }
    }

    /// Creates a slot for a key. It enters the queue when [`SemaphoreSlot::acquire`] is first polled.
    pub(crate) fn slot(&self, key: K) -> SemaphoreSlot<K> {
        let mut guard = self.entries.entry(&key);
        let entry = guard.get_or_insert_with(|| {
            let semaphore = Arc::new(Semaphore::new(self.permits));
            (key.clone(), SemaphoreEntry { semaphore, users: 0 })
        });
        entry.users += 1;
        let semaphore = Arc::clone(&entry.semaphore);
        drop(guard);
        SemaphoreSlot { entries: Arc::clone(&self.entries), key, semaphore }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<K: Eq + Hash> SemaphoreSlot<K> {
    /// Waits for a permit, in the order in which the futures were first polled. Dropping the future
    /// leaves the queue.
    pub(crate) async fn acquire(self) -> KeyedPermit<K> {
        match Arc::clone(&self.semaphore).acquire_owned().await {
            Ok(permit) => KeyedPermit { _permit: permit, _slot: self },
            // Only a closed semaphore returns an error, and no code closes these.
            Err(_closed) => std::future::pending().await,
        }
    }

    /// Acquires a permit without waiting.
    ///
    /// # Errors
    /// Fails if all permits are in use.
    pub(crate) fn try_acquire(self) -> Result<KeyedPermit<K>, TryAcquireError> {
        let permit = Arc::clone(&self.semaphore).try_acquire_owned()?;
        Ok(KeyedPermit { _permit: permit, _slot: self })
    }
}

impl<K: Eq + Hash> Drop for SemaphoreSlot<K> {
    fn drop(&mut self) {
        self.entries.entry(&self.key).remove_if(|entry| {
            entry.users -= 1;
            entry.users == 0
        });
    }
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn permits_of_each_key_are_limited_independently() {
        let semaphores = KeyedSemaphore::new(2);
        let first = semaphores.slot("slow").try_acquire().unwrap();
        let second = semaphores.slot("slow").try_acquire().unwrap();
        assert!(semaphores.slot("slow").try_acquire().is_err());
        let mut waiting = pin!(semaphores.slot("slow").acquire());
        assert!(poll(waiting.as_mut()).is_pending());
        assert!(semaphores.slot("other").try_acquire().is_ok());
        drop(first);
        assert!(poll(waiting).is_ready());
        drop(second);
    }

    #[test]
    fn permits_are_granted_in_order_of_first_poll() {
        let semaphores = KeyedSemaphore::new(1);
        let held = semaphores.slot("key").try_acquire().unwrap();
        let mut second = pin!(semaphores.slot("key").acquire());
        let mut first = pin!(semaphores.slot("key").acquire());
        assert!(poll(first.as_mut()).is_pending());
        assert!(poll(second.as_mut()).is_pending());
        drop(held);
        assert!(poll(second.as_mut()).is_pending());
        let Poll::Ready(permit) = poll(first) else {
            panic!("the first in the queue gets the permit")
        };
        drop(permit);
        assert!(poll(second).is_ready());
    }

    #[test]
    fn unused_semaphores_are_removed() {
        let semaphores = KeyedSemaphore::new(1);
        let held = semaphores.slot(0).try_acquire().unwrap();
        for key in 0..100 {
            drop(semaphores.slot(key));
            drop(semaphores.slot(key).try_acquire());
        }
        {
            let mut canceled = pin!(semaphores.slot(0).acquire());
            assert!(poll(canceled.as_mut()).is_pending());
        }
        assert_eq!(semaphores.entries.len(), 1);
        drop(held);
        assert!(semaphores.is_empty());
        assert!(semaphores.slot(0).try_acquire().is_ok(), "the dropped future left the queue");
    }
}
