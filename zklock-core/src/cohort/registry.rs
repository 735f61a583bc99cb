//! The cohorts of one client, by lock.

use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use smallvec::SmallVec;

use crate::path::NodePath;

/// The values of one client, by the path and a key. A value is forgotten when its last user drops it.
pub(super) struct Registry<V> {
    shards: Arc<Shards<V>>,
}

struct Shards<V> {
    hasher: RandomState,
    shards: [Mutex<Shard<V>>; SHARDS],
}

/// The values by the hash of their path. They have the path themselves.
struct Shard<V> {
    /// The first value of each hash, which is mostly the only one.
    first: HashMap<u64, Weak<V>>,
    more: HashMap<u64, Vec<Weak<V>>>,
}

/// A value that has an entry.
pub(super) trait Entered<K>: Sized {
    fn entry(&self) -> &Entry<K, Self>;
}

/// The entry of one value, which ends with the value that owns it.
pub(super) struct Entry<K, V> {
    path: NodePath,
    key: K,
    shards: Weak<Shards<V>>,
}

impl<V> Registry<V> {
    /// Returns the value of this path and key. If there is none, `make` makes it, and has to keep its entry.
    pub(super) fn get<K: Eq>(&self, path: &NodePath, key: K, make: impl FnOnce(Entry<K, V>) -> V) -> Arc<V>
    where
        V: Entered<K>,
    {
        // Dropped without the lock of the shard, which their ends take.
        let present;
        let (hash, mut shard) = self.shards.of(path);
        present = shard.present(hash);
        let is_it = |entry: &Entry<K, V>| entry.path.is_same(path) && entry.key == key;
        if let Some(value) = present.iter().find(|value| is_it(value.entry())) {
            return value.clone();
        }
        let entry = Entry { path: path.clone(), key, shards: Arc::downgrade(&self.shards) };
        let value = Arc::new(make(entry));
        shard.add(hash, Arc::downgrade(&value));
        value
    }

    /// Returns all values of this path.
    pub(super) fn at<K>(&self, path: &NodePath) -> Vec<Arc<V>>
    where
        V: Entered<K>,
    {
        let (hash, shard) = self.shards.of(path);
        let mut values = shard.present(hash);
        // Dropped without the lock of the shard, which the ends of values take.
        drop(shard);
        values.retain(|value| value.entry().path.is_same(path));
        values.into_vec()
    }
}

impl<V> Shard<V> {
    /// Returns the values of a hash that are not gone.
    fn present(&self, hash: u64) -> SmallVec<[Arc<V>; 1]> {
        let more = self.more.get(&hash).into_iter().flatten();
        self.first.get(&hash).into_iter().chain(more).filter_map(Weak::upgrade).collect()
    }

    fn add(&mut self, hash: u64, value: Weak<V>) {
        match self.first.entry(hash) {
            Occupied(_) => self.more.entry(hash).or_default().push(value),
            Vacant(vacant) => drop(vacant.insert(value)),
        }
    }

    /// Forgets the values of a hash that are gone.
    fn sweep(&mut self, hash: u64) {
        let is_there = |value: &Weak<V>| value.strong_count() > 0;
        if !self.first.get(&hash).is_some_and(is_there) {
            self.first.remove(&hash);
        }
        if let Some(more) = self.more.get_mut(&hash) {
            more.retain(is_there);
            if more.is_empty() {
                self.more.remove(&hash);
            }
        }
    }
}

impl<V> Default for Shard<V> {
    fn default() -> Self {
        Self { first: HashMap::new(), more: HashMap::new() }
    }
}

impl<V> Shards<V> {
    /// Returns the hash of a path, and the shard with its values.
    fn of(&self, path: &NodePath) -> (u64, MutexGuard<'_, Shard<V>>) {
        let hash = self.hasher.hash_one(path);
        let shard = &self.shards[hash as usize % SHARDS];
        (hash, shard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<V> Default for Registry<V> {
    fn default() -> Self {
        let shards = std::array::from_fn(|_| Mutex::default());
        Self { shards: Arc::new(Shards { hasher: RandomState::new(), shards }) }
    }
}

impl<K, V> Entry<K, V> {
    pub(super) fn path(&self) -> &NodePath {
        &self.path
    }

    pub(super) fn key(&self) -> &K {
        &self.key
    }
}

impl<K, V> Drop for Entry<K, V> {
    /// Removes the values with the hash of this path that are gone. Another value may have taken the place of this one.
    fn drop(&mut self) {
        let Some(shards) = self.shards.upgrade() else { return };
        let (hash, mut shard) = shards.of(&self.path);
        shard.sweep(hash);
    }
}

const SHARDS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    struct Value(Entry<u8, Self>);

    impl Entered<u8> for Value {
        fn entry(&self) -> &Entry<u8, Self> {
            &self.0
        }
    }

    #[test]
    fn values_of_one_path_are_kept_apart_by_their_keys_and_forgotten_one_by_one() {
        let (registry, path) = (Registry::default(), NodePath::new("", "/a").unwrap());
        let get = |key| registry.get(&path, key, Value);
        let [first, second, third] = [1, 2, 3].map(get);
        assert!(Arc::ptr_eq(&first, &get(1)) && Arc::ptr_eq(&third, &get(3)));
        drop(second);
        let keys = || registry.at(&path).iter().map(|value| value.0.key).collect::<Vec<_>>();
        assert_eq!(keys(), [1, 3]);
        drop(first);
        assert_eq!(keys(), [3]);
        drop(third);
        let (_, shard) = registry.shards.of(&path);
        assert!(shard.first.is_empty() && shard.more.is_empty());
    }

    #[test]
    fn a_value_of_another_path_with_the_same_hash_is_another_value() {
        let (registry, [path, other]) =
            (Registry::default(), ["/a", "/b"].map(|path| NodePath::new("", path).unwrap()));
        let (first, stranger) = (registry.get(&path, 1, Value), registry.get(&other, 2, Value));
        {
            let (hash, mut shard) = registry.shards.of(&path);
            shard.add(hash, Arc::downgrade(&stranger));
        }
        assert!(registry.at(&path).iter().all(|value| Arc::ptr_eq(value, &first)));
        assert!(!Arc::ptr_eq(&registry.get(&path, 2, Value), &stranger));
    }

    #[test]
    fn a_value_that_is_made_while_another_one_of_its_key_ends_stays() {
        let (registry, path) = (Registry::default(), NodePath::new("", "/a").unwrap());
        let Ok(Value(entry)) = Arc::try_unwrap(registry.get(&path, 1, Value)) else {
            panic!("it has one user")
        };
        // The value is gone, and its entry has not ended yet.
        let next = registry.get(&path, 1, Value);
        drop(entry);
        assert!(Arc::ptr_eq(&next, &registry.get(&path, 1, Value)));
        assert_eq!(registry.at(&path).len(), 1);
    }
}
