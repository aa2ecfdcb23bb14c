//! Collections split over several mutexes. Concurrent callers rarely contend for a mutex, and the
//! growth of one small table delays a caller less than that of a large one.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use parking_lot::{Mutex, MutexGuard};

/// `N` values of type `S`, each behind its own mutex and selected by a hash.
///
/// Suits shards that are more than a map, or whose entries contain their own key. The caller hashes
/// a key once, with [`Sharded::hash`], and uses the hash for the shard and for the table in it.
#[derive(Debug)]
pub struct Sharded<S, const N: usize> {
    hasher: DefaultHashBuilder,
    shards: Box<[Mutex<S>; N]>,
}

impl<S: Default, const N: usize> Default for Sharded<S, N> {
    fn default() -> Self {
        let shards = Box::new(std::array::from_fn(|_| Mutex::default()));
        Self { hasher: DefaultHashBuilder::default(), shards }
    }
}

impl<S, const N: usize> Sharded<S, N> {
    /// Hashes a key, with a seed of this collection.
    pub fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Locks the shard that a hash selects.
    pub fn lock(&self, hash: u64) -> MutexGuard<'_, S> {
        // The low bits of the hash select a slot within a table, and the highest are its tag.
        self.shards[(hash >> 32) as usize % N].lock()
    }

    /// Locks each shard in turn, one at a time.
    pub fn lock_each(&self) -> impl Iterator<Item = MutexGuard<'_, S>> {
        self.shards.iter().map(Mutex::lock)
    }
}

/// Hash map split over `N` mutexes.
///
/// An operation hashes its key once and locks one shard. The map has no size limit: a caller that
/// needs one uses [`EntryGuard::shard_len`] and [`EntryGuard::evict_min_by_key`].
pub struct ShardedMap<K, V, const N: usize>(Sharded<HashTable<(K, V)>, N>);

impl<K, V, const N: usize> Default for ShardedMap<K, V, N> {
    fn default() -> Self {
        Self(Sharded::default())
    }
}

impl<K, V, const N: usize> fmt::Debug for ShardedMap<K, V, N> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ShardedMap").field("shards", &N).finish_non_exhaustive()
    }
}

impl<K: Eq + Hash, V, const N: usize> ShardedMap<K, V, N> {
    /// Locks the shard of a key.
    pub fn entry<'a, Q>(&'a self, key: &'a Q) -> EntryGuard<'a, K, V, Q>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let hash = self.0.hash(key);
        EntryGuard { hasher: &self.0.hasher, shard: self.0.lock(hash), hash, key }
    }

    /// Returns the number of entries. Locks each shard in turn.
    pub fn len(&self) -> usize {
        self.0.lock_each().map(|it| it.len()).sum()
    }

    /// Returns whether there is no entry. Locks each shard in turn.
    pub fn is_empty(&self) -> bool {
        self.0.lock_each().all(|it| it.is_empty())
    }

    /// Removes every entry for which `keep` returns false, and returns the number of removed entries.
    /// Locks each shard in turn.
    pub fn retain(&self, mut keep: impl FnMut(&K, &V) -> bool) -> usize {
        let mut removed = 0;
        for mut shard in self.0.lock_each() {
            let before = shard.len();
            shard.retain(|(key, value)| keep(key, value));
            removed += before - shard.len();
        }
        removed
    }

    /// Releases unused capacity. Locks each shard in turn.
    pub fn shrink_to_fit(&self) {
        for mut shard in self.0.lock_each() {
            shard.shrink_to_fit(|(key, _)| self.0.hash(key));
        }
    }
}

/// Entry of one key, which may be vacant. Holds the lock of its shard until it is dropped.
pub struct EntryGuard<'a, K, V, Q: ?Sized> {
    hasher: &'a DefaultHashBuilder,
    shard: MutexGuard<'a, HashTable<(K, V)>>,
    hash: u64,
    key: &'a Q,
}

impl<K: fmt::Debug, V: fmt::Debug, Q: fmt::Debug + ?Sized> fmt::Debug for EntryGuard<'_, K, V, Q> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("EntryGuard").field("key", &self.key).finish_non_exhaustive()
    }
}

impl<K, V, Q> EntryGuard<'_, K, V, Q>
where
    K: Borrow<Q> + Eq + Hash,
    Q: Eq + Hash + ?Sized,
{
    /// Returns the value, if there is one.
    pub fn get(&self) -> Option<&V> {
        self.shard.find(self.hash, |(key, _)| key.borrow() == self.key).map(|(_, value)| value)
    }

    /// Returns the value, if there is one.
    pub fn get_mut(&mut self) -> Option<&mut V> {
        let found = self.shard.find_mut(self.hash, |(key, _)| key.borrow() == self.key);
        found.map(|(_, value)| value)
    }

    /// Returns the value. Inserts the entry that `new` creates if there is none; its key must equal the
    /// key of this guard.
    pub fn get_or_insert_with(&mut self, new: impl FnOnce() -> (K, V)) -> &mut V {
        let (_, value) = self.table_entry().or_insert_with(new).into_mut();
        value
    }

    /// Inserts a value and returns the one it replaces. `key` must equal the key of this guard.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        debug_assert!(key.borrow() == self.key);
        match self.table_entry() {
            Entry::Occupied(mut occupied) => {
                Some(std::mem::replace(&mut occupied.get_mut().1, value))
            }
            Entry::Vacant(vacant) => {
                vacant.insert((key, value));
                None
            }
        }
    }

    /// Removes the value and returns it.
    pub fn remove(&mut self) -> Option<V> {
        self.remove_if(|_| true)
    }

    /// Removes and returns the value if `condition` returns true for it. `condition` may change the
    /// value.
    pub fn remove_if(&mut self, condition: impl FnOnce(&mut V) -> bool) -> Option<V> {
        let is_it = |(key, _): &(K, V)| key.borrow() == self.key;
        let mut occupied = self.shard.find_entry(self.hash, is_it).ok()?;
        if !condition(&mut occupied.get_mut().1) {
            return None;
        }
        let ((_, value), _) = occupied.remove();
        Some(value)
    }

    /// Returns the number of entries in the shard of this entry.
    pub fn shard_len(&self) -> usize {
        self.shard.len()
    }

    /// Removes the entry with the smallest rank from the shard of this entry, and returns its
    /// value. Reads the whole shard.
    pub fn evict_min_by_key<O: Ord>(&mut self, rank: impl Fn(&V) -> O) -> Option<V>
    where
        K: Clone,
    {
        let least = self.shard.iter().min_by_key(|(_, value)| rank(value))?.0.clone();
        let occupied =
            self.shard.find_entry(self.hasher.hash_one(&least), |(key, _)| *key == least);
        let ((_, value), _) = occupied.ok()?.remove();
        Some(value)
    }

    fn table_entry(&mut self) -> Entry<'_, (K, V)> {
        let is_it = |(key, _): &(K, V)| key.borrow() == self.key;
        self.shard.entry(self.hash, is_it, |(key, _)| self.hasher.hash_one(key))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn entry_guard_inserts_replaces_and_removes() {
        let map: ShardedMap<Arc<str>, u32, 4> = ShardedMap::default();
        assert_eq!(map.entry("a").get(), None);
        assert_eq!(map.entry("a").insert("a".into(), 1), None);
        assert_eq!(map.entry("a").insert("a".into(), 2), Some(1));
        *map.entry("a").get_or_insert_with(|| unreachable!()) += 1;
        *map.entry("b").get_or_insert_with(|| ("b".into(), 7)) += 1;
        // One at a time: both keys may be in the same shard.
        assert_eq!(map.entry("a").get(), Some(&3));
        assert_eq!(map.entry("b").get_mut(), Some(&mut 8));
        assert_eq!(map.len(), 2);
        assert_eq!(map.entry("a").remove_if(|it| *it > 3), None);
        assert_eq!(map.entry("a").remove_if(|it| *it == 3), Some(3));
        assert_eq!(map.entry("a").remove(), None);
        assert_eq!(map.entry("b").remove(), Some(8));
        assert!(map.is_empty());
    }

    #[test]
    fn entries_are_spread_over_all_shards() {
        let map: ShardedMap<u64, u64, 16> = ShardedMap::default();
        for key in 0..10_000 {
            map.entry(&key).insert(key, key);
        }
        assert!(map.0.lock_each().all(|it| (300..1_000).contains(&it.len())));
        assert_eq!(map.retain(|key, _| key % 10 == 0), 9_000);
        map.shrink_to_fit();
        assert!((0..10_000).all(|key| map.entry(&key).get().is_some() == (key % 10 == 0)));
        assert!(map.0.lock_each().all(|it| it.capacity() < 300), "memory is released");
    }

    #[test]
    fn eviction_removes_the_smallest_value_of_the_shard() {
        let map: ShardedMap<u64, u64, 1> = ShardedMap::default();
        assert_eq!(map.entry(&0).evict_min_by_key(|it| *it), None);
        for key in 0..100 {
            map.entry(&key).insert(key, 1_000 - key);
        }
        let mut entry = map.entry(&0);
        assert_eq!(entry.shard_len(), 100);
        assert_eq!(entry.evict_min_by_key(|it| *it), Some(901));
        assert_eq!(entry.shard_len(), 99);
        drop(entry);
        assert_eq!(map.entry(&99).get(), None);
    }

    #[test]
    fn concurrent_updates_of_one_key_are_not_lost() {
        let map: ShardedMap<&str, u64, 8> = ShardedMap::default();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        *map.entry("key").get_or_insert_with(|| ("key", 0)) += 1;
                    }
                });
            }
        });
        assert_eq!(map.entry("key").get(), Some(&4_000));
    }
}
