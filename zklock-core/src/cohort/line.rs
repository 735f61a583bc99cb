//! The line of one client's calls for one lock, as a pure state machine.
//!
//! The client has at most one node that its calls share, which is *kept*, and one that contends, which is
//! *coming*. A lock that is given back goes to the first call in line without a request, as long as the kept
//! node admits it:
//!
//! ```text
//!            headed                admitted
//!  coming ───────────► kept, held ◄───────── kept, vacant
//!    ▲                     │  given back          ▲  │ never again, or nobody waits
//!    │                     └──────────────────────┘  ▼
//!    └────────────── a call waits ◄───────────── the node leaves
//! ```
//!
//! A node that leaves is withdrawn beside the line, which goes on as if it had no node. A mutex is a line in
//! which all calls are exclusive.
//!
//! # Invariants
//!
//! 1. The module has no clock, task or I/O. The time comes in with each event, and a [`Handle`] tells the
//!    state of a lease. Every interleaving can therefore be simulated.
//! 2. A call is in line, granted, answered or gone: exactly one of them.
//! 3. Calls are granted in the order of their ids, except that readers join readers.

mod agenda;
mod call;
#[cfg(test)]
mod sim;
mod tenancy;
mod work;

use std::collections::VecDeque;
use std::time::Instant;

use self::tenancy::{Admission, Tenancy};
use self::work::{Attendant, Coming};

pub(super) use self::call::{Call, CallId, Manner, Side};
pub(super) use self::tenancy::{Bounds, Handle, Look, Ready, TenancyId};
pub(super) use self::work::{Agenda, Kept, Rouse};

/// The calls of one client that wait for one lock, and the node that they share.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone, PartialEq, Eq, Hash))]
pub(super) struct Line<C, L> {
    /// In the order of their ids. A call that is gone stays until it is the first, or one of many.
    calls: VecDeque<Call<C>>,
    living: usize,
    next_call: u64,
    kept: Option<Tenancy<L>>,
    next_tenancy: u64,
    coming: Option<Coming>,
    /// Calls that do not wait for others, and that are answered when the contender has left.
    refused: Vec<Call<C>>,
    /// Not later than the earliest deadline of a call.
    deadline: Option<Instant>,
    attendant: Attendant,
    bounds: Bounds,
    is_closed: bool,
}

/// The reason why a call does not get into the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turned {
    /// The call does not wait for others, and would have to.
    Contended,
    Closed,
}

/// A call that is granted the lock.
#[derive(Debug)]
pub(super) struct Granted<C, L> {
    pub(super) call: Call<C>,
    pub(super) lease: L,
    pub(super) tenancy: TenancyId,
    /// The number of earlier grants under the same node.
    pub(super) handoff: u32,
}

/// The effects of a change of the line.
#[derive(Debug)]
#[must_use = "the grants and the leases belong to others"]
pub(super) struct Served<C, L> {
    pub(super) grants: Vec<Granted<C, L>>,
    /// Leases that the line no longer uses. Each is released once its last holder has given it back.
    pub(super) left: Vec<L>,
}

impl<C, L: Handle> Line<C, L> {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            calls: VecDeque::new(),
            living: 0,
            next_call: 0,
            kept: None,
            next_tenancy: 0,
            coming: None,
            refused: Vec::new(),
            deadline: None,
            attendant: Attendant::Absent,
            bounds,
            is_closed: false,
        }
    }

    /// Returns the id of the next call.
    pub(super) fn id(&mut self) -> CallId {
        self.next_call += 1;
        CallId(self.next_call)
    }

    /// Puts a call into the line, at the place of its id.
    pub(super) fn arrive(&mut self, call: Call<C>, now: Instant) -> Result<Served<C, L>, Turned> {
        if self.is_closed {
            return Err(Turned::Closed);
        }
        if call.manner == Manner::Try && self.is_contended(call.side) {
            return Err(Turned::Contended);
        }
        self.insert(call);
        Ok(self.serve(now))
    }

    /// Returns the number of calls that wait.
    pub(super) fn waiting(&self) -> usize {
        self.living
    }

    /// Returns the calls that wait, each with the number of contenders in front: those of other clients, and
    /// calls of this one. The list is empty while the place of this client in the queue is not known.
    pub(super) fn queued(&mut self) -> impl Iterator<Item = (usize, &mut C)> {
        let is_known = self.is_queued();
        let others = self.coming.as_ref().map_or(0, Coming::ahead);
        let holder = usize::from(self.kept.as_ref().is_some_and(|kept| !kept.is_vacant()));
        let callers = self.calls.iter_mut().filter_map(|call| call.caller.as_mut());
        callers
            .enumerate()
            .filter(move |_| is_known)
            .map(move |(nth, caller)| (others + holder + nth, caller))
    }

    /// Removes a call whose caller no longer waits.
    pub(super) fn gone(&mut self, id: CallId, now: Instant) -> Served<C, L> {
        let place = self.calls.partition_point(|call| call.id < id);
        match self.calls.get_mut(place) {
            Some(call) if call.id == id && call.is_alive() => drop(call.take()),
            _ => {
                self.refused.retain(|call| call.id != id);
                return Served::default();
            }
        }
        self.living -= 1;
        if self.calls.len() > 2 * self.living + SPARE {
            self.calls.retain(Call::is_alive);
        }
        self.serve(now)
    }

    /// Returns the lease of this tenancy, while its node is in line.
    pub(super) fn lease(&self, tenancy: TenancyId) -> Option<&L> {
        self.kept.as_ref().filter(|kept| kept.id() == tenancy).map(Tenancy::lease)
    }

    /// Returns whether the node of this tenancy is in line, and nobody holds the lock.
    pub(super) fn is_vacant(&self, tenancy: TenancyId) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.id() == tenancy && kept.is_vacant())
    }

    /// Returns whether a contender of this client is in the queue, behind others or behind its own node.
    pub(super) fn is_queued(&self) -> bool {
        self.kept.is_some() || self.coming.as_ref().is_some_and(Coming::is_queued)
    }

    /// Handles the end of a grant. Under a node that is no longer in line, it changes nothing.
    pub(super) fn given_back(&mut self, tenancy: TenancyId, now: Instant) -> Served<C, L> {
        match self.kept_as(tenancy) {
            Some(kept) => kept.give_back(),
            None => return Served::default(),
        }
        self.serve(now)
    }

    fn is_deserted(&self) -> bool {
        self.living == 0 && self.kept.as_ref().is_some_and(Tenancy::is_vacant)
    }

    /// Takes a node out of the line that is lost.
    pub(super) fn lost(&mut self, tenancy: TenancyId) -> Option<L> {
        self.kept_as(tenancy)?;
        self.part()
    }

    /// Treats the node as a reader's from now on, because its downgrade has been ordered.
    pub(super) fn downgraded(&mut self, tenancy: TenancyId, now: Instant) -> Served<C, L> {
        match self.kept_as(tenancy) {
            Some(kept) => kept.downgrade(),
            None => return Served::default(),
        }
        self.serve(now)
    }

    /// Grants the lock to as many calls as the kept node admits.
    pub(super) fn serve(&mut self, now: Instant) -> Served<C, L> {
        let mut served = Served::default();
        // Readers that are let in together count as one grant.
        let mut is_batch = false;
        while let Some(side) = self.first() {
            let Some(kept) = &mut self.kept else { break };
            match kept.admits(side, is_batch, (self.bounds, now)) {
                Admission::Later => break,
                // The task lets other clients' readers in before the node leaves.
                Admission::Never if kept.shuts_readers_out() => break,
                Admission::Never => {
                    served.left.extend(self.part());
                    break;
                }
                Admission::Now => {
                    let begins_batch = kept.is_vacant() && side == Side::Shared;
                    let handoff = kept.grant(side, is_batch, now);
                    is_batch |= begins_batch;
                    let (lease, tenancy) = (kept.lease().clone(), kept.id());
                    let Some(call) = self.calls.pop_front() else { break };
                    self.living -= 1;
                    served.grants.push(Granted { call, lease, tenancy, handoff });
                }
            }
        }
        served
    }

    /// Returns whether a call of this side would have to wait for others.
    fn is_contended(&self, side: Side) -> bool {
        // A contender that no call uses any more is in nobody's way, unless others are in front of it.
        let is_coming = self.coming.is_some_and(|coming| !coming.is_withdrawn && coming.is_queued());
        // A reader that only the bound keeps out enters with a node of its own.
        let is_held = self.kept.as_ref().is_some_and(|kept| !kept.is_open_to(side));
        self.living > 0 || is_coming || is_held
    }

    fn insert(&mut self, call: Call<C>) {
        self.deadline = self.deadline.into_iter().chain(call.deadline).min();
        let place = self.calls.partition_point(|other| other.id < call.id);
        self.calls.insert(place, call);
        self.living += 1;
    }

    /// Returns the side of the first call that waits, after dropping calls that are gone.
    fn first(&mut self) -> Option<Side> {
        while self.calls.front().is_some_and(|call| !call.is_alive()) {
            self.calls.pop_front();
        }
        self.calls.front().map(|call| call.side)
    }

    fn part(&mut self) -> Option<L> {
        self.kept.take().map(Tenancy::into_lease)
    }

    fn kept_as(&mut self, tenancy: TenancyId) -> Option<&mut Tenancy<L>> {
        self.kept.as_mut().filter(|kept| kept.id() == tenancy)
    }
}

impl<C, L> Default for Served<C, L> {
    fn default() -> Self {
        Self { grants: Vec::new(), left: Vec::new() }
    }
}

/// The number of calls that are gone that a line may always keep.
const SPARE: usize = 16;

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::time::Duration;

    use super::*;

    const WITHIN: Duration = Duration::from_millis(50);

    #[derive(Clone, Debug)]
    struct Lease(Rc<Cell<Look>>);

    impl Handle for Lease {
        fn look(&self) -> Look {
            self.0.get()
        }
    }

    impl Lease {
        fn new() -> Self {
            Self(Rc::new(Cell::new(Look { ready: Ready::Now, is_writing: false, company: None })))
        }

        fn becomes(&self, ready: Ready) {
            self.0.set(Look { ready, ..self.0.get() });
        }

        fn writes(&self, is_writing: bool) {
            self.0.set(Look { is_writing, ..self.0.get() });
        }

        fn meets(&self, company: Instant) {
            self.0.set(Look { company: Some(company), ..self.0.get() });
        }
    }

    /// A line whose calls are named by their ids.
    struct Scene {
        line: Line<(), Lease>,
        lease: Lease,
        now: Instant,
        tenancy: TenancyId,
    }

    impl Scene {
        fn new() -> Self {
            Self::within(64, WITHIN)
        }

        fn within(turns: u32, within: Duration) -> Self {
            let (line, lease) = (Line::new(Bounds { turns, within }), Lease::new());
            Self { line, lease, now: Instant::now(), tenancy: TenancyId(0) }
        }

        /// A line with a node of this side, which the first call of it holds.
        fn held(side: Side) -> Self {
            let mut scene = Self::new();
            scene.wait(side);
            scene.enter(side);
            assert_eq!(scene.head(), [(1, 0)]);
            scene
        }

        fn call(&mut self, side: Side, manner: Manner) -> Call<()> {
            Call { id: self.line.id(), side, manner, deadline: None, caller: Some(()) }
        }

        fn wait(&mut self, side: Side) -> Vec<(u64, u32)> {
            let call = self.call(side, Manner::Wait);
            grants(&self.line.arrive(call, self.now).unwrap())
        }

        fn attempt(&mut self, side: Side) -> Result<Vec<(u64, u32)>, Turned> {
            let call = self.call(side, Manner::Try);
            self.line.arrive(call, self.now).map(|served| grants(&served))
        }

        /// A call that waits until a later instant.
        fn wait_for(&mut self, wait: Duration) {
            let mut call = self.call(Exclusive, Manner::Wait);
            call.deadline = Some(self.now + wait);
            assert_eq!(grants(&self.line.arrive(call, self.now).unwrap()), []);
        }

        #[track_caller]
        fn enter(&mut self, side: Side) {
            assert!(matches!(self.line.agenda(self.now), Agenda::Enter(entered) if entered == side));
        }

        #[track_caller]
        fn rest(&mut self) {
            assert!(matches!(self.line.agenda(self.now), Agenda::Sleep { .. } | Agenda::Over));
        }

        /// The first look of the task at a vacant node.
        #[track_caller]
        fn look_twice(&mut self) {
            assert!(matches!(self.line.agenda(self.now), Agenda::LookAgain));
        }

        fn head(&mut self) -> Vec<(u64, u32)> {
            self.tenancy = TenancyId(self.line.next_tenancy + 1);
            self.lease = Lease::new();
            grants(&self.line.headed(self.lease.clone(), self.now))
        }

        fn give_back(&mut self) -> (Vec<(u64, u32)>, usize) {
            let served = self.line.given_back(self.tenancy, self.now);
            (grants(&served), served.left.len())
        }

        fn gone(&mut self, id: u64) -> Vec<(u64, u32)> {
            grants(&self.line.gone(CallId(id), self.now))
        }
    }

    /// The calls that are granted, and their numbers under the node.
    fn grants(served: &Served<(), Lease>) -> Vec<(u64, u32)> {
        served.grants.iter().map(|granted| (granted.call.id.0, granted.handoff)).collect()
    }

    use Side::{Exclusive, Shared};

    #[test]
    fn the_first_call_starts_the_task_which_enters_for_it_and_grants_at_the_head() {
        let mut scene = Scene::new();
        assert_eq!(scene.wait(Exclusive), []);
        assert_eq!(scene.line.rouse(), Rouse::Start);
        scene.enter(Exclusive);
        assert_eq!(scene.wait(Exclusive), []);
        assert_eq!(scene.line.rouse(), Rouse::Nobody);
        scene.rest();
        assert_eq!(scene.line.rouse(), Rouse::Nobody);
        assert_eq!(scene.head(), [(1, 0)]);
        assert_eq!(scene.give_back(), (vec![(2, 1)], 0));
    }

    #[test]
    fn a_node_that_nobody_holds_is_retaken_until_the_task_makes_it_leave() {
        let mut scene = Scene::held(Exclusive);
        scene.rest();
        assert_eq!(scene.give_back(), (vec![], 0));
        assert_eq!(scene.line.rouse(), Rouse::Start);
        assert_eq!(scene.wait(Exclusive), [(2, 1)]);
        scene.give_back();
        scene.look_twice();
        assert!(matches!(scene.line.agenda(scene.now), Agenda::Leave(_)));
        assert_eq!(scene.wait(Exclusive), []);
        scene.enter(Exclusive);
    }

    #[test]
    fn a_lock_is_passed_on_once_the_state_of_its_lease_is_known() {
        let mut scene = Scene::held(Exclusive);
        scene.wait(Exclusive);
        scene.rest();
        scene.lease.becomes(Ready::NotYet);
        assert_eq!(scene.give_back(), (vec![], 0));
        assert_eq!(scene.line.rouse(), Rouse::Wake);
        let agenda = scene.line.agenda(scene.now);
        assert!(matches!(agenda, Agenda::Sleep { kept: Some(Kept { is_open: true, .. }), .. }));
        assert_eq!(grants(&scene.line.serve(scene.now)), []);
        scene.lease.becomes(Ready::Now);
        assert_eq!(grants(&scene.line.serve(scene.now)), [(2, 1)]);
    }

    #[test]
    fn a_node_that_may_never_be_passed_on_leaves_and_the_waiter_enters_again() {
        let mut scene = Scene::held(Exclusive);
        scene.wait(Exclusive);
        scene.lease.becomes(Ready::Never);
        assert_eq!(scene.give_back(), (vec![], 1));
        scene.enter(Exclusive);
        assert_eq!(scene.head(), [(2, 0)]);
    }

    #[test]
    fn a_lost_node_leaves_and_later_events_of_it_change_nothing() {
        let mut scene = Scene::held(Exclusive);
        scene.wait(Exclusive);
        let lost = scene.tenancy;
        assert!(scene.line.lost(lost).is_some());
        assert!(scene.line.lost(lost).is_none());
        assert_eq!(scene.give_back(), (vec![], 0));
        scene.enter(Exclusive);
        assert_eq!(scene.head(), [(2, 0)]);
        assert_eq!(grants(&scene.line.given_back(lost, scene.now)), []);
        assert_eq!(scene.wait(Exclusive), []);
        assert_eq!(scene.give_back().0, [(3, 1)]);
    }

    #[test]
    fn the_last_waiter_that_goes_takes_the_contender_with_it() {
        let mut scene = Scene::new();
        scene.wait(Exclusive);
        scene.enter(Exclusive);
        scene.rest();
        scene.gone(1);
        assert_eq!(scene.line.rouse(), Rouse::Wake);
        assert!(matches!(scene.line.agenda(scene.now), Agenda::Withdraw));
        assert!(matches!(scene.line.agenda(scene.now), Agenda::Sleep { .. }));
        assert_eq!(scene.attempt(Exclusive), Ok(vec![]), "a node that leaves refuses nobody");
        scene.rest();
        assert!(scene.line.ended().is_empty());
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
        assert_eq!(scene.line.rouse(), Rouse::Wake);
        assert!(matches!(scene.line.agenda(scene.now), Agenda::Withdraw));
        scene.line.ended();
        scene.enter(Shared);
    }

    #[test]
    fn all_calls_in_line_get_an_error_and_a_closed_line_takes_no_more() {
        let mut scene = Scene::held(Exclusive);
        scene.wait(Exclusive);
        scene.wait(Shared);
        assert_eq!(scene.line.refused().len(), 2);
        assert_eq!(scene.line.waiting(), 0);
        scene.wait(Exclusive);
        assert_eq!(scene.line.close().len(), 1);
        assert_eq!(scene.attempt(Exclusive), Err(Turned::Closed));
        assert_eq!(scene.give_back(), (vec![], 0));
        assert!(matches!(scene.line.agenda(scene.now), Agenda::Leave(_)));
    }

    #[test]
    fn a_task_that_watches_a_node_wakes_when_it_leaves() {
        let mut scene = Scene::held(Shared);
        scene.wait(Exclusive);
        scene.enter(Exclusive);
        scene.rest();
        assert_eq!(scene.give_back(), (vec![], 1));
        assert_eq!(scene.line.rouse(), Rouse::Wake);
        assert!(matches!(scene.line.agenda(scene.now), Agenda::Sleep { kept: None, .. }));
    }

    #[test]
    fn a_call_whose_caller_has_a_lost_grant_comes_back_to_the_front() {
        let mut scene = Scene::held(Exclusive);
        scene.wait(Exclusive);
        scene.line.lost(scene.tenancy);
        let again =
            Call { id: CallId(1), side: Exclusive, manner: Manner::Wait, deadline: None, caller: Some(()) };
        assert_eq!(grants(&scene.line.arrive(again, scene.now).unwrap()), []);
        scene.enter(Exclusive);
        assert_eq!(scene.head(), [(1, 0)]);
        assert_eq!(scene.give_back().0, [(2, 1)]);
    }

    #[test]
    fn with_company_a_turn_ends_after_64_grants_of_which_the_present_holders_is_the_first() {
        let mut scene = Scene::held(Exclusive);
        for _ in 0..100 {
            scene.give_back();
            assert_eq!(scene.wait(Exclusive).len(), 1);
        }
        scene.now += Duration::from_millis(1);
        scene.lease.meets(scene.now);
        for _ in 1..64 {
            assert_eq!(scene.give_back(), (vec![], 0));
            assert_eq!(scene.wait(Exclusive).len(), 1);
        }
        assert_eq!(scene.wait(Exclusive), []);
        assert_eq!(scene.give_back(), (vec![], 1));
    }

    #[test]
    fn with_company_a_turn_ends_after_the_bound_of_time_and_alone_never() {
        let mut scene = Scene::held(Exclusive);
        scene.now += 100 * WITHIN;
        scene.give_back();
        assert_eq!(scene.wait(Exclusive).len(), 1);
        scene.lease.meets(scene.now);
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
        let lease = Lease::new();
        lease.meets(scene.now);
        lease.becomes(Ready::NotYet);
        assert_eq!(grants(&scene.line.headed(lease.clone(), scene.now)), []);
        scene.tenancy = TenancyId(1);
        scene.now += 2 * WITHIN;
        lease.becomes(Ready::Now);
        assert_eq!(grants(&scene.line.serve(scene.now)), [(1, 0)]);
        scene.wait(Exclusive);
        assert_eq!(scene.give_back(), (vec![(2, 1)], 0));
        scene.now += WITHIN;
        scene.wait(Exclusive);
        assert_eq!(scene.give_back(), (vec![], 1));
    }

    #[test]
    fn no_time_at_all_hands_over_after_each_grant_while_others_wait() {
        let mut scene = Scene::within(64, Duration::ZERO);
        scene.wait(Exclusive);
        scene.wait(Exclusive);
        scene.wait(Exclusive);
        scene.enter(Exclusive);
        assert_eq!(scene.head(), [(1, 0)]);
        assert_eq!(scene.give_back(), (vec![(2, 1)], 0));
        scene.lease.meets(scene.now);
        assert_eq!(scene.give_back(), (vec![], 1));
        scene.enter(Exclusive);
        let company = scene.now;
        assert_eq!(scene.head(), [(3, 0)]);
        scene.lease.meets(company);
        scene.wait(Exclusive);
        assert_eq!(scene.give_back(), (vec![], 1));
    }

    #[test]
    fn a_node_whose_numbers_are_used_up_leaves() {
        let mut scene = Scene::held(Shared);
        scene.line.kept.as_mut().unwrap().set_handoffs(u32::MAX - 1);
        assert_eq!(scene.wait(Shared), [(2, u32::MAX - 1)]);
        assert_eq!(scene.wait(Shared), []);
        scene.enter(Shared);
        // Nor does a batch go on.
        let mut scene = Scene::held(Exclusive);
        scene.line.kept.as_mut().unwrap().set_handoffs(u32::MAX - 1);
        scene.wait(Shared);
        scene.wait(Shared);
        assert_eq!(scene.give_back().0, [(2, u32::MAX - 1)]);
        assert!(matches!(scene.line.agenda(scene.now), Agenda::Downgrade(_)));
    }

    #[test]
    fn a_write_under_way_keeps_all_out_but_readers_beside_readers() {
        let mut scene = Scene::held(Exclusive);
        scene.lease.writes(true);
        scene.wait(Shared);
        assert_eq!(scene.give_back(), (vec![], 0));
        scene.lease.writes(false);
        assert_eq!(grants(&scene.line.serve(scene.now)), [(2, 1)]);
        scene.lease.writes(true);
        assert_eq!(scene.wait(Shared), [(3, 2)]);
        scene.wait(Exclusive);
        scene.give_back();
        assert_eq!(scene.give_back(), (vec![], 0));
        scene.lease.writes(false);
        assert_eq!(grants(&scene.line.serve(scene.now)), [(4, 3)]);
    }

    #[test]
    fn readers_join_a_downgraded_writer_only_after_its_writes() {
        let mut scene = Scene::held(Exclusive);
        scene.wait(Shared);
        scene.lease.writes(true);
        assert_eq!(grants(&scene.line.downgraded(scene.tenancy, scene.now)), []);
        assert_eq!(scene.attempt(Shared), Err(Turned::Contended), "a reader is in line");
        scene.lease.writes(false);
        assert_eq!(grants(&scene.line.serve(scene.now)), [(2, 1)]);
        scene.lease.writes(true);
        assert_eq!(scene.wait(Shared), [(4, 2)], "beside a reader's write");
    }

    #[test]
    fn readers_join_readers_unless_a_writer_is_in_front_and_form_batches_that_count_once() {
        let mut scene = Scene::held(Exclusive);
        for side in [Shared, Shared, Exclusive, Shared] {
            assert_eq!(scene.wait(side), []);
        }
        assert_eq!(scene.give_back().0, [(2, 1), (3, 2)]);
        assert_eq!(scene.line.kept.as_ref().unwrap().grants(), 2);
        assert_eq!(scene.wait(Shared), []);
        assert_eq!(scene.give_back().0, []);
        assert_eq!(scene.give_back().0, [(4, 3)]);
        assert_eq!(scene.give_back().0, [(5, 4), (6, 5)]);
        assert_eq!(scene.wait(Shared), [(7, 6)]);
        assert_eq!(scene.line.kept.as_ref().unwrap().grants(), 5);
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
    fn a_reader_beyond_the_bound_enters_beside_the_readers_that_it_may_not_join() {
        let mut scene = Scene::held(Shared);
        scene.lease.meets(scene.now);
        scene.now += WITHIN;
        assert_eq!(scene.attempt(Shared), Ok(vec![]));
        scene.enter(Shared);
        assert_eq!(scene.head(), [(2, 0)]);
        assert_eq!(scene.wait(Shared), [(3, 1)]);
    }

    #[test]
    fn readers_under_a_writers_node_let_other_clients_readers_in_at_the_bound() {
        let mut scene = Scene::held(Exclusive);
        scene.wait(Shared);
        scene.give_back();
        scene.rest();
        scene.lease.meets(scene.now);
        let until = scene.now + WITHIN;
        let agenda = scene.line.agenda(scene.now);
        assert!(matches!(agenda, Agenda::Sleep { until: Some(bound), .. } if bound == until));
        scene.now = until;
        assert!(matches!(scene.line.agenda(scene.now), Agenda::Downgrade(_)));
        assert_eq!(scene.wait(Shared), []);
        scene.enter(Shared);
    }

    #[test]
    fn a_reader_that_may_not_join_under_a_writers_node_makes_it_a_readers() {
        for is_bound in [true, false] {
            let mut scene = Scene::held(Exclusive);
            scene.wait(Shared);
            scene.give_back();
            scene.rest();
            if is_bound {
                scene.lease.meets(scene.now);
                scene.now += WITHIN;
            } else {
                scene.lease.becomes(Ready::Never);
            }
            assert_eq!(scene.wait(Shared), []);
            assert_eq!(scene.line.rouse(), Rouse::Wake);
            assert!(matches!(scene.line.agenda(scene.now), Agenda::Downgrade(_)));
            scene.enter(Shared);
        }
    }

    #[test]
    fn no_writer_is_granted_after_a_downgrade_was_ordered() {
        let mut scene = Scene::held(Exclusive);
        scene.wait(Exclusive);
        assert_eq!(grants(&scene.line.downgraded(scene.tenancy, scene.now)), []);
        scene.enter(Exclusive);
        assert_eq!(scene.give_back(), (vec![], 1));
    }

    #[test]
    fn a_try_is_refused_where_others_hold_or_wait_and_only_there() {
        let mut scene = Scene::held(Exclusive);
        assert_eq!(scene.attempt(Exclusive), Err(Turned::Contended));
        assert_eq!(scene.attempt(Shared), Err(Turned::Contended));
        scene.give_back();
        assert_eq!(scene.attempt(Shared), Ok(vec![(4, 1)]));
        assert_eq!(scene.attempt(Shared), Ok(vec![(5, 2)]));
        assert_eq!(scene.attempt(Exclusive), Err(Turned::Contended));
        // The state of the lease says nothing about others.
        scene.lease.becomes(Ready::NotYet);
        assert_eq!(scene.attempt(Shared), Ok(vec![]));
        assert_eq!(scene.attempt(Shared), Err(Turned::Contended));
    }

    #[test]
    fn a_vain_try_is_answered_when_its_contender_has_left_or_at_once_if_others_use_that() {
        let mut scene = Scene::new();
        assert_eq!(scene.attempt(Exclusive), Ok(vec![]));
        scene.enter(Exclusive);
        assert_eq!(scene.line.behind(1).len(), 0);
        assert!(matches!(scene.line.agenda(scene.now), Agenda::Withdraw));
        assert_eq!(scene.line.ended().len(), 1);
        scene.attempt(Exclusive).unwrap();
        scene.enter(Exclusive);
        scene.wait(Exclusive);
        assert_eq!(scene.line.behind(1).len(), 1);
        scene.rest();
        assert_eq!(scene.head(), [(3, 0)]);
    }

    #[test]
    fn a_vain_try_gets_a_lock_that_comes_free_meanwhile_unless_its_caller_is_gone() {
        for is_gone in [false, true] {
            let mut scene = Scene::new();
            scene.attempt(Exclusive).unwrap();
            scene.enter(Exclusive);
            scene.line.behind(1);
            if is_gone {
                scene.gone(1);
            }
            assert_eq!(scene.head().len(), usize::from(!is_gone));
        }
    }

    #[test]
    fn deadlines_are_kept_in_order_and_wake_the_task_only_if_they_are_earlier() {
        let mut scene = Scene::held(Exclusive);
        scene.wait_for(3 * WITHIN);
        assert_eq!(scene.line.rouse(), Rouse::Start);
        scene.rest();
        scene.wait_for(3 * WITHIN);
        assert_eq!(scene.line.rouse(), Rouse::Nobody);
        scene.wait_for(WITHIN);
        assert_eq!(scene.line.rouse(), Rouse::Wake);
        assert!(scene.line.expire(scene.now).is_empty());
        let expired = scene.line.expire(scene.now + WITHIN);
        assert_eq!(expired.iter().map(|call| call.id.0).collect::<Vec<_>>(), [4]);
        assert_eq!(scene.line.expire(scene.now + 3 * WITHIN).len(), 2);
        assert_eq!(scene.line.waiting(), 0);
    }

    #[test]
    fn ten_thousand_waiters_that_are_gone_are_swept_and_cost_little() {
        let mut scene = Scene::held(Exclusive);
        for _ in 0..10_000 {
            scene.wait(Exclusive);
        }
        assert_eq!(scene.line.queued().last().map(|(ahead, ())| ahead), Some(10_000));
        for id in (2..=10_000).rev() {
            scene.gone(id);
            assert!(scene.line.calls.len() <= 2 * scene.line.waiting() + SPARE);
        }
        assert_eq!(scene.line.queued().map(|(ahead, ())| ahead).collect::<Vec<_>>(), [1]);
        assert_eq!(scene.gone(9_000), [], "a call is gone once");
        assert_eq!(scene.give_back().0, [(10_001, 1)]);
    }
}
