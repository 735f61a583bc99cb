//! Scenes of one line, step by step. The simulation tries the other interleavings.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::client::settings::Queueing;
use crate::lease::{Look, Readiness};
use crate::token::MAX_GRANTS;

use super::held::{Handle, Kind, Mode, NodeId};
use super::state::{Call, CallId, Entry, Granted, Need, State, Wake};
use crate::deadline::{Contention, Deadline};

use Mode::{Exclusive, Shared};

const WITHIN: Duration = Duration::from_millis(50);

/// A line whose calls are named by their ids.
struct Scene {
    state: State<(), Claim>,
    claim: Claim,
    now: Instant,
    node: NodeId,
}

impl Scene {
    fn new() -> Self {
        Self::within(WITHIN)
    }

    fn within(within: Duration) -> Self {
        let (state, claim) = (State::new(Queueing::new(64, within), Kind::Lock), Claim::new());
        Self { state, claim, now: Instant::now(), node: NodeId(0) }
    }

    /// A line with a node in this mode, which the first call of it holds.
    fn held(mode: Mode) -> Self {
        let mut scene = Self::new();
        scene.wait(mode);
        scene.enter(mode);
        assert_eq!(scene.head(), [(1, 0)]);
        scene
    }

    fn call(&mut self, mode: Mode, contention: Contention) -> Call<()> {
        let deadline = Deadline { wait: Duration::MAX, started: self.now, contention };
        Call { id: self.state.id(), mode, deadline, caller: () }
    }

    fn wait(&mut self, mode: Mode) -> Vec<(u64, u32)> {
        let call = self.call(mode, Contention::Wait);
        grants(&self.state.arrive(call, self.now).unwrap())
    }

    fn attempt(&mut self, mode: Mode) -> Option<Vec<(u64, u32)>> {
        let call = self.call(mode, Contention::Leave);
        self.state.arrive(call, self.now).ok().map(|served| grants(&served))
    }

    /// A call that waits until a later instant.
    fn wait_for(&mut self, wait: Duration) {
        let mut call = self.call(Exclusive, Contention::Wait);
        call.deadline.wait = wait;
        assert_eq!(grants(&self.state.arrive(call, self.now).unwrap()), []);
    }

    /// The task contends.
    #[track_caller]
    fn enter(&mut self, mode: Mode) {
        assert_eq!(self.state.next(), Need::Contend(Entry { mode, contention: Contention::Wait }));
    }

    #[track_caller]
    fn rest(&mut self) {
        assert!(matches!(self.state.next(), Need::Wait(_) | Need::Nothing));
    }

    fn head(&mut self) -> Vec<(u64, u32)> {
        self.node = NodeId(self.state.last_node + 1);
        self.claim = Claim::new();
        grants(&self.state.headed(self.claim.clone(), self.now))
    }

    fn give_back(&mut self) -> (Vec<(u64, u32)>, usize) {
        let served = self.state.given_back(self.node, self.now);
        (grants(&served), self.left())
    }

    /// The number of nodes that the line has given up.
    fn left(&mut self) -> usize {
        std::mem::take(&mut self.state.left).len()
    }

    fn gone(&mut self, id: u64) -> Vec<(u64, u32)> {
        grants(&self.state.gone(CallId(id), self.now))
    }
}

/// The calls that are granted, and their numbers under the node.
fn grants(served: &[Granted<(), Claim>]) -> Vec<(u64, u32)> {
    served.iter().map(|granted| (granted.call.id.0, granted.handoff)).collect()
}

/// A lease whose state a test sets.
#[derive(Clone, Debug, PartialEq)]
struct Claim(Rc<Cell<Look>>);

impl Handle for Claim {
    fn look(&self) -> Look {
        self.0.get()
    }
}

impl Claim {
    fn new() -> Self {
        Self(Rc::new(Cell::new(Look { readiness: Readiness::Ready, contended_since: None })))
    }

    fn becomes(&self, readiness: Readiness) {
        self.0.set(Look { readiness, ..self.0.get() });
    }

    fn is_contended_since(&self, contended_since: Instant) {
        self.0.set(Look { contended_since: Some(contended_since), ..self.0.get() });
    }
}

#[test]
fn a_node_that_nobody_holds_is_retaken_until_the_task_makes_it_leave() {
    let mut scene = Scene::held(Exclusive);
    scene.rest();
    assert_eq!(scene.give_back(), (vec![], 0));
    assert_eq!(scene.state.wake(scene.now), Wake::NewTask);
    assert_eq!(scene.state.next(), Need::Leave(scene.node, 1));
    assert_eq!(scene.wait(Exclusive), [(2, 1)]);
    scene.state.leave();
    assert_eq!(scene.left(), 0);
    scene.give_back();
    // A call has had it since.
    assert_eq!(scene.state.next(), Need::Leave(scene.node, 2));
    scene.state.leave();
    assert_eq!(scene.left(), 1);
    assert_eq!(scene.wait(Exclusive), []);
    scene.enter(Exclusive);
}

#[test]
fn a_contender_of_the_other_side_than_the_first_call_is_withdrawn() {
    let mut scene = Scene::new();
    scene.wait(Exclusive);
    scene.wait(Shared);
    scene.enter(Exclusive);
    scene.rest();
    scene.gone(1);
    assert_eq!(scene.state.wake(scene.now), Wake::Task);
    assert!(matches!(scene.state.next(), Need::Withdraw));
    scene.state.contender = None;
    scene.enter(Shared);
}

#[test]
fn a_line_whose_task_ended_early_leaves_the_lock_to_its_holder_and_has_another_task_for_later_calls() {
    let mut scene = Scene::held(Exclusive);
    scene.wait(Exclusive);
    assert_eq!((scene.state.abandon().len(), scene.left()), (1, 1));
    assert_eq!(scene.give_back(), (vec![], 0));
    assert_eq!(scene.state.wake(scene.now), Wake::Nobody);
    scene.wait(Exclusive);
    assert_eq!(scene.state.wake(scene.now), Wake::NewTask);
}

#[test]
fn a_grant_has_its_claim_to_the_lease_before_the_line_gives_up_its_own() {
    let mut scene = Scene::new();
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    let claim = Claim::new();
    let served = scene.state.headed(claim.clone(), scene.now);
    assert_eq!(Rc::strong_count(&claim.0), 3, "this one, that of the line and that of the grant");
    scene.state.abandon();
    assert_eq!(scene.left(), 1);
    assert_eq!(Rc::strong_count(&claim.0), 2);
    drop(served);
}

#[test]
fn readers_join_readers_unless_a_writer_is_in_front_and_form_batches_that_count_once() {
    let mut scene = Scene::held(Exclusive);
    scene.claim.is_contended_since(scene.now);
    for mode in [Shared, Shared, Exclusive, Shared] {
        assert_eq!(scene.wait(mode), []);
    }
    assert_eq!(scene.give_back().0, [(2, 1), (3, 2)]);
    assert_eq!(scene.state.held.first().unwrap().grants, 2);
    assert_eq!(scene.wait(Shared), []);
    assert_eq!(scene.give_back().0, []);
    assert_eq!(scene.give_back().0, [(4, 3)]);
    assert_eq!(scene.give_back().0, [(5, 4), (6, 5)]);
    assert_eq!(scene.wait(Shared), [(7, 6)]);
    assert_eq!(scene.state.held.first().unwrap().grants, 5);
}

#[test]
fn a_writer_behind_local_readers_enters_at_once_and_never_gets_their_node() {
    let mut scene = Scene::held(Shared);
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    assert_eq!(scene.wait(Shared), []);
    assert_eq!(scene.give_back(), (vec![], 1));
    assert_eq!(scene.head(), [(2, 0)]);
}

#[test]
fn a_bound_of_time_beyond_the_range_of_the_clock_is_none() {
    let mut scene = Scene::within(Duration::MAX);
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    scene.head();
    scene.claim.is_contended_since(scene.now);
    scene.wait(Shared);
    scene.give_back();
    assert!(matches!(scene.state.next(), Need::Wait(None)));
}

#[test]
fn a_writer_is_behind_readers_of_its_client_alone_until_its_node_is_behind_others() {
    let mut scene = Scene::held(Shared);
    scene.wait(Exclusive);
    assert!(scene.state.is_behind_own());
    scene.enter(Exclusive);
    assert!(scene.state.is_behind_own(), "the place of its node is not known");
    scene.state.placed(Some(2));
    assert!(scene.state.is_queued() && !scene.state.is_behind_own());
    scene.give_back();
    assert!(!scene.state.is_behind_own(), "nobody holds the lock here");
}

#[test]
fn while_others_wait_a_turn_ends_after_the_bound_of_time_and_alone_never() {
    let mut scene = Scene::held(Exclusive);
    scene.now += 100 * WITHIN;
    scene.give_back();
    assert_eq!(scene.wait(Exclusive).len(), 1);
    scene.claim.is_contended_since(scene.now);
    scene.now += WITHIN - Duration::from_nanos(1);
    scene.give_back();
    assert_eq!(scene.wait(Exclusive).len(), 1);
    scene.now += Duration::from_nanos(1);
    scene.wait(Exclusive);
    assert_eq!(scene.give_back(), (vec![], 1));
}

#[test]
fn the_time_of_a_turn_begins_with_its_first_grant() {
    let mut scene = Scene::new();
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    let claim = Claim::new();
    claim.is_contended_since(scene.now);
    claim.becomes(Readiness::Pending);
    assert_eq!(grants(&scene.state.headed(claim.clone(), scene.now)), []);
    scene.node = NodeId(1);
    scene.now += 2 * WITHIN;
    claim.becomes(Readiness::Ready);
    assert_eq!(grants(&scene.state.serve(scene.now)), [(1, 0)]);
    scene.wait(Exclusive);
    assert_eq!(scene.give_back(), (vec![(2, 1)], 0));
    scene.now += WITHIN;
    scene.wait(Exclusive);
    assert_eq!(scene.give_back(), (vec![], 1));
}

#[test]
fn a_node_whose_numbers_are_used_up_leaves() {
    let mut scene = Scene::held(Shared);
    scene.state.held.first_mut().unwrap().handoffs = MAX_GRANTS - 1;
    assert_eq!(scene.wait(Shared), [(2, MAX_GRANTS - 1)]);
    assert_eq!(scene.wait(Shared), []);
    scene.enter(Shared);
    // Nor does a batch go on.
    let mut scene = Scene::held(Exclusive);
    scene.state.held.first_mut().unwrap().handoffs = MAX_GRANTS - 1;
    scene.wait(Shared);
    scene.wait(Shared);
    assert_eq!(scene.give_back(), (vec![(2, MAX_GRANTS - 1)], 1));
}

#[test]
fn a_set_is_passed_on_when_all_of_it_is_back() {
    let kind = Kind::Permits { each: 2, most: Some(1) };
    let mut scene = Scene { state: State::new(Queueing::new(64, WITHIN), kind), ..Scene::new() };
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    assert_eq!(scene.head(), [(1, 0)]);
    assert_eq!(scene.wait(Exclusive), []);
    assert_eq!(scene.give_back(), (vec![], 0));
    assert_eq!(scene.give_back(), (vec![(2, 1)], 0));
    assert_eq!(scene.give_back(), (vec![], 0));
    assert_eq!(scene.give_back(), (vec![], 1));
}

#[test]
fn sets_of_permits_are_passed_on_one_by_one_as_each_is_ready() {
    let kind = Kind::Permits { each: 1, most: Some(2) };
    let mut scene = Scene { state: State::new(Queueing::new(64, WITHIN), kind), ..Scene::new() };
    (0..4).for_each(|_| assert_eq!(scene.wait(Exclusive), []));
    let mut claims = Vec::new();
    for id in [1, 2] {
        scene.enter(Exclusive);
        assert_eq!(scene.head(), [(id, 0)]);
        scene.claim.becomes(Readiness::Pending);
        claims.push((scene.node, scene.claim.clone()));
    }
    for (node, _) in &claims {
        assert_eq!(grants(&scene.state.given_back(*node, scene.now)), []);
    }
    claims[0].1.becomes(Readiness::Ready);
    assert_eq!(grants(&scene.state.serve(scene.now)), [(3, 1)]);
}

#[test]
fn a_vain_try_is_answered_when_its_contender_has_left_or_at_once_if_others_wait_on() {
    let mut scene = Scene::new();
    assert_eq!(scene.attempt(Shared), Some(vec![]));
    const TRY: Entry = Entry { mode: Shared, contention: Contention::Leave };
    assert_eq!(scene.state.next(), Need::Contend(TRY));
    // It has come after the contender has looked.
    assert_eq!(scene.attempt(Shared), Some(vec![]));
    let ids = |calls: Vec<Call<()>>| calls.iter().map(|call| call.id.0).collect::<Vec<_>>();
    assert_eq!(ids(scene.state.contended()), [1]);
    assert_eq!(scene.state.next(), Need::Contend(TRY));
    scene.wait(Shared);
    scene.rest();
    assert_eq!(ids(scene.state.contended()), [2]);
    scene.enter(Shared);
    scene.attempt(Shared).unwrap();
    assert_eq!(ids(scene.state.placed(Some(1))), [4]);
    assert_eq!(scene.head(), [(3, 0)]);
}

#[test]
fn a_holder_of_a_lost_node_does_not_refuse_a_try() {
    for (held, tried) in [(Exclusive, Exclusive), (Exclusive, Shared), (Shared, Exclusive)] {
        let mut scene = Scene::held(held);
        assert_eq!(scene.attempt(tried), None);
        scene.claim.becomes(Readiness::Lost);
        assert_eq!(scene.attempt(tried), Some(vec![]));
        let contention = Contention::Leave;
        assert_eq!(scene.state.next(), Need::Contend(Entry { mode: tried, contention }));
    }
}

#[test]
fn a_call_that_waits_uses_the_contender_of_a_try_and_not_the_other_way_round() {
    let mut scene = Scene::new();
    scene.attempt(Exclusive).unwrap();
    scene.state.next();
    scene.wait(Exclusive);
    scene.gone(1);
    scene.rest();
    assert_eq!(scene.head(), [(2, 0)]);
    let mut scene = Scene::new();
    scene.wait(Exclusive);
    scene.enter(Exclusive);
    scene.gone(1);
    scene.attempt(Exclusive).unwrap();
    assert_eq!(scene.state.next(), Need::Withdraw);
    scene.state.contender = None;
    assert!(matches!(scene.state.next(), Need::Contend(Entry { contention: Contention::Leave, .. })));
}

#[test]
fn deadlines_are_kept_in_order_and_wake_the_task_only_if_they_are_earlier() {
    let mut scene = Scene::held(Exclusive);
    scene.wait_for(3 * WITHIN);
    assert_eq!(scene.state.wake(scene.now), Wake::NewTask);
    scene.rest();
    scene.wait_for(3 * WITHIN);
    assert_eq!(scene.state.wake(scene.now), Wake::Nobody);
    scene.wait_for(WITHIN);
    assert_eq!(scene.state.wake(scene.now), Wake::Task);
    assert!(scene.state.expire(scene.now).is_empty());
    let expired = scene.state.expire(scene.now + WITHIN);
    assert_eq!(expired.iter().map(|call| call.id.0).collect::<Vec<_>>(), [4]);
    assert_eq!(scene.state.expire(scene.now + 3 * WITHIN).len(), 2);
    assert_eq!(scene.state.waiting.len(), 0);
}
