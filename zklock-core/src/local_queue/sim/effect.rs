//! The effects of events.

use std::time::Duration;

use super::trail::Told;
use crate::deadline::Deadline;
use crate::local_queue::held::Mode;
use crate::local_queue::state::Call;

use super::node::{Downgrade, Node, Owner, Watch};
use super::step::Step;
use super::world::{CallState, Foreigner, WITHIN, World};

impl World {
    pub(super) fn take(&mut self, step: Step) {
        self.trail.push(step);
        let _told = Told(self.trail.clone());
        if step.is_fault() {
            self.faults_left -= 1;
        }
        match step {
            Step::Tick => self.now += WITHIN,
            Step::EnterForeign | Step::HoldForeign | Step::LeaveForeign => self.move_foreigner(),
            Step::Arrive(process, call) => self.arrive(process, call),
            Step::Leave(process, call) => self.depart(process, call),
            Step::TellGone(process, call) => {
                let caller = &mut self.processes[process].calls[call];
                let id = caller.id.expect("a call in line has an id");
                caller.state = CallState::Done;
                self.change(process, |state, now| state.gone(id, now));
            }
            Step::Receive(process, call) => self.receive(process, call),
            Step::GiveBack(process, call) => self.give_back(process, call),
            Step::Downgrade(process, call) => self.order_downgrade(process, call),
            Step::Delete(process) => self.delete_leftovers(process),
            Step::Create(process) => self.enter(process),
            Step::Tell(process) => self.tell(process),
            Step::Head(process) => self.head(process),
            Step::Withdraw(process) => self.withdraw(process),
            Step::TurnAway(process) => self.turn_away(process),
            Step::EnterAgain(process) => self.contender(process).zxid = None,
            Step::Refuse(process) => self.refuse(process),
            Step::Work(process) => self.work(process),
            Step::Suspend(process) => self.processes[process].is_connected = false,
            Step::Confirm(process) => self.confirm(process),
            Step::Lose(process) => {
                for node in self.nodes.iter_mut().filter(|node| node.is_of(process)) {
                    node.lease.iter_mut().for_each(|lease| lease.is_lost = true);
                }
            }
            Step::EndSession(process) => self.end_session(process),
            Step::Close(process) => {
                self.processes[process].is_closed = true;
                let calls = self.processes[process].state.drain();
                self.answer(process, calls);
                self.rouse(process);
            }
            step => self.change_node(step),
        }
        self.forget();
        self.check();
    }

    /// Changes a node, or what its client knows of it.
    fn change_node(&mut self, step: Step) {
        match step {
            Step::Write(process, call) => {
                let share = self.processes[process].calls[call].share().expect("a holder has a share");
                self.node(share.zxid).lease().writing = Some(share.mode);
            }
            Step::Answer(_, zxid) => self.node(zxid).lease().writing = None,
            Step::Doubt(_, zxid) => {
                self.node(zxid).lease().writing = None;
                self.node(zxid).lease().is_doubtful = true;
            }
            Step::Ask(_, zxid) => self.node(zxid).lease().is_asked = true,
            Step::Fire(_, zxid) => self.fire(zxid),
            Step::Arm(_, zxid) => {
                let node = self.node(zxid);
                let exists = node.exists;
                node.lease().watch = Watch::Own;
                node.lease().is_lost |= !exists;
            }
            Step::NoticeEnd(_, zxid) => self.node(zxid).lease().is_lost = true,
            Step::ApplyDowngrade(_, zxid) => {
                self.node(zxid).lease().downgrade = Downgrade::Applied;
                self.node(zxid).mode = Mode::Shared;
            }
            Step::Expel(_, zxid) => self.node(zxid).exists = false,
            other => panic!("{other:?} changes no node"),
        }
    }
}

impl World {
    fn arrive(&mut self, process: usize, index: usize) {
        let spec = self.processes[process].calls[index].spec;
        let is_refused = self.is_refused(process, spec);
        let (now, state) = (self.now, &mut self.processes[process]);
        let caller = &mut state.calls[index];
        let id = *caller.id.get_or_insert_with(|| state.state.id());
        let (wait, started) = if spec.is_bounded { (WITHIN, now) } else { (Duration::MAX, self.begin) };
        let contention = spec.contention;
        let deadline = *caller.deadline.get_or_insert(Deadline { wait, started, contention });
        caller.state = CallState::InLine;
        let call = Call { id, mode: spec.mode, deadline, caller: index };
        let is_closed = state.is_closed;
        let mut refused = None;
        self.change(process, |state, now| {
            let arrived = if is_closed { Err(call) } else { state.arrive(call, now) };
            arrived.map_err(|call| refused = Some(call)).unwrap_or_default()
        });
        assert_eq!(refused.is_some(), is_refused, "whether a call that does not wait is refused");
        if is_refused {
            self.processes[process].calls[index].state = CallState::Done;
        }
    }

    fn depart(&mut self, process: usize, index: usize) {
        let caller = &mut self.processes[process].calls[index];
        match caller.share() {
            Some(_) => self.give_back(process, index),
            None => caller.state = CallState::Leaving,
        }
    }

    /// Looks at a lease again, for it may be lost by now.
    fn receive(&mut self, process: usize, index: usize) {
        let share = self.processes[process].calls[index].share().expect("a grant was sent");
        if !self.node_of(share.zxid).is_lost() {
            self.processes[process].calls[index].state = CallState::Holding(share);
            return;
        }
        self.processes[process].calls[index].state = CallState::Idle;
        self.change(process, |state, now| state.given_back(share.node, now));
        self.arrive(process, index);
    }

    fn give_back(&mut self, process: usize, index: usize) {
        let call = &mut self.processes[process].calls[index];
        let share = call.share().expect("a holder has a share");
        call.state = CallState::Done;
        self.change(process, |state, now| state.given_back(share.node, now));
    }

    fn order_downgrade(&mut self, process: usize, index: usize) {
        let CallState::Holding(share) = &mut self.processes[process].calls[index].state else { return };
        share.mode = Mode::Shared;
        let share = *share;
        self.node(share.zxid).lease().downgrade = Downgrade::Ordered;
        self.change(process, |state, now| state.downgraded(share.node, now));
    }

    /// The child watch fires: others have come, or the own node is gone.
    fn fire(&mut self, zxid: usize) {
        let now = self.now;
        self.node(zxid).lease().notice_others(now);
        self.node(zxid).lease().watch = Watch::None;
    }

    /// Deletes the nodes that nobody uses.
    pub(super) fn delete_leftovers(&mut self, process: usize) {
        for index in 0..self.nodes.len() {
            let node = &self.nodes[index];
            if node.is_of(process) && node.lease.is_some() && !self.is_used(process, node.zxid) {
                self.nodes[index].exists = false;
            }
        }
    }

    /// The connection is back, and the leases are looked at.
    fn confirm(&mut self, process: usize) {
        self.processes[process].is_connected = true;
        let mut changed = Vec::new();
        for node in self.nodes.iter().filter(|node| node.is_of(process)) {
            let Some(lease) = node.lease else { continue };
            let has_fired = lease.watch == Watch::Children && self.has_changed(node);
            changed.push((node.zxid, node.exists, has_fired));
        }
        for (zxid, exists, has_fired) in changed {
            if has_fired {
                self.fire(zxid);
            }
            self.node(zxid).lease().is_lost |= !exists;
            self.node(zxid).lease().must_know |= has_fired;
        }
    }

    /// The servers end the session, and the client opens another.
    fn end_session(&mut self, process: usize) {
        for node in self.nodes.iter_mut().filter(|node| node.is_of(process)) {
            node.exists = false;
        }
        self.processes[process].is_connected = true;
        if let Some(contender) = &mut self.processes[process].contender {
            contender.zxid = None;
            contender.untold = None;
        }
    }

    fn move_foreigner(&mut self) {
        self.foreigner = match self.foreigner {
            Foreigner::Away(Some(mode)) => {
                self.create(Owner::Foreigner, mode);
                Foreigner::Queued(mode)
            }
            Foreigner::Queued(mode) => Foreigner::Holding(mode),
            _ => {
                let zxid = self.foreign();
                self.node(zxid).exists = false;
                Foreigner::Done
            }
        };
    }

    /// Forgets nodes that are gone and of no use.
    fn forget(&mut self) {
        let is_needed = |node: &Node| {
            let Owner::Process(process) = node.owner else { return node.exists };
            let contender = self.processes[process].contender;
            let contends = contender.is_some_and(|contender| contender.zxid == Some(node.zxid));
            node.exists || contends || self.is_used(process, node.zxid)
        };
        let needed: Vec<_> = self.nodes.iter().map(is_needed).collect();
        let mut needed = needed.into_iter();
        self.nodes.retain(|_| needed.next().unwrap_or(true));
    }
}
