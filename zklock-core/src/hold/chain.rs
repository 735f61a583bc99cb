//! A list that shares its outer part with other lists, and forgets what is over.

use std::sync::Arc;

/// A value that may be over, and then has no effect any more.
pub(super) trait Ends: Clone {
    fn is_over(&self) -> bool;
}

/// The values around a call, from the inner to the outer.
///
/// A task that spawns its own successor inside of each value would otherwise add to the list forever. The
/// list therefore drops what is over whenever its length has doubled since it last did so: it has at most
/// twice as many values as were not over at that time, or [`LEAST`].
#[derive(Debug)]
pub(super) struct Chain<T>(Option<Arc<Link<T>>>);

#[derive(Debug)]
struct Link<T> {
    value: T,
    outer: Option<Arc<Self>>,
    /// The number of links from this one outwards.
    length: usize,
    /// The length at which values that are over are dropped.
    limit: usize,
}

impl<T: Ends> Chain<T> {
    /// Returns the list with another value inside of all others.
    pub(super) fn with(&self, value: T) -> Self {
        let (length, limit) = self.0.as_ref().map_or((0, LEAST), |link| (link.length, link.limit));
        if length < limit {
            return self.link(value, limit);
        }
        let left: Vec<_> = self.iter().filter(|value| !value.is_over()).cloned().collect();
        let limit = (left.len() * 2).max(LEAST);
        left.into_iter()
            .rev()
            .fold(Self::default(), |outer, value| outer.link(value, limit))
            .link(value, limit)
    }
}

impl<T> Chain<T> {
    pub(super) const EMPTY: Self = Self(None);

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let links = std::iter::successors(self.0.as_ref(), |link| link.outer.as_ref());
        links.map(|link| &link.value)
    }

    fn link(&self, value: T, limit: usize) -> Self {
        let length = self.0.as_ref().map_or(0, |outer| outer.length) + 1;
        Self(Some(Arc::new(Link { value, outer: self.0.clone(), length, limit })))
    }
}

impl<T> Default for Chain<T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<T> Clone for Chain<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Drop for Link<T> {
    /// Drops the outer links one after the other: nested drops would overflow the stack.
    fn drop(&mut self) {
        let mut outer = self.outer.take();
        while let Some(mut link) = outer.and_then(Arc::into_inner) {
            outer = link.outer.take();
        }
    }
}

/// The smallest limit, below which dropping values is not worthwhile.
const LEAST: usize = 16;

#[cfg(test)]
mod tests {
    use std::sync::Weak;
    use std::thread;

    use super::*;

    impl Ends for Weak<u32> {
        fn is_over(&self) -> bool {
            self.strong_count() == 0
        }
    }

    fn values(chain: &Chain<Weak<u32>>) -> Vec<u32> {
        chain.iter().filter_map(|value| value.upgrade().map(|value| *value)).collect()
    }

    #[test]
    fn two_hundred_thousand_generations_are_a_short_list() {
        let (mut chain, mut parents) = (Chain::default(), Vec::new());
        for nth in 0..200_000 {
            let value = Arc::new(nth);
            chain = chain.with(Arc::downgrade(&value));
            // Some generations overlap with the next one or two.
            parents.push(value);
            if nth % 3 == 0 {
                parents.drain(..parents.len() - 1);
            }
            assert!(chain.iter().count() <= LEAST + 1, "{nth}");
        }
        assert_eq!(values(&chain), parents.iter().rev().map(|value| **value).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_not_over_stays_in_its_order() {
        let held: Vec<_> = (0..1_000).map(Arc::new).collect();
        let mut chain = Chain::default();
        for value in &held {
            chain = chain.with(Arc::downgrade(value));
            chain = chain.with(Weak::new());
        }
        assert_eq!(values(&chain), (0..1_000).rev().collect::<Vec<_>>());
        assert!(chain.iter().count() <= 4 * held.len());
    }

    #[test]
    fn a_list_of_any_length_is_dropped_on_a_small_stack() {
        let held: Vec<_> = (0..200_000).map(Arc::new).collect();
        let chain = held.iter().fold(Chain::default(), |chain, value| chain.with(Arc::downgrade(value)));
        assert_eq!(chain.iter().count(), held.len());
        let small = thread::Builder::new().stack_size(64 << 10);
        small.spawn(move || drop(chain)).unwrap().join().unwrap();
    }
}
