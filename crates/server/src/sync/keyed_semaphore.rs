//! Semaphores by key.

use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, TryAcquireError};

use super::ShardedMap;

const SHARDS: usize = 16;

/// Semaphores by key, each with the same number of permits and created on first use. A semaphore
/// exists only while a slot or a permit of its key exists. Cheap to clone; clones share the
/// semaphores.
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

/// A user of the semaphore of a key, without a permit. Dropping it ends the use.
#[derive(Debug)]
pub(crate) struct SemaphoreSlot<K: Eq + Hash> {
    entries: Arc<ShardedMap<K, SemaphoreEntry, SHARDS>>,
    key: K,
    semaphore: Arc<Semaphore>,
}

/// A permit of the semaphore of a key. Dropping it releases the permit.
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

    /// Registers a user of a key. The slot has no place in the queue until
    /// [`SemaphoreSlot::acquire`] is polled.
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
    /// gives up the place in the queue.
    ///
    /// # Errors
    /// Never fails, because the semaphores are never closed.
    pub(crate) async fn acquire(self) -> Result<KeyedPermit<K>, AcquireError> {
        let permit = Arc::clone(&self.semaphore).acquire_owned().await?;
        Ok(KeyedPermit { _permit: permit, _slot: self })
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
        assert!(semaphores.slot(0).try_acquire().is_ok(), "the dropped future released its place");
    }
}
