//! Cache of upstream context ids.
//!
//! The context id sent upstream is derived from the caller and the local id (see
//! [`upstream_ids`](super::upstream_ids)), so it need not be stored. If the agent replies with a
//! different id, later messages use that one: it is cached here and stored in the notes of its
//! tasks.

use std::collections::HashMap;

use latimer_protocol::ContextId;
use parking_lot::{Mutex, MutexGuard};

/// Maximum number of entries per generation.
const GENERATION_SIZE: usize = 4096;

/// Cache of the recently inserted contexts of an agent, by derived context id.
///
/// Holds two generations of entries. When the current one is full it becomes the previous one, and
/// the oldest entries are dropped.
#[derive(Debug)]
pub(crate) struct ContextCache<T = ContextId>(Mutex<Generations<T>>);

#[derive(Debug)]
struct Generations<T> {
    current: HashMap<ContextId, T>,
    previous: HashMap<ContextId, T>,
}

impl<T> Default for ContextCache<T> {
    fn default() -> Self {
        Self(Mutex::new(Generations { current: HashMap::new(), previous: HashMap::new() }))
    }
}

impl<T: Clone> ContextCache<T> {
    /// Returns the cached value of a context.
    pub(crate) fn get(&self, key: &ContextId) -> Option<T> {
        let generations = self.lock();
        generations.current.get(key).or_else(|| generations.previous.get(key)).cloned()
    }

    /// Inserts or replaces the value of a context. `key` must be unique to the caller.
    pub(crate) fn insert(&self, key: ContextId, value: T) {
        let mut generations = self.lock();
        if generations.current.len() >= GENERATION_SIZE {
            generations.previous = std::mem::take(&mut generations.current);
        }
        generations.current.insert(key, value);
    }

    fn lock(&self) -> MutexGuard<'_, Generations<T>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_cache_retains_two_generations() {
        let id = |index: usize| ContextId::new(index.to_string()).unwrap();
        let cache = ContextCache::default();
        for index in 0..3 * GENERATION_SIZE {
            cache.insert(id(index), id(index + 1));
        }
        assert_eq!(cache.get(&id(0)), None);
        for index in [GENERATION_SIZE, 2 * GENERATION_SIZE, 3 * GENERATION_SIZE - 1] {
            assert_eq!(cache.get(&id(index)), Some(id(index + 1)), "{index}");
        }
    }
}
