//! The events that are possible in a state.

use crate::cohort::rules::Rules;
use crate::cohort::tenancy::{Ready, TenancyId};

use super::step::Step;
use super::world::{CallState, Caller, Choice, Fault, Node, Task, WITHIN, World};

impl World {
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for client in 0..self.clients.len() {
            self.add_calls(client, &mut steps);
            for node in self.nodes.iter().filter(|node| node.client == client) {
                self.add_node(client, node, &mut steps);
            }
            self.add_client(client, &mut steps);
            self.add_contenders(client, &mut steps);
        }
        if self.now < self.begin + self.setup.ticks * WITHIN {
            steps.push(Step::Tick);
        }
        steps
    }

    fn add_calls(&self, client: usize, steps: &mut Vec<Step>) {
        let may = |choice| self.setup.choices.contains(&choice);
        let calls = &self.clients[client].calls;
        for (index, call) in calls.iter().enumerate() {
            match call.state {
                // The calls are alike, and come in one order.
                CallState::Idle if calls[..index].iter().all(|call| call.state != CallState::Idle) => {
                    steps.push(Step::Arrive(client, index));
                }
                CallState::InLine if may(Choice::Leave) => steps.push(Step::Leave(client, index)),
                CallState::Idle | CallState::InLine | CallState::Done => {}
                CallState::Leaving => steps.push(Step::TellGone(client, index)),
                CallState::Sent(_) => {
                    steps.push(Step::Receive(client, index));
                    if may(Choice::Leave) {
                        steps.push(Step::Leave(client, index));
                    }
                }
                CallState::Holding(share) => {
                    steps.push(Step::GiveBack(client, index));
                    let tenure = self.node(share.zxid).tenure.expect("a holder has a tenure");
                    if may(Choice::Write) && !tenure.is_writing && !tenure.is_lost {
                        steps.push(Step::Write(client, index));
                    }
                }
            }
        }
    }

    fn add_node(&self, client: usize, node: &Node, steps: &mut Vec<Step>) {
        if node.exists && self.allows(Fault::Outsider) {
            steps.push(Step::Expel(node.zxid));
        }
        let Some(tenure) = node.tenure else { return };
        let is_connected = self.clients[client].is_connected;
        if tenure.is_writing {
            if is_connected {
                steps.push(Step::Answer(node.zxid));
            }
            if self.allows(Fault::UnknownWrite) {
                steps.push(Step::Doubt(node.zxid));
            }
        }
        if !tenure.is_asked && self.allows(Fault::Revoke) {
            steps.push(Step::Ask(node.zxid));
        }
        if is_connected && !tenure.is_lost {
            if tenure.is_unwatched {
                steps.push(Step::Arm(node.zxid));
            } else if !node.exists {
                steps.push(Step::NoticeEnd(node.zxid));
            } else if !tenure.has_fired && self.next_zxid > node.zxid + 1 {
                steps.push(Step::Fire(node.zxid));
            }
        }
    }

    fn add_client(&self, index: usize, steps: &mut Vec<Step>) {
        let client = &self.clients[index];
        if client.is_connected {
            let is_left = |node: &Node| {
                node.client == index
                    && node.exists
                    && node.tenure.is_some()
                    && !self.is_used(index, node.zxid)
            };
            if self.nodes.iter().any(is_left) {
                steps.push(Step::Delete(index));
            }
            if self.allows(Fault::Suspend) {
                steps.push(Step::Suspend(index));
            }
        } else {
            steps.push(Step::Confirm(index));
            steps.push(Step::EndSession(index));
        }
        if !client.is_closed && self.allows(Fault::Close) {
            steps.push(Step::Close(index));
        }
        if self.has_work(index) {
            steps.push(Step::Work(index));
        }
    }

    pub(super) fn has_work(&self, index: usize) -> bool {
        let client = &self.clients[index];
        match &client.task {
            Task::Absent => false,
            Task::Awake => true,
            Task::Asleep { until, parked } => {
                client.is_roused
                    || until.is_some_and(|until| until <= self.now)
                    || parked.iter().any(|tenancy| self.is_passable(index, *tenancy))
            }
        }
    }

    /// Returns whether it is known what becomes of a parked permit.
    fn is_passable(&self, client: usize, tenancy: TenancyId) -> bool {
        let client = &self.clients[client];
        if !client.pool.is_vacant(tenancy) {
            return false;
        }
        let zxid = client.pool.lease(tenancy).expect("a parked permit has a lease").zxid;
        let look = self.node(zxid).tenure.expect("a parked permit has a tenure").look(client.is_connected);
        look.ready == Ready::Never || (look.ready == Ready::Now && !look.is_writing)
    }

    fn add_contenders(&self, index: usize, steps: &mut Vec<Step>) {
        let client = &self.clients[index];
        for (nth, contender) in client.contenders.iter().enumerate() {
            let Some(zxid) = contender.zxid else {
                if contender.is_cancelled {
                    steps.push(Step::Withdraw(index, nth));
                } else if client.is_connected {
                    steps.push(Step::Create(index, nth));
                }
                if self.allows(Fault::Refuse) {
                    steps.push(Step::Refuse(index, nth));
                }
                continue;
            };
            if !client.is_connected {
                continue;
            }
            if contender.is_cancelled {
                steps.push(Step::Withdraw(index, nth));
            } else if !self.node(zxid).exists {
                steps.push(Step::EnterAgain(index, nth));
            }
            if self.is_head(zxid) {
                steps.push(Step::Head(index, nth));
            }
        }
    }

    /// Returns the calls that wait, in line.
    pub(super) fn in_line(&self, client: usize) -> impl Iterator<Item = &Caller> {
        self.clients[client].calls.iter().filter(|call| call.is_in_line())
    }
}
