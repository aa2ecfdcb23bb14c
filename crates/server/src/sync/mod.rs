//! Synchronization primitives that several modules share: sharded maps of `latimer-store`, and
//! semaphores by key.

mod keyed_semaphore;

pub(crate) use latimer_store::sync::{EntryGuard, ShardedMap};

pub(crate) use self::keyed_semaphore::{KeyedPermit, KeyedSemaphore, SemaphoreSlot};
