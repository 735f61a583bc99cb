//! The effects of events.

use crate::cohort::call::{Call, Manner, Side};
use crate::cohort::rules::{Rules, Turned};
use crate::cohort::trail::Told;

use super::step::Step;
use super::world::{CallState, Node, WITHIN, World};

/// A number of steps that exceeds any recovery.
pub(super) const LONGEST: usize = 400;

impl World {
    /// Performs what clients do promptly.
    pub(super) fn settle(&mut self) {
        for _ in 0..LONGEST {
            match self.steps().into_iter().find(|step| step.is_work()) {
                Some(step) => self.take(step),
                None => return,
            }
        }
        panic!("the clients do not come to rest");
    }

    pub(super) fn take(&mut self, step: Step) {
        self.trail.push(step);
        let _told = Told(self.trail.clone());
        if step.is_fault() {
            self.faults_left -= 1;
        }
        match step {
            Step::Tick => self.now += WITHIN,
            Step::Arrive(client, call) => self.arrive(client, call),
            Step::Leave(client, call) => match self.clients[client].calls[call].share() {
                Some(_) => self.give_back(client, call),
                None => self.clients[client].calls[call].state = CallState::Leaving,
            },
            Step::TellGone(client, call) => {
                let caller = &mut self.clients[client].calls[call];
                let id = caller.id.expect("a call in line has an id");
                caller.state = CallState::Done;
                self.change(client, |pool, now| pool.gone(id, now));
            }
            Step::Receive(client, call) => self.receive(client, call),
            Step::GiveBack(client, call) => self.give_back(client, call),
            Step::Write(client, call) => {
                let share = self.clients[client].calls[call].share().expect("a holder has a share");
                self.tenure(share.zxid).is_writing = true;
            }
            Step::Answer(zxid) => self.tenure(zxid).is_writing = false,
            Step::Doubt(zxid) => {
                self.tenure(zxid).is_writing = false;
                self.tenure(zxid).is_doubtful = true;
            }
            Step::Ask(zxid) => self.tenure(zxid).is_asked = true,
            Step::Fire(zxid) => {
                self.tenure(zxid).has_fired = true;
                self.tenure(zxid).is_unwatched = true;
            }
            Step::Arm(zxid) => {
                let exists = self.node(zxid).exists;
                self.tenure(zxid).is_unwatched = false;
                self.tenure(zxid).is_lost |= !exists;
            }
            Step::NoticeEnd(zxid) => self.tenure(zxid).is_lost = true,
            Step::Expel(zxid) => self.delete(zxid),
            Step::Delete(client) => self.delete_leftovers(client),
            Step::Create(client, contender) => self.create(client, contender),
            Step::Head(client, contender) => self.head(client, contender),
            Step::Withdraw(client, contender) => self.withdraw(client, contender),
            Step::EnterAgain(client, contender) => self.clients[client].contenders[contender].zxid = None,
            Step::Refuse(client, contender) => self.refuse(client, contender),
            Step::Work(client) => self.work(client),
            Step::Suspend(client) => self.clients[client].is_connected = false,
            Step::Confirm(client) => self.confirm(client),
            Step::EndSession(client) => self.end_session(client),
            Step::Close(client) => {
                self.clients[client].is_closed = true;
                let calls = self.clients[client].pool.close();
                self.answer(client, calls);
                self.change(client, |pool, now| pool.serve(now));
            }
        }
        self.forget();
        self.check();
    }

    fn arrive(&mut self, client: usize, index: usize) {
        let now = self.now;
        let state = &mut self.clients[client];
        let caller = &mut state.calls[index];
        let id = *caller.id.get_or_insert_with(|| state.pool.id());
        caller.state = CallState::InLine;
        let call =
            Call { id, side: Side::Exclusive, manner: Manner::Wait, deadline: None, caller: Some(index) };
        self.show(client);
        match self.clients[client].pool.arrive(call, now) {
            Ok(served) => self.deliver(client, served),
            Err(turned) => {
                assert_eq!((turned, self.clients[client].is_closed), (Turned::Closed, true));
                self.clients[client].calls[index].state = CallState::Done;
            }
        }
        self.rouse(client);
    }

    /// Looks at a lease again, for it may be lost by now.
    fn receive(&mut self, client: usize, index: usize) {
        let share = self.clients[client].calls[index].share().expect("a grant was sent");
        if !self.node(share.zxid).is_lost() {
            self.clients[client].calls[index].state = CallState::Holding(share);
            return;
        }
        self.clients[client].calls[index].state = CallState::Idle;
        self.change(client, |pool, now| pool.given_back(share.tenancy, now));
        self.arrive(client, index);
    }

    fn give_back(&mut self, client: usize, index: usize) {
        let share = self.clients[client].calls[index].share().expect("a holder has a share");
        self.clients[client].calls[index].state = CallState::Done;
        self.change(client, |pool, now| pool.given_back(share.tenancy, now));
    }

    pub(super) fn delete(&mut self, zxid: usize) {
        for node in self.nodes.iter_mut().filter(|node| node.zxid == zxid) {
            node.exists = false;
        }
    }

    /// Deletes the nodes that nobody uses.
    pub(super) fn delete_leftovers(&mut self, client: usize) {
        for index in 0..self.nodes.len() {
            let node = &self.nodes[index];
            if node.client == client && node.tenure.is_some() && !self.is_used(client, node.zxid) {
                self.nodes[index].exists = false;
            }
        }
    }

    /// The connection is back, and the leases are looked at.
    fn confirm(&mut self, client: usize) {
        self.clients[client].is_connected = true;
        for node in self.nodes.iter_mut().filter(|node| node.client == client) {
            let exists = node.exists;
            node.tenure.iter_mut().for_each(|tenure| tenure.is_lost |= !exists);
        }
    }

    /// The servers end the session, and the client opens another.
    fn end_session(&mut self, client: usize) {
        for node in self.nodes.iter_mut().filter(|node| node.client == client) {
            node.exists = false;
            node.tenure.iter_mut().for_each(|tenure| tenure.is_lost = true);
        }
        self.clients[client].is_connected = true;
        for contender in &mut self.clients[client].contenders {
            contender.zxid = None;
        }
    }

    /// Forgets nodes that are gone and of no use.
    fn forget(&mut self) {
        let is_needed = |node: &Node| {
            let contenders = &self.clients[node.client].contenders;
            node.exists
                || contenders.iter().any(|contender| contender.zxid == Some(node.zxid))
                || self.is_used(node.client, node.zxid)
        };
        let needed: Vec<_> = self.nodes.iter().map(is_needed).collect();
        let mut needed = needed.into_iter();
        self.nodes.retain(|_| needed.next().unwrap_or(true));
    }
}
