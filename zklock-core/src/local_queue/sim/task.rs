//! The work of a line's task, and of the contender that it started.

use crate::deadline::Contention;

use super::node::{Claim, Lease, Node, Owner};
use super::world::{Contender, Task, World};
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
        let refused = self.processes[process].state.placed(Some(ahead));
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
        self.node(zxid).lease = Some(Lease { contended_since, ..Lease::default() });
        self.change(process, |state, now| state.headed(Claim { zxid }, now));
        self.wake(process);
    }

    pub(super) fn withdraw(&mut self, process: usize) {
        let contender = self.processes[process].contender.take().expect("there is a contender");
        if let Some(zxid) = contender.zxid {
            self.node(zxid).exists = false;
        }
        self.processes[process].state.contender = None;
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
        line.contender = None;
        let failed = line.drain();
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
        process.task = Task::Awake;
        let expired = process.state.expire(now);
        self.answer(index, expired);
        self.change(index, |state, now| state.serve(now));
        self.show(index);
        let process = &mut self.processes[index];
        match process.state.next() {
            Need::Contend(entry) => {
                assert_eq!(process.contender, None, "a second contender enters");
                process.contender = Some(Contender { entry, zxid: None, untold: None, is_cancelled: false });
            }
            Need::Withdraw => {
                process.contender.as_mut().expect("there is a contender").is_cancelled = true;
            }
            // The task looks twice. Without that, there are only more schedules.
            Need::Leave(..) => self.change(index, |state, _| {
                state.leave();
                Vec::new()
            }),
            Need::Wait(until) => process.task = Task::Asleep(until, now),
            Need::Nothing => {
                assert_eq!(process.contender, None, "the task leaves a contender alone");
                process.task = Task::Absent;
            }
        }
    }
}
