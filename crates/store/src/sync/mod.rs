//! Locks and sharded maps of the store and the server.
//!
//! Public only because `latimer-server` uses it, too; not part of the stable API of this crate. Not a
//! separate crate, because everything that takes these locks depends on the store already.

mod sharded;

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use self::sharded::{EntryGuard, Sharded, ShardedMap};

/// Locks a mutex whether or not a thread panicked while it held it.
///
/// For values that are valid between any two statements that could panic: one failed call must not
/// fail all calls after it.
pub fn lock_unpoisoned<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for reading, under the condition of [`lock_unpoisoned`].
pub fn read_unpoisoned<T: ?Sized>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for writing, under the condition of [`lock_unpoisoned`].
pub fn write_unpoisoned<T: ?Sized>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn locks_stay_usable_after_a_panic() {
        let mutex = Mutex::new(1);
        let lock = RwLock::new(1);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _guards = (mutex.lock(), lock.write());
            panic!("while both are held");
        }));
        assert!(panicked.is_err() && mutex.is_poisoned() && lock.is_poisoned());
        *lock_unpoisoned(&mutex) += 1;
        *write_unpoisoned(&lock) += 1;
        assert_eq!((*lock_unpoisoned(&mutex), *read_unpoisoned(&lock)), (2, 2));
    }
}
