//! An exhaustive simulation of calls that take several locks one after the other: every order of their steps is tried.
//!
//! The queues are those of a correct server; `queue::sim` has the faults.

use std::collections::{BTreeSet, VecDeque};

use crate::client::{Client, connected};

/// The next step of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    /// The contender of this member is created.
    Enter(usize),
    /// It waits for its turn.
    Wait(usize),
    /// All members are held.
    Release,
    Done,
}

/// A call, and its locks in the order in which it takes them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    members: Vec<usize>,
    next: Next,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct World {
    /// The calls with a contender in each queue, the first one first.
    queues: [VecDeque<usize>; PATHS.len()],
    calls: Vec<Call>,
}

impl World {
    fn new(calls: &[Vec<&str>]) -> Self {
        let place = |path: &&str| PATHS.iter().position(|known| known == path).unwrap();
        let call = |paths: &Vec<&str>| {
            let members = paths.iter().map(place).collect();
            Call { members, next: Next::Enter(0) }
        };
        Self { queues: Default::default(), calls: calls.iter().map(call).collect() }
    }

    /// Returns the world after the next step of this call, or `None` if it waits or has ended.
    fn after(&self, index: usize) -> Option<Self> {
        let mut world = self.clone();
        let Call { members, next } = &self.calls[index];
        world.calls[index].next = match *next {
            Next::Enter(nth) => {
                world.queues[members[nth]].push_back(index);
                Next::Wait(nth)
            }
            Next::Wait(nth) if self.queues[members[nth]].front() != Some(&index) => return None,
            Next::Wait(nth) if nth + 1 == members.len() => Next::Release,
            Next::Wait(nth) => Next::Enter(nth + 1),
            Next::Release => {
                world.queues.iter_mut().for_each(|queue| queue.retain(|other| *other != index));
                Next::Done
            }
            Next::Done => return None,
        };
        Some(world)
    }
}

/// Explores every order of the steps. Returns the number of states, or one in which calls wait for each other forever.
fn explore(calls: &[Vec<&str>]) -> Result<usize, World> {
    let start = World::new(calls);
    let mut seen = BTreeSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some(world) = open.pop() {
        let nexts: Vec<_> = (0..calls.len()).filter_map(|index| world.after(index)).collect();
        if nexts.is_empty() && world.calls.iter().any(|call| call.next != Next::Done) {
            return Err(world);
        }
        // A step never leads back: each call has a bounded number of them.
        open.extend(nexts.into_iter().filter(|next| seen.insert(next.clone())));
    }
    Ok(seen.len())
}

const PATHS: [&str; 3] = ["/a", "/b", "/c"];

/// Calls with common members, in the order in which they name them.
const GROUPS: [[&[&str]; 3]; 3] = [
    [&["/a", "/b"], &["/b", "/a"], &["/a", "/b"]],
    [&["/a", "/b"], &["/b", "/c"], &["/c", "/a"]],
    [&["/a", "/b", "/c"], &["/c", "/a"], &["/b", "/c"]],
];

/// Returns the same members in the order in which a multi-lock takes them.
fn taken<'a>(client: &Client, named: &[&'a str]) -> Vec<&'a str> {
    let multi = client.multi(named.iter().copied()).unwrap();
    let member = |path| named.iter().copied().find(|name| *name == path).unwrap();
    multi.paths().map(member).collect()
}

#[tokio::test]
async fn multi_locks_with_common_members_do_not_wait_for_each_other() {
    let (_server, client) = connected().await;
    let mut states = 0;
    for group in GROUPS {
        let calls = group.map(|named| taken(&client, named));
        states += explore(&calls).unwrap_or_else(|stuck| panic!("they wait for each other: {stuck:?}"));
    }
    assert!(states > 300, "only {states} states were reached");
}

#[test]
fn calls_that_take_their_locks_in_the_order_given_may_wait_for_each_other() {
    for group in GROUPS {
        assert!(explore(&group.map(<[_]>::to_vec)).is_err(), "{group:?}");
    }
}
