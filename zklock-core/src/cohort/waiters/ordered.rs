//! Calls in the order of their ids.

use std::collections::VecDeque;
use std::mem;

use crate::cohort::call::{Call, CallId};

/// Calls in the order of their ids. A single one, which is what most locks have, takes no memory of its own.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub(super) struct Ordered<C> {
    /// `None` if there are none.
    first: Option<Call<C>>,
    later: VecDeque<Call<C>>,
}

impl<C> Ordered<C> {
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.later.len()
    }

    /// Puts a call at the place of its id.
    pub(super) fn insert(&mut self, call: Call<C>) {
        match &mut self.first {
            None => self.first = Some(call),
            Some(first) if call.id < first.id => self.later.push_front(mem::replace(first, call)),
            Some(_) => {
                let place = self.later.partition_point(|other| other.id < call.id);
                self.later.insert(place, call);
            }
        }
    }

    pub(super) fn first(&self) -> Option<&Call<C>> {
        self.first.as_ref()
    }

    /// Takes the first call.
    pub(super) fn pop(&mut self) -> Option<Call<C>> {
        mem::replace(&mut self.first, self.later.pop_front())
    }

    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut Call<C>> {
        let later = match &self.first {
            Some(first) if first.id < id => {
                let place = self.later.partition_point(|call| call.id < id);
                self.later.get_mut(place)
            }
            Some(_) | None => None,
        };
        later.or(self.first.as_mut()).filter(|call| call.id == id)
    }

    pub(super) fn retain(&mut self, which: impl Fn(&Call<C>) -> bool) {
        self.later.retain(&which);
        if !self.first.as_ref().is_some_and(which) {
            self.first = self.later.pop_front();
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Call<C>> {
        self.first.iter().chain(&self.later)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Call<C>> {
        self.first.iter_mut().chain(&mut self.later)
    }
}

impl<C> IntoIterator for Ordered<C> {
    type Item = Call<C>;
    type IntoIter =
        std::iter::Chain<std::option::IntoIter<Call<C>>, std::collections::vec_deque::IntoIter<Call<C>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.later)
    }
}

impl<C> Default for Ordered<C> {
    fn default() -> Self {
        Self { first: None, later: VecDeque::new() }
    }
}
