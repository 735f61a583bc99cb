//! The memory of the numbers that the last contenders of this client had, by which the next ones may know without
//! a list that they are first.
//!
//! A server counts the children that were created below a node, and gives the count to a sequential child. Let
//! a contender have been first in its queue, and let it be deleted. If the next contender of this client gets
//! the next number, no child was created in between, and all with smaller numbers are gone: it is first, too.
//!
//! A node that is deleted and created again counts anew. A number is therefore kept only together with a watch
//! on the data of the queue's node. A server sends the event of a deletion before the answer to any later
//! request of the connection. The watch has to be looked at when the answer to a create is there, not before.
//! A number is worthless once that watch has fired or the connection has changed.
//!
//! The watch is set by reading the data, because a server does not send events to clients that may not read
//! the node, and a read tells whether this one may.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::path::NodePath;
use crate::queue::contender::Sequence;

use super::notice::{Watch, size_on_the_wire};

/// The queues that this session entered lately.
#[derive(Default)]
pub(super) struct Succession(Arc<Mutex<Memory>>);

#[derive(Default)]
struct Memory {
    entries: HashMap<Arc<Key>, Entry>,
    /// The queues that are not lent, the least recently used one first.
    order: BTreeMap<u64, Arc<Key>>,
    /// The number of uses so far.
    uses: u64,
    /// The size of the paths that are watched.
    bytes: usize,
    sweeper: Sweeper,
}

/// Whether a task forgets the queues that are no longer used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sweeper {
    #[default]
    Asleep,
    Awake,
}

/// A queue, and the contenders of other clients that are honoured in it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) path: NodePath,
    pub(super) also_behind: Arc<[String]>,
}

struct Entry {
    used: Instant,
    /// The key in the order of use.
    turn: u64,
    state: State,
}

enum State {
    /// A contender has been here, and nothing is watched.
    Entered,
    /// An acquisition has the watch, and is the only one that can bring a number back. While its contender rests, the watch
    /// is here.
    Lent(Option<Parent>),
    Watched(Parent, Option<Sequence>),
}

/// The watch on the node of a queue, and the connection's epoch in which it was set.
struct Parent {
    watch: Watch,
    epoch: u64,
}

/// The knowledge of one acquisition about its queue from the last one. Dropping it gives it back, without a new number.
pub(super) struct Loan {
    memory: Arc<Mutex<Memory>>,
    /// `None` once it is laid down.
    key: Option<Arc<Key>>,
    parent: Option<Parent>,
    last: Option<Sequence>,
}

impl Succession {
    /// Borrows what is known of a queue. Returns `None` if nothing is to be watched: it is the first acquisition
    /// within a minute, another one is under way, or there is no room.
    pub(super) fn lend(&self, key: Key, now: Instant) -> Option<Loan> {
        let mut memory = lock(&self.0);
        memory.forget_older_than(now);
        let known = memory.entries.get_key_value(&key).map(|(known, _)| known.clone());
        let key = known.unwrap_or_else(|| Arc::new(key));
        let lent = memory.lend(&key, now)?;
        drop(memory);
        let (parent, last) = match lent {
            Some((parent, last)) => (Some(parent), last),
            None => (None, None),
        };
        Some(Loan { memory: self.0.clone(), key: Some(key), parent, last })
    }

    /// Takes up a loan that was laid down.
    pub(super) fn take_up(&self, key: &Key) -> Option<Loan> {
        let mut memory = lock(&self.0);
        let key = memory.entries.get_key_value(key)?.0.clone();
        let State::Lent(parent) = &mut memory.entries.get_mut(&key)?.state else { return None };
        let parent = parent.take();
        drop(memory);
        Some(Loan { memory: self.0.clone(), key: Some(key), parent, last: None })
    }

    /// Marks that a task sweeps, and returns whether one did before.
    pub(super) fn wake(&self) -> Sweeper {
        std::mem::replace(&mut lock(&self.0).sweeper, Sweeper::Awake)
    }

    /// Forgets what was not used for a minute. Returns whether the sweeper is still needed.
    pub(super) fn sweep(&self, now: Instant) -> Sweeper {
        let mut memory = lock(&self.0);
        memory.forget_older_than(now);
        if memory.entries.is_empty() {
            memory.sweeper = Sweeper::Asleep;
        }
        memory.sweeper
    }
}

impl Memory {
    /// Lends the queue, if it is known and there is room to watch it. Otherwise notes that it was entered.
    #[expect(clippy::option_option, reason = "a loan may come without a watch")]
    fn lend(&mut self, key: &Arc<Key>, now: Instant) -> Option<Option<(Parent, Option<Sequence>)>> {
        let Some(entry) = self.entries.get_mut(key) else {
            self.insert(key, now);
            return None;
        };
        if let State::Lent(_) = entry.state {
            return None;
        }
        self.order.remove(&entry.turn);
        match std::mem::replace(&mut entry.state, State::Lent(None)) {
            State::Watched(parent, last) => Some(Some((parent, last))),
            State::Entered | State::Lent(_) => {
                self.bytes += key.size();
                while self.bytes > MOST_BYTES && self.forget_oldest() {}
                if self.bytes <= MOST_BYTES {
                    return Some(None);
                }
                self.put(key, now, State::Entered);
                None
            }
        }
    }

    fn insert(&mut self, key: &Arc<Key>, now: Instant) {
        while self.entries.len() >= MOST_QUEUES && self.forget_oldest() {}
        if self.entries.len() < MOST_QUEUES {
            self.entries.insert(key.clone(), Entry { used: now, turn: 0, state: State::Entered });
            self.use_again(key, now);
        }
    }

    /// Ends the loan of a queue.
    fn put(&mut self, key: &Arc<Key>, now: Instant, state: State) {
        if let State::Entered = state {
            self.bytes -= key.size();
        }
        if let Some(entry) = self.entries.get_mut(key) {
            entry.state = state;
            self.use_again(key, now);
        }
    }

    fn use_again(&mut self, key: &Arc<Key>, now: Instant) {
        self.uses += 1;
        if let Some(entry) = self.entries.get_mut(key) {
            (entry.used, entry.turn) = (now, self.uses);
            self.order.insert(self.uses, key.clone());
        }
    }

    fn forget_older_than(&mut self, now: Instant) {
        let is_old = |entry: &Entry| now.saturating_duration_since(entry.used) >= RETENTION;
        while self.order.first_key_value().is_some_and(|(_, key)| self.entries.get(key).is_some_and(is_old)) {
            self.forget_oldest();
        }
    }

    /// Forgets the least recently used queue that is not lent. Returns `false` if all are.
    fn forget_oldest(&mut self) -> bool {
        let Some((_, key)) = self.order.pop_first() else {
            return false;
        };
        if let Some(Entry { state: State::Watched(..), .. }) = self.entries.remove(&key) {
            self.bytes -= key.size();
        }
        true
    }
}

impl Key {
    fn size(&self) -> usize {
        size_on_the_wire(self.path.full())
    }
}

impl Loan {
    /// Returns the number that the last contender had, which is of use for one contender only.
    pub(super) fn take_last(&mut self, epoch: u64) -> Option<Sequence> {
        let is_current = self.is_current(epoch);
        self.last.take().filter(|_| is_current)
    }

    /// Tells whether the queue's node is certainly the one that was watched, on the connection of this epoch.
    pub(super) fn is_current(&mut self, epoch: u64) -> bool {
        let is_current =
            self.parent.as_mut().is_some_and(|parent| parent.epoch == epoch && !parent.watch.has_fired());
        if !is_current {
            self.parent = None;
        }
        is_current
    }

    /// Tells whether it has a number, which makes a list superfluous unless the queue's node or the connection changes.
    pub(super) fn has_last(&self) -> bool {
        self.last.is_some() && self.parent.is_some()
    }

    pub(super) fn is_watched(&self) -> bool {
        self.parent.is_some()
    }

    /// Keeps a watch on the queue's node that was set in this epoch while the own node existed.
    pub(super) fn watch(&mut self, watch: Watch, epoch: u64) {
        self.parent = Some(Parent { watch, epoch });
    }

    /// Keeps it in the memory until it is taken up. The number of the last contender is forgotten.
    pub(super) fn lay_down(mut self) {
        let Some(key) = self.key.take() else { return };
        if let Some(entry) = lock(&self.memory).entries.get_mut(&key) {
            entry.state = State::Lent(self.parent.take());
        }
    }

    /// Gives the loan back, with the number of a contender that was first and is deleted.
    pub(super) fn leave(mut self, number: Option<Sequence>) {
        self.last = number;
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let Some(key) = &self.key else { return };
        let state = match self.parent.take() {
            Some(parent) => State::Watched(parent, self.last),
            None => State::Entered,
        };
        lock(&self.memory).put(key, Instant::now(), state);
    }
}

fn lock(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time for which a queue is remembered after its last use.
const RETENTION: Duration = Duration::from_secs(60);
/// The number of queues that are remembered.
const MOST_QUEUES: usize = 1_000;
/// The size of the paths that are watched for their numbers, out of what `notice` leaves for the own nodes.
const MOST_BYTES: usize = 32 * 1024;

#[cfg(test)]
mod tests {
    use futures_util::future::FutureExt;

    use super::super::notice::{Budget, Change, Kind, Subject};
    use super::*;

    fn key(n: usize) -> Key {
        Key { path: NodePath::new("", &format!("/{n:0100}")).unwrap(), also_behind: Arc::default() }
    }

    fn watch(budget: &Budget, n: usize) -> Watch {
        let share = budget.share(Subject::Own, Kind::Data, key(n).path.full()).unwrap();
        Watch::event(std::future::pending(), share)
    }

    fn number(n: u32) -> Sequence {
        Sequence::parse(&format!("{n:010}")).unwrap()
    }

    /// Takes a lock twice, so that its queue is watched.
    fn enter_twice(memory: &Succession, budget: &Budget, n: usize, now: Instant) {
        assert!(memory.lend(key(n), now).is_none());
        let mut loan = memory.lend(key(n), now).unwrap();
        loan.watch(watch(budget, n), 0);
        loan.leave(Some(number(7)));
    }

    #[tokio::test]
    async fn a_number_comes_back_once_in_its_epoch_and_to_one_acquisition_at_a_time() {
        let (memory, budget, now) = (Succession::default(), Budget::default(), Instant::now());
        enter_twice(&memory, &budget, 1, now);
        let mut loan = memory.lend(key(1), now).unwrap();
        assert!(memory.lend(key(1), now).is_none(), "it is lent");
        let other = Key { also_behind: ["__lock__".to_owned()].into(), ..key(1) };
        assert!(memory.lend(other, now).is_none(), "another claim has its own number");
        assert_eq!(loan.take_last(0), Some(number(7)));
        assert_eq!(loan.take_last(0), None);
        loan.leave(Some(number(8)));
        let mut loan = memory.lend(key(1), now).unwrap();
        assert_eq!(loan.take_last(1), None, "the connection has changed");
        drop(loan);
        assert!(memory.lend(key(1), now).unwrap().parent.is_none());
    }

    #[tokio::test]
    async fn a_loan_that_is_laid_down_stays_lent_until_it_is_taken_up_and_given_back() {
        let (memory, budget, now) = (Succession::default(), Budget::default(), Instant::now());
        enter_twice(&memory, &budget, 1, now);
        memory.lend(key(1), now).unwrap().lay_down();
        assert!(memory.lend(key(1), now).is_none(), "it is lent");
        lock(&memory.0).forget_older_than(now + 2 * RETENTION);
        assert_eq!(budget.bytes(), key(1).size(), "the watch stays");
        let mut loan = memory.take_up(&key(1)).unwrap();
        assert!(loan.is_current(0));
        loan.leave(Some(number(8)));
        assert!(memory.take_up(&key(1)).is_none(), "it is not lent");
        assert_eq!(memory.lend(key(1), now).unwrap().take_last(0), Some(number(8)));
    }

    #[tokio::test]
    async fn a_watch_that_fired_forgets_the_number() {
        let (memory, budget, now) = (Succession::default(), Budget::default(), Instant::now());
        assert!(memory.lend(key(1), now).is_none());
        let mut loan = memory.lend(key(1), now).unwrap();
        let share = budget.share(Subject::Own, Kind::Data, key(1).path.full()).unwrap();
        let (fire, fired) = tokio::sync::oneshot::channel::<()>();
        loan.watch(Watch::event(fired.map(|_| Change::Other), share), 0);
        assert!(loan.is_current(0));
        drop(fire);
        assert!(!loan.is_current(0) && !loan.is_current(0));
    }

    #[tokio::test]
    async fn what_was_not_used_for_a_minute_is_forgotten_with_its_watch() {
        let (memory, budget, now) = (Succession::default(), Budget::default(), Instant::now());
        enter_twice(&memory, &budget, 1, now);
        let lent = memory.lend(key(1), now).unwrap();
        enter_twice(&memory, &budget, 2, now);
        // The time counts from the end of a loan.
        assert_eq!(memory.wake(), Sweeper::Asleep);
        assert_eq!(memory.sweep(now + 2 * RETENTION), Sweeper::Awake);
        assert_eq!(budget.bytes(), key(1).size());
        drop(lent);
        assert_eq!(memory.sweep(now + 2 * RETENTION), Sweeper::Asleep);
        assert_eq!((budget.bytes(), lock(&memory.0).bytes), (0, 0));
        assert!(memory.lend(key(1), now).is_none());
    }

    #[tokio::test]
    async fn the_least_recently_used_queues_go_where_there_is_no_room() {
        let (memory, budget, now) = (Succession::default(), Budget::default(), Instant::now());
        let most = MOST_BYTES / key(0).size();
        (0..=most).for_each(|n| enter_twice(&memory, &budget, n, now));
        assert!(memory.lend(key(0), now).is_none(), "it made room for the last one");
        let kept: Vec<_> = (1..=most).filter_map(|n| memory.lend(key(n), now)).collect();
        assert_eq!(kept.len(), most);
        assert!(memory.lend(key(0), now).is_none(), "what is lent takes its room");
        drop(kept);
        (0..2 * MOST_QUEUES).for_each(|n| drop(memory.lend(key(10_000 + n), now)));
        assert_eq!(lock(&memory.0).entries.len(), MOST_QUEUES);
        assert_eq!((budget.bytes(), lock(&memory.0).bytes), (0, 0));
    }
}
