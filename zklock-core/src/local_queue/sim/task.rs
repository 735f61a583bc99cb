//! The work of a line's task, and of the contender that it started.

use crate::deadline::Contention;

use super::node::{Claim, Downgrade, Lease, Node, Owner};
use super::world::{Contender, Task, Watched, World};
use crate::local_queue::held::Watched as Seen;
use crate::local_queue::state::Need;

impl World {
    pub(super) fn contender(&mut self, process: usize) -> &mut Contender {
        self.processes[process].contender.as_mut().expect("there is a contender")
    }

    pub(super) fn enter(&mut self, process: usize) {
        // A delete that was sent before arrives before.
        self.delete_leftovers(process);
        let mode = self.contender(process).entry.mode;
        let (zxid, ahead) = self.create(Owner::Process(process), mode);
        let contender = self.contender(process);
        contender.zxid = Some(zxid);
        // One that does not wait is not told, and leaves.
        contender.untold =
            Some(ahead).filter(|ahead| *ahead > 0 && contender.entry.contention == Contention::Wait);
        self.node(zxid).has_waited = ahead > 0;
    }

    pub(super) fn tell(&mut self, process: usize) {
        let ahead = self.contender(process).untold.take().expect("there is something to tell");
        let refused = self.processes[process].state.behind(ahead);
        self.answer(process, refused);
        self.wake(process);
    }

    pub(super) fn head(&mut self, process: usize) {
        let zxid = self.processes[process].contender.take().and_then(|contender| contender.zxid);
        let zxid = zxid.expect("the contender has a node");
        let last = self.next_zxid - 1;
        let node = self.node(zxid);
        // The list of the entry showed it at the head, or a later one does.
        node.seen = if node.has_waited { last } else { zxid };
        let seen = node.seen;
        let is_another = |node: &Node| node.exists && node.zxid != zxid && node.zxid <= seen;
        let is_contended = self.setup.permits.is_some() || self.nodes.iter().any(is_another);
        let contended_since = is_contended.then_some(self.now);
        self.node(zxid).lease = Some(Lease::new(contended_since));
        let claim = Claim { zxid, screen: self.screen.clone() };
        self.show(process);
        let (now, line) = (self.now, &mut self.processes[process].state);
        let served = line.headed(claim, now);
        self.deliver(process, served);
        self.wake(process);
    }

    pub(super) fn withdraw(&mut self, process: usize) {
        let contender = self.processes[process].contender.take().expect("there is a contender");
        if let Some(zxid) = contender.zxid {
            self.node(zxid).exists = false;
        }
        self.processes[process].state.withdrawn();
        self.wake(process);
    }

    /// A contender that does not wait finds others in the way.
    pub(super) fn turn_away(&mut self, process: usize) {
        let contender = self.processes[process].contender.take().expect("there is a contender");
        self.node(contender.zxid.expect("it has a node")).exists = false;
        let contended = self.processes[process].state.contended();
        self.answer(process, contended);
        self.wake(process);
    }

    pub(super) fn refuse(&mut self, process: usize) {
        self.processes[process].contender = None;
        let line = &mut self.processes[process].state;
        let failed = line.refused();
        self.answer(process, failed);
        self.wake(process);
    }

    fn wake(&mut self, process: usize) {
        let task = &mut self.processes[process].task;
        assert_ne!(*task, Task::Absent, "nobody attends to the contender");
        *task = Task::Awake;
    }

    /// One turn of the task's loop.
    pub(super) fn work(&mut self, index: usize) {
        self.show(index);
        let now = self.now;
        let process = &mut self.processes[index];
        process.is_roused = false;
        let slept = std::mem::replace(&mut process.task, Task::Awake);
        if !slept.watched().is_empty() {
            self.change(index, |state, now| state.serve(now));
        }
        let expired = self.processes[index].state.expire(now);
        self.answer(index, expired);
        self.show(index);
        let process = &mut self.processes[index];
        match process.state.next(now) {
            Need::GiveUp(_) => {}
            Need::Contend(entry) => {
                assert_eq!(process.contender, None, "a second contender enters");
                process.contender = Some(Contender { entry, zxid: None, untold: None, is_cancelled: false });
            }
            Need::Withdraw => {
                process.contender.as_mut().expect("there is a contender").is_cancelled = true;
            }
            // The task looks twice. Without that, there are only more schedules.
            Need::Leave(..) => process.state.leave(),
            Need::Downgrade(node) => {
                let claim = process.state.take_held(node).expect("the node is held");
                let lease = self.node(claim.zxid).lease();
                if lease.downgrade == Downgrade::No {
                    lease.downgrade = Downgrade::Ordered;
                }
            }
            Need::Wait(watched, until) => {
                let seen = |watched: &Seen| {
                    let held = process.state.node(watched.node).expect("the node is held");
                    Watched { zxid: held.claim.zxid, look: watched.look }
                };
                process.task = Task::Asleep { until, kept: watched.iter().map(seen).collect() };
            }
            Need::Nothing => {
                assert_eq!(process.contender, None, "the task leaves a contender alone");
                process.task = Task::Absent;
            }
        }
    }
}
