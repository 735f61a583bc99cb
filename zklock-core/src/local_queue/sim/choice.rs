//! The events that are possible in a state.

use crate::deadline::Contention;
use crate::local_queue::held::Mode;

use super::node::{Downgrade, Node, Owner, Watch};
use super::setup::Choice;
use super::step::Step;
use super::world::{CallState, Caller, Foreigner, Task, WITHIN, World};

impl World {
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for process in 0..self.processes.len() {
            self.add_calls(process, &mut steps);
            for node in self.nodes.iter().filter(|node| node.is_of(process)) {
                self.add_node(process, node, &mut steps);
            }
            self.add_process(process, &mut steps);
            self.add_contender(process, &mut steps);
        }
        match self.foreigner {
            Foreigner::Away(Some(_)) => steps.push(Step::EnterForeign),
            Foreigner::Queued(_) if self.is_head(self.foreign()) => steps.push(Step::HoldForeign),
            Foreigner::Holding(_) => steps.push(Step::LeaveForeign),
            Foreigner::Away(None) | Foreigner::Queued(_) | Foreigner::Done => {}
        }
        if self.now < self.begin + WITHIN {
            steps.push(Step::Tick);
        }
        steps.retain(|step| self.faults_left > 0 || !step.is_fault());
        steps
    }

    fn add_calls(&self, process: usize, steps: &mut Vec<Step>) {
        let may = |choice| self.setup.choices.contains(&choice);
        for (index, call) in self.processes[process].calls.iter().enumerate() {
            match call.state {
                CallState::Idle => {
                    // Calls that are alike come in one order.
                    let earlier = &self.processes[process].calls[..index];
                    let is_first = |other: &Caller| other.spec != call.spec || other.state != CallState::Idle;
                    if earlier.iter().all(is_first) {
                        steps.push(Step::Arrive(process, index));
                    }
                }
                CallState::InLine if may(Choice::Leave) => steps.push(Step::Leave(process, index)),
                CallState::InLine | CallState::Done => {}
                CallState::Leaving => steps.push(Step::TellGone(process, index)),
                CallState::Sent(_) => {
                    steps.push(Step::Receive(process, index));
                    if may(Choice::Leave) {
                        steps.push(Step::Leave(process, index));
                    }
                }
                CallState::Holding(share) => {
                    steps.push(Step::GiveBack(process, index));
                    let node = self.node_of(share.zxid);
                    let lease = node.lease.expect("a holder has a lease");
                    if may(Choice::Write) && lease.writing.is_none() && !lease.is_lost {
                        steps.push(Step::Write(process, index));
                    }
                    let is_writer = share.mode == Mode::Exclusive && !lease.is_lost;
                    if may(Choice::Downgrade) && is_writer {
                        steps.push(Step::Downgrade(process, index));
                    }
                }
            }
        }
    }

    fn add_node(&self, process: usize, node: &Node, steps: &mut Vec<Step>) {
        if node.exists {
            steps.push(Step::Expel(process, node.zxid));
        }
        let Some(lease) = node.lease else { return };
        let is_connected = self.processes[process].is_connected;
        let is_alive = is_connected && !lease.is_lost;
        if lease.writing.is_some() {
            if is_connected {
                steps.push(Step::Answer(process, node.zxid));
            }
            steps.push(Step::Doubt(process, node.zxid));
        }
        if !lease.is_asked {
            steps.push(Step::Ask(process, node.zxid));
        }
        if is_alive && lease.watch == Watch::Children && self.has_changed(node) {
            steps.push(Step::Fire(process, node.zxid));
        }
        if is_alive && lease.watch == Watch::None {
            steps.push(Step::Arm(process, node.zxid));
        }
        if is_alive && lease.watch == Watch::Own && !node.exists {
            steps.push(Step::NoticeEnd(process, node.zxid));
        }
        if is_alive && lease.downgrade == Downgrade::Ordered {
            steps.push(Step::ApplyDowngrade(process, node.zxid));
        }
    }

    pub(super) fn has_changed(&self, node: &Node) -> bool {
        !node.exists || self.next_zxid > node.seen + 1
    }

    fn add_process(&self, index: usize, steps: &mut Vec<Step>) {
        let process = &self.processes[index];
        if process.is_connected {
            if self.has_leftovers(index) {
                steps.push(Step::Delete(index));
            }
            steps.push(Step::Suspend(index));
        } else {
            let is_held = |node: &Node| node.is_of(index) && node.lease.is_some_and(|lease| !lease.is_lost);
            steps.push(Step::Confirm(index));
            steps.push(match self.nodes.iter().any(is_held) {
                true => Step::Lose(index),
                false => Step::EndSession(index),
            });
        }
        if !process.is_closed {
            steps.push(Step::Close(index));
        }
        if self.has_work(index) {
            steps.push(Step::Work(index));
        }
    }

    pub(super) fn has_leftovers(&self, process: usize) -> bool {
        let is_left = |node: &Node| {
            node.is_of(process) && node.exists && node.lease.is_some() && !self.is_used(process, node.zxid)
        };
        self.nodes.iter().any(is_left)
    }

    fn has_work(&self, index: usize) -> bool {
        let process = &self.processes[index];
        match &process.task {
            Task::Absent => false,
            Task::Awake => true,
            Task::Asleep(until, since) => {
                self.show(index);
                process.is_roused
                    || until.is_some_and(|until| until <= self.now)
                    || process.state.has_news(*since)
            }
        }
    }

    fn add_contender(&self, index: usize, steps: &mut Vec<Step>) {
        let process = &self.processes[index];
        let Some(contender) = process.contender else { return };
        let Some(zxid) = contender.zxid else {
            if contender.is_cancelled {
                steps.push(Step::Withdraw(index));
            }
            if process.is_connected {
                steps.push(Step::Create(index));
            }
            steps.push(Step::Refuse(index));
            return;
        };
        if !process.is_connected {
            return;
        }
        if contender.untold.is_some() {
            // A cancellation is heeded after this.
            steps.push(Step::Tell(index));
            return;
        }
        if contender.is_cancelled {
            steps.push(Step::Withdraw(index));
        } else if contender.entry.contention == Contention::Leave
            && self.node_of(zxid).exists
            && !self.is_head(zxid)
        {
            steps.push(Step::TurnAway(index));
        } else if !self.node_of(zxid).exists {
            steps.push(Step::EnterAgain(index));
        }
        if self.is_head(zxid) {
            steps.push(Step::Head(index));
        }
    }

    pub(super) fn foreign(&self) -> usize {
        let node = self.nodes.iter().find(|node| node.owner == Owner::Foreigner);
        node.expect("the foreigner has a node").zxid
    }
}
