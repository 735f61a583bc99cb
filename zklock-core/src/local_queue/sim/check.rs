//! The invariants, which hold in every state and at every grant.

use crate::deadline::Contention;
use crate::lease::Readiness;
use crate::local_queue::held::HeldNode;
use crate::local_queue::held::Mode;

use super::node::{Claim, Downgrade, Node};
use super::setup::Spec;
use super::world::{CallState, Caller, Foreigner, Process, Share, TURNS, Task, WITHIN, World};
use crate::local_queue::state::{Contender, Granted};

impl World {
    /// Checks grants that are made together, before they are sent.
    pub(super) fn check_batch(&mut self, process: usize, grants: &[Granted<usize, Claim>]) {
        for (position, granted) in grants.iter().enumerate() {
            let mode = granted.call.mode;
            let (zxid, node) = (granted.claim.zxid, granted.node);
            let index = granted.call.caller;
            assert!(!self.processes[process].is_closed, "a closed line grants");
            let is_shared = |granted: &Granted<usize, Claim>| granted.call.mode == Mode::Shared;
            let is_batch = position > 0
                && grants[..=position].iter().all(is_shared)
                && self.is_vacant(process, zxid, &grants[..position]);
            self.check_order(process, index, &grants[..position]);
            self.check_passing(process, zxid, mode);
            let others = grants[..position].iter().map(|other| other.call.mode);
            let is_alone = others.count() == 0 || self.setup.permits.is_some();
            assert!(mode == Mode::Shared || is_alone, "an exclusive grant beside another one");
            self.check_bounds(zxid, is_batch);
            self.check_token((zxid, granted.handoff), mode);
            self.check_beside(process, Share { zxid, node, mode });
        }
    }

    /// Tells whether nobody had the node before these grants.
    fn is_vacant(&self, process: usize, zxid: usize, before: &[Granted<usize, Claim>]) -> bool {
        let calls = &self.processes[process].calls;
        !before.is_empty() && !calls.iter().any(|call| call.share().is_some_and(|share| share.zxid == zxid))
    }

    /// Calls that wait are granted in the order of their ids.
    fn check_order(&self, process: usize, index: usize, before: &[Granted<usize, Claim>]) {
        let calls = &self.processes[process].calls;
        let waits = |call: &&Caller| {
            let is_granted = before.iter().any(|granted| Some(granted.call.id) == call.id);
            call.state == CallState::InLine && call.spec.contention == Contention::Wait && !is_granted
        };
        let earlier = calls.iter().filter(waits).find(|call| call.id < calls[index].id);
        assert_eq!(earlier, None, "a call is granted in front of another");
    }

    /// The node may be passed on at this instant.
    fn check_passing(&self, process: usize, zxid: usize, mode: Mode) {
        let node = self.node_of(zxid);
        let lease = node.lease.expect("a claim has a lease");
        assert!(node.is_of(process));
        assert_eq!(lease.look(self.processes[process].is_connected).readiness, Readiness::Ready);
        assert!(!lease.must_know || lease.contended_since.is_some(), "a reconnect hides other contenders");
        match mode {
            Mode::Exclusive => {
                assert_eq!(lease.writing, None, "a write of an earlier holder is under way");
                assert_eq!(lease.downgrade, Downgrade::No, "a writer after a downgrade");
                assert_eq!(node.mode, Mode::Exclusive, "a writer by a reader's node");
            }
            Mode::Shared => {
                assert_ne!(lease.writing, Some(Mode::Exclusive), "a reader beside a writer's write");
            }
        }
    }

    fn check_bounds(&mut self, zxid: usize, is_batch: bool) {
        let now = self.now;
        let lease = self.node(zxid).lease();
        let record = &mut lease.record;
        if !is_batch {
            let since = record.first.max(lease.contended_since);
            if let (Some(_), Some(first)) = (lease.contended_since, record.first) {
                assert!(record.counted < TURNS, "more grants than the bound");
                let since = since.unwrap_or(first);
                assert!(now.duration_since(since) < WITHIN, "a grant after the bound of time");
            }
            record.counted += 1;
        }
        record.first.get_or_insert(now);
        record.handoffs += 1;
    }

    /// Tokens rise with the exclusive grants. Those of readers lie between those of writers.
    fn check_token(&mut self, token: (usize, u32), mode: Mode) {
        assert_eq!(
            token.1 + 1,
            self.node(token.0).lease().record.handoffs,
            "a number is skipped or repeated"
        );
        // The servers refuse the token of a node that is gone. Those of several permits have no order.
        if !self.node_of(token.0).exists || self.setup.permits.is_some() {
            return;
        }
        let last = match mode {
            Mode::Exclusive => self.last_of_all,
            Mode::Shared => self.last_exclusive,
        };
        assert!(last < Some(token), "the token {token:?} does not exceed {last:?}");
        self.last_of_all = self.last_of_all.max(Some(token));
        if mode == Mode::Exclusive {
            self.last_exclusive = Some(token);
        }
    }

    /// Checks a new grant against those that are alive.
    fn check_beside(&self, process: usize, new: Share) {
        if let Some(permits) = self.setup.permits {
            let is_same = |share: &Share| share.zxid == new.zxid;
            assert!(!self.alive().any(|(_, share)| is_same(&share)), "a permit has two holders");
            assert!(!self.node_of(new.zxid).exists || self.alive().count() < permits, "too many permits");
            return;
        }
        for (owner, share) in self.alive() {
            let is_counted = owner == process && share.zxid == new.zxid || self.node_of(new.zxid).exists;
            let is_shared = share.mode == Mode::Shared && new.mode == Mode::Shared;
            assert!(!is_counted || is_shared, "{new:?} of {process} beside {share:?} of {owner}");
        }
    }

    /// Returns the grants whose leases are not lost, and whose nodes exist.
    fn alive(&self) -> impl Iterator<Item = (usize, Share)> {
        let shares = self.processes.iter().enumerate().flat_map(|(index, process)| {
            process.calls.iter().filter_map(move |call| Some((index, call.share()?)))
        });
        shares.filter(|(_, share)| {
            let node = self.node_of(share.zxid);
            node.exists && !node.is_lost()
        })
    }

    /// A writer keeps its node, unless that is gone.
    pub(super) fn check_leaving(&self, held: &HeldNode<Claim>) {
        let node = self.node_of(held.claim.zxid);
        let is_free = held.is_vacant() || held.is_open_to(Mode::Shared);
        assert!(is_free || node.is_lost() || !node.exists, "a node leaves its writer");
    }

    /// Checks what holds in every state.
    pub(super) fn check(&self) {
        let foreign = match self.foreigner {
            Foreigner::Holding(mode) => Some(mode),
            _ => None,
        };
        let modes: Vec<_> = self.alive().map(|(_, share)| share.mode).chain(foreign).collect();
        let are_readers = modes.iter().all(|mode| *mode == Mode::Shared);
        let most = self.setup.permits.unwrap_or(1);
        assert!(are_readers || modes.len() <= most, "{modes:?} hold the lock");
        for (index, process) in self.processes.iter().enumerate() {
            let line = &process.state;
            let in_line = process.calls.iter().filter(|call| call.is_in_line()).count();
            assert_eq!(line.waiting.len(), in_line, "a call is lost or doubled");
            assert!(line.held.len() <= most, "a line has more than its client can hold");
            let is_behind_others = self.setup.permits.is_none() && line.contender.is_some_and(is_queued);
            let is_try = |call: &Caller| call.is_in_line() && call.spec.contention == Contention::Leave;
            assert!(!is_behind_others || !process.calls.iter().any(is_try), "a try waits behind others");
            if process.task == Task::Absent {
                assert_eq!(process.contender, None);
                assert_eq!(in_line, 0, "calls wait without a task");
                let is_held = process.calls.iter().any(|call| call.share().is_some());
                assert!(is_held || line.held.is_empty(), "a line without calls keeps a node");
                let is_unused = |kept: &HeldNode<_>| self.setup.permits.is_some() && kept.is_vacant();
                assert!(!line.held.iter().any(is_unused), "a permit is kept that nobody uses");
                let is_own = |node: &Node| node.is_of(index) && node.lease.is_none();
                assert!(!self.nodes.iter().any(is_own), "a contender is forgotten");
            }
        }
    }

    /// Returns whether a call that arrives is turned away: it does not wait, and others hold the lock or wait for it, or its line
    /// is closed.
    pub(super) fn is_refused(&self, process: usize, spec: Spec) -> bool {
        let Process { state, calls, is_closed, .. } = &self.processes[process];
        let is_in_the_way = |call: &Caller| match call.share() {
            _ if self.setup.permits.is_some() => {
                call.is_in_line() && call.spec.contention == Contention::Wait
            }
            // A holder of a node that has left or is lost is in the way of contenders, and not of calls.
            Some(share) => {
                let is_there = state.held.iter().any(|held| held.id == share.node);
                is_there && !self.node_of(share.zxid).is_lost() && conflict(spec.mode, share.mode)
            }
            None => call.is_in_line() && conflict(spec.mode, call.spec.mode),
        };
        // A contender at the gate of a semaphore does not tell whether there are permits.
        let is_behind = self.setup.permits.is_none() && state.contender.is_some_and(is_queued);
        let is_contended = calls.iter().any(is_in_the_way) || is_behind;
        *is_closed || spec.contention == Contention::Leave && is_contended
    }
}

/// A contender that is still entering is in nobody's way.
fn is_queued(contender: Contender) -> bool {
    contender.ahead.is_some() && !contender.is_withdrawn
}

fn conflict(one: Mode, other: Mode) -> bool {
    (one, other) != (Mode::Shared, Mode::Shared)
}
