//! The invariants, and the way on from a state if no faults follow.

use rustc_hash::FxHashSet;

use crate::cohort::rules::{Granted, Rules};
use crate::cohort::screen::Lease;
use crate::cohort::tenancy::Ready;

use super::effect::LONGEST;
use super::step::Step;
use super::world::{CallState, TURNS, Task, WITHIN, World};

/// The number of bounds after which nothing new happens by itself.
const PATIENCE: u32 = 6;

impl World {
    /// Checks grants that are made together, before they are sent.
    pub(super) fn check_batch(&mut self, client: usize, grants: &[Granted<usize, Lease>]) {
        for (position, granted) in grants.iter().enumerate() {
            let zxid = granted.lease.zxid;
            assert!(!self.clients[client].is_closed, "a closed pool grants");
            let is_granted = |id| grants[..position].iter().any(|other| Some(other.call.id) == id);
            let earlier = self.in_line(client).filter(|call| call.id < Some(granted.call.id));
            assert!(earlier.map(|call| call.id).all(is_granted), "a call is granted before another");
            let shares = self.clients[client].calls.iter().filter_map(|call| call.share());
            let others = grants[..position].iter().map(|other| other.lease.zxid);
            let mut held = shares.map(|share| share.zxid).chain(others);
            assert!(held.all(|held| held != zxid), "two calls have one permit");
            let (now, is_connected) = (self.now, self.clients[client].is_connected);
            let tenure = self.tenure(zxid);
            let look = tenure.look(is_connected);
            assert_eq!((look.ready, look.is_writing), (Ready::Now, false), "the permit may not be passed on");
            assert_eq!(granted.handoff, tenure.grants, "a number is skipped or repeated");
            assert!(tenure.grants < TURNS, "more grants than the bound");
            let first = *tenure.first.get_or_insert(now);
            assert!(now.duration_since(first) < WITHIN, "a grant after the bound of time");
            tenure.grants += 1;
        }
    }

    /// Checks what holds in every state.
    pub(super) fn check(&self) {
        let mut held = 0;
        for (index, client) in self.clients.iter().enumerate() {
            let pool = &client.pool;
            assert_eq!(pool.waiting(), self.in_line(index).count(), "a call is lost or doubled");
            for share in client.calls.iter().filter_map(|call| call.share()) {
                let node = self.node(share.zxid);
                held += usize::from(node.exists && !node.is_lost());
                let lease = pool.lease(share.tenancy).expect("a permit that is held is kept");
                assert_eq!(lease.zxid, share.zxid, "a call has the lease of another permit");
                assert!(!pool.is_vacant(share.tenancy), "a permit that is held goes to another call");
            }
            let holders = client.calls.iter().filter(|call| call.share().is_some());
            assert_eq!(holders.count(), pool.held.len(), "a permit counts as held that nobody holds");
            let is_kept_in_vain = pool.waiting() == 0 && !pool.parked.is_empty();
            assert!(!is_kept_in_vain, "a permit is kept while nobody waits");
            let active = client.contenders.iter().filter(|contender| !contender.is_cancelled).count();
            assert_eq!(active, pool.contenders.active());
            assert!(client.contenders.len() <= self.setup.most, "too many contenders");
            let is_idle = matches!(&client.task, Task::Asleep { .. }) && !self.has_work(index);
            if client.task == Task::Absent || is_idle {
                let needed = pool.waiting().min(self.setup.most);
                let is_leaving =
                    pool.contenders.spare_until(pool.waiting()).is_some_and(|until| until > self.now);
                assert!(active <= needed || is_leaving, "{active} contenders for {needed} calls");
                let is_full = client.contenders.len() == self.setup.most;
                assert!(active >= needed || is_full, "no contender for a call that waits");
            }
        }
        assert!(held <= self.setup.of, "{held} permits are held");
    }

    /// Checks that every call is granted or answered, and that no node is left.
    ///
    /// The recovery of a world is always the same, so it ends at a world that is known to recover.
    pub(super) fn check_progress(mut self, recovering: &mut FxHashSet<u64>) {
        self.faults_left = 0;
        let mut passed = Vec::new();
        while passed.len() < LONGEST {
            let key = self.fingerprint();
            if recovering.contains(&key) {
                return recovering.extend(passed);
            }
            passed.push(key);
            match self.next_of_recovery() {
                Some(step) => self.take(step),
                None if self.now < self.begin + PATIENCE * WITHIN => self.take(Step::Tick),
                None => {
                    self.check_rest();
                    return recovering.extend(passed);
                }
            }
        }
        panic!("the clients do not come to rest");
    }

    fn next_of_recovery(&self) -> Option<Step> {
        let steps = self.steps();
        let goes_on = |step: &&Step| {
            step.is_work()
                || matches!(
                    step,
                    Step::Answer(_) | Step::Create(..) | Step::Head(..) | Step::Confirm(_) | Step::Fire(_)
                )
        };
        let is_last = |step: &&Step| matches!(step, Step::GiveBack(..));
        steps.iter().find(goes_on).or_else(|| steps.iter().find(is_last)).copied()
    }

    fn check_rest(&self) {
        for client in &self.clients {
            for call in &client.calls {
                let has_ended = matches!(call.state, CallState::Idle | CallState::Done);
                assert!(has_ended, "a call is stuck: {call:?}, {:?}", client.pool);
            }
            assert_eq!(client.task, Task::Absent, "the task does not end: {:?}", client.pool);
        }
        assert_eq!(self.nodes, [], "a node is left");
    }
}
