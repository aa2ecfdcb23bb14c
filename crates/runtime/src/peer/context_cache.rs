//! Cache of what an upstream agent calls the contexts of callers.
//!
//! The context id sent upstream is derived from the caller and the local id (see
//! [`upstream_ids`](super::upstream_ids)), so it need not be stored. An agent that replies with another
//! id is called with that one from then on: it is cached here, and stored in the notes of its tasks.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use latimer_protocol::ContextId;

/// How many are remembered of late; as many again of before.
const GENERATION_SIZE: usize = 4096;

/// What is known of the conversations with an agent that were of use of late: by our names for them,
/// what the agent calls them, and whatever else there is to know.
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
    /// What is known of a conversation of ours, if it was of use of late.
    pub(crate) fn get(&self, key: &ContextId) -> Option<T> {
        let generations = self.lock();
        generations.current.get(key).or_else(|| generations.previous.get(key)).cloned()
    }

    /// Remembers what is known of it now. `ours` is unique to the caller.
    pub(crate) fn insert(&self, key: ContextId, value: T) {
        let mut generations = self.lock();
        if generations.current.len() >= GENERATION_SIZE {
            generations.previous = std::mem::take(&mut generations.current);
        }
        generations.current.insert(key, value);
    }

    fn lock(&self) -> MutexGuard<'_, Generations<T>> {
        // Entries are put in whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_cache_keeps_two_generations() {
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
