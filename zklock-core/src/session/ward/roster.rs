//! The held locks of a session, and the times at which their nodes are to be watched.
//!
//! Pure: no request.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

use tokio::time::Instant;

use crate::session::charge::Charge;
use crate::session::sentry::MOMENT;

/// The identity of a held lock within its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key(pub(super) u64);

/// The held locks of a session.
#[derive(Default)]
pub(in crate::session) struct Roster {
    locks: HashMap<Key, Weak<dyn Charge>>,
    /// The newcomers, and the times at which their nodes are to be watched.
    young: VecDeque<(Instant, Key)>,
    /// The locks whose nodes are to be watched now.
    hasty: Vec<Key>,
    /// Whether the lease clock has nothing to do.
    is_at_rest: bool,
    is_closed: bool,
}

/// Whether the task has to look at the roster again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum News {
    None,
    Some,
}

impl From<bool> for News {
    fn from(is_news: bool) -> Self {
        if is_news { Self::Some } else { Self::None }
    }
}

impl Roster {
    /// Adds a lock.
    pub(in crate::session) fn enroll(&mut self, key: Key, charge: Weak<dyn Charge>, now: Instant) -> News {
        let is_first = self.young.is_empty();
        self.locks.insert(key, charge);
        self.young.push_back((now + MOMENT, key));
        let was_at_rest = std::mem::take(&mut self.is_at_rest);
        (is_first || was_at_rest).into()
    }

    pub(in crate::session) fn dismiss(&mut self, key: Key) {
        self.locks.remove(&key);
    }

    /// Makes the node of a newcomer be watched now.
    pub(in crate::session) fn hasten(&mut self, key: Key) -> News {
        let is_young = self.young.iter().any(|(_, young)| *young == key);
        if is_young {
            self.young.retain(|(_, young)| *young != key);
            self.hasty.push(key);
        }
        is_young.into()
    }

    /// Makes the nodes of all newcomers be watched now, because the connection has changed since they were seen.
    pub(in crate::session) fn hasten_all(&mut self) -> News {
        self.hasty.extend(self.young.drain(..).map(|(_, key)| key));
        News::Some
    }

    /// Makes the node of a lock be watched now that has replaced another one.
    pub(in crate::session) fn renew(&mut self, key: Key) -> News {
        self.young.retain(|(_, young)| *young != key);
        self.hasty.push(key);
        News::Some
    }

    /// Takes the locks whose nodes are to be watched now.
    pub(in crate::session) fn due(&mut self, now: Instant) -> Vec<(Key, Arc<dyn Charge>)> {
        let mut due = std::mem::take(&mut self.hasty);
        let ripe = self.young.iter().take_while(|(time, _)| *time <= now).count();
        due.extend(self.young.drain(..ripe).map(|(_, key)| key));
        due.into_iter().filter_map(|key| Some((key, self.charge(key)?))).collect()
    }

    /// Returns when the next node is to be watched, if there is one.
    pub(in crate::session) fn next_due(&mut self) -> Option<Instant> {
        let gone = self.young.iter().take_while(|(_, key)| !self.locks.contains_key(key)).count();
        self.young.drain(..gone);
        self.young.front().map(|(time, _)| *time)
    }

    /// Returns whether a node is to be watched now, or earlier than at this time.
    pub(in crate::session) fn is_due_before(&self, next: Option<Instant>) -> bool {
        let is_earlier = |(time, _): &(Instant, Key)| next.is_none_or(|next| *time < next);
        !self.hasty.is_empty() || self.young.front().is_some_and(is_earlier)
    }

    pub(in crate::session) fn charge(&self, key: Key) -> Option<Arc<dyn Charge>> {
        self.locks.get(&key)?.upgrade()
    }

    pub(in crate::session) fn charges(&self) -> Vec<Arc<dyn Charge>> {
        self.locks.values().filter_map(Weak::upgrade).collect()
    }

    /// Returns whether there are locks. Without any, the lease clock is told of the next one.
    pub(in crate::session) fn has_any(&mut self) -> bool {
        self.is_at_rest = self.locks.is_empty();
        !self.is_at_rest
    }

    /// Takes all locks out. No other one is watched over any more.
    pub(in crate::session) fn close(&mut self) -> Vec<Arc<dyn Charge>> {
        self.is_closed = true;
        let charges = self.charges();
        *self = Self { is_closed: true, ..Self::default() };
        charges
    }

    pub(in crate::session) fn is_closed(&self) -> bool {
        self.is_closed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::error::LossReason;
    use crate::queue::contender::Name;
    use crate::session::Link;
    use crate::session::charge::Vigil;

    use super::*;

    struct Lock;

    impl Charge for Lock {
        fn node(&self) -> Option<Name> {
            None
        }

        fn path(&self, node: &Name) -> String {
            node.to_string()
        }

        fn connection(&self) -> u64 {
            1
        }

        fn watch(self: Arc<Self>) -> Option<Vigil> {
            None
        }

        fn note_health(&self, _: Link) {}

        fn lose(&self, _: LossReason) {}
    }

    fn keys(due: Vec<(Key, Arc<dyn Charge>)>) -> Vec<u64> {
        due.into_iter().map(|(key, _)| key.0).collect()
    }

    /// Returns a roster with these locks, the locks, and the time at which their nodes are to be watched.
    fn roster(locks: u64) -> (Roster, Arc<dyn Charge>, Instant) {
        let (mut roster, lock, now) = (Roster::default(), Arc::new(Lock) as Arc<dyn Charge>, Instant::now());
        for key in 0..locks {
            roster.enroll(Key(key), Arc::downgrade(&lock), now);
        }
        (roster, lock, now + MOMENT)
    }

    #[test]
    fn nodes_are_watched_after_a_moment_unless_they_are_released_or_hastened() {
        let (mut roster, _lock, ripe) = roster(3);
        assert_eq!(keys(roster.due(ripe - Duration::from_millis(1))), [0_u64; 0]);
        assert_eq!(roster.hasten(Key(2)), News::Some);
        assert_eq!(keys(roster.due(ripe - Duration::from_millis(1))), [2]);
        roster.dismiss(Key(0));
        assert_eq!(roster.next_due(), Some(ripe));
        assert_eq!(keys(roster.due(ripe)), [1]);
        assert_eq!((roster.next_due(), roster.hasten(Key(1))), (None, News::None));
    }

    #[test]
    fn all_newcomers_are_watched_at_once_after_a_change_of_the_connection() {
        let (mut roster, _lock, ripe) = roster(2);
        roster.hasten_all();
        assert_eq!(keys(roster.due(ripe - Duration::from_millis(1))), [0, 1]);
    }

    #[test]
    fn the_task_learns_of_the_first_lock_after_it_has_looked_for_one_in_vain() {
        let (mut roster, lock, now) = roster(0);
        assert!(!roster.has_any());
        assert_eq!(roster.enroll(Key(1), Arc::downgrade(&lock), now), News::Some);
        assert_eq!(roster.enroll(Key(2), Arc::downgrade(&lock), now), News::None);
        assert!(roster.has_any());
    }

    #[test]
    fn a_closed_roster_is_empty() {
        let (mut roster, _lock, ripe) = roster(2);
        assert_eq!(roster.close().len(), 2);
        assert!(roster.is_closed() && roster.charges().is_empty() && keys(roster.due(ripe)).is_empty());
    }
}
