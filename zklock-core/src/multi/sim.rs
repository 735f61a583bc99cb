//! An exhaustive simulation of calls that take several locks: every order of their steps is tried.
//!
//! Some calls try all locks at once first, and others take them one after the other from the beginning, as calls of
//! Curator do. The queues are those of a correct server; `queue::sim` has the faults.

use std::collections::{BTreeSet, VecDeque};

/// The way in which a call takes its locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Manner {
    /// All at once, and one after the other if that fails.
    TogetherFirst,
    OneByOne,
    /// All at once, with a wait at the head of some queues for the head of the others. No call of zklock does this.
    WaitsWithAll,
}

/// The next step of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    /// One transaction creates all contenders.
    EnterAll,
    /// The list of this member's queue comes. Whether it was the turn of each earlier one is known.
    Look(usize, bool),
    /// One transaction deletes all contenders.
    LeaveAll,
    /// The contender of this member is created.
    Enter(usize),
    /// It waits for its turn.
    Wait(usize),
    /// All members are held.
    Release,
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    manner: Manner,
    /// Its locks, in the order in which it takes them.
    members: Vec<usize>,
    next: Next,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct World {
    /// The calls with a contender in each queue, the first one first.
    queues: Vec<VecDeque<usize>>,
    calls: Vec<Call>,
}

impl World {
    fn new(calls: &[(Manner, &[usize])]) -> Self {
        let call = |(manner, members): &(Manner, &[usize])| {
            let next = if *manner == Manner::OneByOne { Next::Enter(0) } else { Next::EnterAll };
            Call { manner: *manner, members: members.to_vec(), next }
        };
        let locks = calls.iter().flat_map(|(_, members)| *members).max().map_or(0, |last| last + 1);
        Self { queues: vec![VecDeque::new(); locks], calls: calls.iter().map(call).collect() }
    }

    fn is_first(&self, call: usize, member: usize) -> bool {
        self.queues[member].front() == Some(&call)
    }

    /// Returns the world after the next step of this call, or `None` if it waits or has ended.
    fn after(&self, index: usize) -> Option<Self> {
        let mut world = self.clone();
        let Call { manner, members, next } = &self.calls[index];
        let last = members.len() - 1;
        world.calls[index].next = match *next {
            Next::EnterAll => {
                members.iter().for_each(|member| world.queues[*member].push_back(index));
                Next::Look(0, true)
            }
            Next::Look(nth, was_first) => match was_first && self.is_first(index, members[nth]) {
                is_first if nth < last => Next::Look(nth + 1, is_first),
                true => Next::Release,
                false if *manner == Manner::WaitsWithAll => Next::Wait(0),
                false => Next::LeaveAll,
            },
            Next::LeaveAll => {
                world.leave(index);
                Next::Enter(0)
            }
            Next::Enter(nth) => {
                world.queues[members[nth]].push_back(index);
                Next::Wait(nth)
            }
            Next::Wait(nth) if !self.is_first(index, members[nth]) => return None,
            Next::Wait(nth) if nth == last => Next::Release,
            Next::Wait(nth) if *manner == Manner::WaitsWithAll => Next::Wait(nth + 1),
            Next::Wait(nth) => Next::Enter(nth + 1),
            Next::Release => {
                world.leave(index);
                Next::Done
            }
            Next::Done => return None,
        };
        Some(world)
    }

    fn leave(&mut self, call: usize) {
        self.queues.iter_mut().for_each(|queue| queue.retain(|other| *other != call));
    }

    fn check_exclusion(&self) {
        let holders = self.calls.iter().filter(|call| call.next == Next::Release);
        let held: Vec<_> = holders.flat_map(|call| &call.members).collect();
        assert_eq!(held.iter().collect::<BTreeSet<_>>().len(), held.len(), "two hold one lock: {self:?}");
    }

    fn is_over(&self) -> bool {
        self.calls.iter().all(|call| call.next == Next::Done)
    }
}

/// Explores every order of the steps. Returns the number of states, or one in which calls wait for each other forever.
fn explore(calls: &[(Manner, &[usize])]) -> Result<usize, World> {
    let start = World::new(calls);
    let mut seen = BTreeSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some(world) = open.pop() {
        world.check_exclusion();
        let nexts: Vec<_> = (0..calls.len()).filter_map(|index| world.after(index)).collect();
        if nexts.is_empty() && !world.is_over() {
            return Err(world);
        }
        // A step never leads back: each call has a bounded number of them.
        open.extend(nexts.into_iter().filter(|next| seen.insert(next.clone())));
    }
    Ok(seen.len())
}

/// The groups of three calls with common members.
const GROUPS: [[&[usize]; 3]; 3] =
    [[&[0, 1], &[0, 1], &[0, 1]], [&[0, 1], &[1, 2], &[0, 2]], [&[0, 1, 2], &[0, 2], &[1, 2]]];

#[test]
fn calls_that_try_all_locks_at_once_first_end_beside_calls_that_take_them_one_by_one() {
    use Manner::{OneByOne, TogetherFirst};
    let manners = [
        [TogetherFirst; 3],
        [TogetherFirst, TogetherFirst, OneByOne],
        [TogetherFirst, OneByOne, OneByOne],
        [OneByOne, TogetherFirst, OneByOne],
        [OneByOne; 3],
    ];
    let mut states = 0;
    for (group, manner) in GROUPS.iter().flat_map(|group| manners.iter().map(move |manner| (group, manner))) {
        let calls: Vec<_> = manner.iter().copied().zip(group.iter().copied()).collect();
        states += explore(&calls).unwrap_or_else(|stuck| panic!("they wait for each other: {stuck:?}"));
    }
    assert!(states > 5_000, "only {states} states were reached");
}

#[test]
fn calls_that_waited_with_a_contender_in_each_queue_would_wait_for_each_other() {
    use Manner::{OneByOne, WaitsWithAll};
    let stuck = explore(&[(OneByOne, &[0, 1]), (WaitsWithAll, &[0, 1])]);
    // The second call is behind the first one at one lock, and in front of it at the other.
    assert_eq!(stuck.map_err(|stuck| stuck.queues), Err(vec![[0, 1].into(), [1, 0].into()]));
}
