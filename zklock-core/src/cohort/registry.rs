//! The cohorts of one client, by lock.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::path::NodePath;

/// The values of one client, by the path and a key. A value is forgotten when its last user drops it.
pub(super) struct Registry<K, V> {
    shards: Arc<Shards<K, V>>,
}

struct Shards<K, V> {
    hasher: RandomState,
    shards: [Mutex<Shard<K, V>>; SHARDS],
}

/// The values of each path, which are few.
type Shard<K, V> = HashMap<NodePath, Vec<(K, Weak<V>)>>;

/// The entry of one value, which ends with the value that owns it.
pub(super) struct Entry<K, V> {
    path: NodePath,
    key: K,
    shards: Weak<Shards<K, V>>,
}

impl<K: Clone + Eq, V> Registry<K, V> {
    /// Returns the value of this path and key. If there is none, `make` makes it, and has to keep its entry.
    pub(super) fn get(&self, path: &NodePath, key: K, make: impl FnOnce(Entry<K, V>) -> V) -> Arc<V> {
        let mut shard = self.shards.of(path);
        if let Some(values) = shard.get_mut(path) {
            let mut found = values.iter().filter(|(other, _)| *other == key);
            if let Some(value) = found.find_map(|(_, value)| value.upgrade()) {
                return value;
            }
        }
        let entry = Entry { path: path.clone(), key: key.clone(), shards: Arc::downgrade(&self.shards) };
        let value = Arc::new(make(entry));
        shard.entry(path.clone()).or_default().push((key, Arc::downgrade(&value)));
        value
    }

    /// Returns all values of this path.
    pub(super) fn at(&self, path: &NodePath) -> Vec<Arc<V>> {
        let shard = self.shards.of(path);
        shard.get(path).into_iter().flatten().filter_map(|(_, value)| value.upgrade()).collect()
    }
}

impl<K, V> Shards<K, V> {
    fn of(&self, path: &NodePath) -> MutexGuard<'_, Shard<K, V>> {
        let shard = self.hasher.hash_one(path) as usize % SHARDS;
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, V> Default for Registry<K, V> {
    fn default() -> Self {
        let shards = std::array::from_fn(|_| Mutex::default());
        Self { shards: Arc::new(Shards { hasher: RandomState::new(), shards }) }
    }
}

impl<K, V> Entry<K, V> {
    pub(super) fn key(&self) -> &K {
        &self.key
    }
}

impl<K, V> Drop for Entry<K, V> {
    /// Removes the values of this path that are gone. Another value may have taken the place of this one.
    fn drop(&mut self) {
        let Some(shards) = self.shards.upgrade() else { return };
        let mut shard = shards.of(&self.path);
        if let Some(values) = shard.get_mut(&self.path) {
            values.retain(|(_, value)| value.strong_count() > 0);
            if values.is_empty() {
                shard.remove(&self.path);
            }
        }
    }
}

const SHARDS: usize = 16;
