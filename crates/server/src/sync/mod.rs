//! Synchronization primitives that several modules share: locks and sharded maps of
//! `latimer-store`, and semaphores by key.

mod keyed_semaphore;

pub(crate) use latimer_store::sync::{
    EntryGuard, ShardedMap, lock_unpoisoned, read_unpoisoned, write_unpoisoned,
};

pub(crate) use self::keyed_semaphore::{KeyedPermit, KeyedSemaphore, SemaphoreSlot};
