//! The cohorts of one client, by lock.

use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::hash::{BuildHasher, RandomState};
use std::slice;
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
type Shard<V> = HashMap<u64, Values<V>>;

/// The values of paths with one hash, which are few, and mostly one.
enum Values<V> {
    One(Weak<V>),
    Several(Box<[Weak<V>]>),
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
        present = shard.get(&hash).map(Values::present).unwrap_or_default();
        let is_it = |entry: &Entry<K, V>| entry.path.is_same(path) && entry.key == key;
        if let Some(value) = present.iter().find(|value| is_it(value.entry())) {
            return value.clone();
        }
        let entry = Entry { path: path.clone(), key, shards: Arc::downgrade(&self.shards) };
        let value = Arc::new(make(entry));
        let weak = Arc::downgrade(&value);
        match shard.entry(hash) {
            Occupied(mut values) => values.get_mut().push(weak),
            Vacant(vacant) => drop(vacant.insert(Values::One(weak))),
        }
        value
    }

    /// Returns all values of this path.
    pub(super) fn at<K>(&self, path: &NodePath) -> Vec<Arc<V>>
    where
        V: Entered<K>,
    {
        let (hash, shard) = self.shards.of(path);
        let mut values = shard.get(&hash).map(Values::present).unwrap_or_default();
        // Dropped without the lock of the shard, which the ends of values take.
        drop(shard);
        values.retain(|value| value.entry().path.is_same(path));
        values.into_vec()
    }
}

impl<V> Values<V> {
    fn all(&self) -> &[Weak<V>] {
        match self {
            Self::One(value) => slice::from_ref(value),
            Self::Several(values) => values,
        }
    }

    /// Returns the values that are not gone.
    fn present(&self) -> SmallVec<[Arc<V>; 1]> {
        self.all().iter().filter_map(Weak::upgrade).collect()
    }

    fn push(&mut self, value: Weak<V>) {
        *self = Self::Several(self.all().iter().cloned().chain([value]).collect());
    }

    /// Forgets the values that are gone. Returns `false` if none is left.
    fn sweep(&mut self) -> bool {
        let is_there = |value: &Weak<V>| value.strong_count() > 0;
        match self {
            Self::One(value) => is_there(value),
            Self::Several(values) => {
                *values = values.iter().filter(|value| is_there(value)).cloned().collect();
                !values.is_empty()
            }
        }
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
        if shard.get_mut(&hash).is_some_and(|values| !values.sweep()) {
            shard.remove(&hash);
        }
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
        assert!(registry.shards.of(&path).1.is_empty());
    }

    #[test]
    fn a_value_of_another_path_with_the_same_hash_is_another_value() {
        let (registry, [path, other]) =
            (Registry::default(), ["/a", "/b"].map(|path| NodePath::new("", path).unwrap()));
        let (first, stranger) = (registry.get(&path, 1, Value), registry.get(&other, 2, Value));
        {
            let (hash, mut shard) = registry.shards.of(&path);
            shard.get_mut(&hash).expect("it has a value").push(Arc::downgrade(&stranger));
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
