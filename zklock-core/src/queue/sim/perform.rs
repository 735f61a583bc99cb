//! Steps: which are possible in a world, and the world that each leads to.

use super::server::Server;
use super::step::Step;
use super::world::{Cancelled, Fence, Late, Peer, Session, World, id_of};
use crate::queue::acquisition::{Acquisition, Action, End, Event, Node, Sight};
use crate::queue::contender::Contender;
use crate::queue::predicate::Role;
use crate::queue::turn::Obstacle;

impl World {
    /// Returns the world after `step` of peer `index`, or `None` if that step is impossible.
    pub(super) fn after(&self, index: usize, step: Step) -> Option<Self> {
        // Most steps are impossible in most worlds, and a world is expensive to copy.
        if !self.may_take(index, step) {
            return None;
        }
        let mut world = self.clone();
        world.perform(index, step).then_some(world)
    }

    /// Tells whether the state of the peer and the budget allow the step. The server may still rule it out.
    fn may_take(&self, index: usize, step: Step) -> bool {
        let Peer { action: Some(action), session, late, fence, cancelled, .. } = &*self.peers[index] else {
            return step == Step::EnterAgain && self.may_enter_again(index);
        };
        if step.is_fault() && self.faults_left == 0 {
            return false;
        }
        match step {
            Step::NoticeExpiry => *session != Session::Alive,
            Step::Cancel => *cancelled == Cancelled::No,
            Step::ReplaceSession => *session == Session::Expired,
            _ if matches!(session, Session::Expired | Session::ReplacementExpired) => false,
            Step::Deliver => !matches!(action, Action::Hold(_) | Action::Finish(_)),
            // A contender of a semaphore enters an existing queue only.
            Step::Found | Step::DelayFounding | Step::LoseReplyToFounding => {
                matches!(action, Action::Enter(_)) && self.role_of(index) != Role::Permit
            }
            Step::Skip => *cancelled == Cancelled::Yes && is_request(action),
            Step::LoseRequest | Step::LoseReply | Step::Refuse => is_request(action),
            Step::DelayCreate | Step::LoseListReply => matches!(action, Action::Enter(_)),
            Step::ApplyLateCreate => late.is_some(),
            Step::SpuriousWatchEvent => matches!(action, Action::Watch(_)),
            Step::OutsiderDeletes => self.own_node(index).is_some(),
            Step::NoticeDeletion => matches!(action, Action::Hold(_)) && self.own_node(index).is_none(),
            Step::Expire => true,
            Step::LocateTooEarly => {
                matches!(action, Action::Locate(_)) && late.is_some() && *fence == Fence::Tight
            }
            Step::OutsiderDeletesParent => self.server.has_parent() && self.server.nodes().is_empty(),
            Step::EnterAgain => false,
            Step::Downgrade => {
                let is_writer = self.role_of(index) == Role::Write && *cancelled == Cancelled::No;
                is_writer && matches!(action, Action::Hold(_))
            }
        }
    }

    pub(super) fn take(&mut self, index: usize, step: Step) -> bool {
        self.may_take(index, step) && self.perform(index, step)
    }

    /// Performs a step that the peer may take, and tells whether the server allows it.
    fn perform(&mut self, index: usize, step: Step) -> bool {
        if step.is_fault() {
            self.faults_left -= 1;
        }
        if step == Step::EnterAgain {
            return self.enter_again(index);
        }
        let action = self.peers[index].action.clone().expect("a peer without an action takes no other step");
        let has_moved = self.perform_on(index, step, action);
        if step.breaks_the_connection() {
            self.peer(index).memory.forget();
        }
        has_moved
    }

    fn perform_on(&mut self, index: usize, step: Step, action: Action) -> bool {
        match step {
            Step::NoticeExpiry => self.report(index, Event::SessionLost),
            Step::Cancel => {
                self.peer(index).cancelled = Cancelled::Yes;
                self.report(index, Event::Cancel)
            }
            Step::Deliver => self.deliver(index, &action),
            Step::Found => {
                let event = self.create_queue(index, &action);
                self.report(index, event)
            }
            Step::Skip => self.report(index, Event::Skipped),
            Step::LoseRequest => self.report(index, Event::Unknown),
            Step::DelayCreate => {
                if let Action::Enter(id) = action {
                    self.peer(index).late = Some(Late::Create(id));
                }
                self.report(index, Event::Unknown)
            }
            Step::DelayFounding => {
                if let Action::Enter(id) = action {
                    self.peer(index).late = Some(Late::CreateQueue(id));
                }
                self.report(index, Event::Unknown)
            }
            Step::LoseReplyToFounding => {
                self.create_queue(index, &action);
                self.report(index, Event::Unknown)
            }
            Step::LoseReply => {
                self.apply(index, &action);
                self.report(index, Event::Unknown)
            }
            Step::LoseListReply => self.lose_list_reply(index, &action),
            Step::ApplyLateCreate => self.apply_late(index),
            Step::SpuriousWatchEvent => self.report(index, Event::PredecessorGone),
            Step::OutsiderDeletes => self.expel(index),
            Step::NoticeDeletion => self.report(index, Event::OwnNodeGone),
            Step::Expire => self.expire(index),
            Step::ReplaceSession => {
                self.server.replace_session(index);
                self.peer(index).session = Session::Replaced;
                true
            }
            Step::Refuse => self.report(index, Event::Refused),
            Step::LocateTooEarly => {
                self.peer(index).fence = Fence::Leaky;
                self.deliver(index, &action)
            }
            Step::Downgrade => self.report(index, Event::Downgrade),
            Step::OutsiderDeletesParent => {
                self.server.outsider_deletes_parent();
                (0..self.peers.len()).for_each(|index| self.peer(index).memory.miss_the_parent());
                true
            }
            Step::EnterAgain => false,
        }
    }

    fn may_enter_again(&self, index: usize) -> bool {
        let peer = &self.peers[index];
        peer.session == Session::Alive && peer.late.is_none() && !peer.later.is_empty()
    }

    fn enter_again(&mut self, index: usize) -> bool {
        let peer = self.peer(index);
        let predicate = peer.later.pop().expect("another acquisition follows");
        let (machine, action) =
            Acquisition::start(id_of(index, peer.later.len()), predicate, Server::session_of(index));
        (peer.machine, peer.action, peer.cancelled) = (machine, Some(action), Cancelled::No);
        peer.memory.enter();
        true
    }

    fn sight(&mut self, index: usize) -> Sight {
        let children = self.server.list().unwrap_or_default();
        let peer = self.peer(index);
        let sight = peer.memory.sight(children);
        if !peer.later.is_empty() {
            peer.memory.watch();
        }
        sight
    }

    fn report(&mut self, index: usize, event: Event) -> bool {
        let peer = self.peer(index);
        match peer.machine.on(event) {
            Some(Action::Finish(end)) => {
                peer.action = None;
                peer.memory.leave(peer.machine.last_number());
                self.check_end(index, &end);
                let is_replaced = self.peers[index].session == Session::Replaced;
                if end == End::Abandoned || (is_replaced && end == End::Lost) {
                    // A node that cannot be deleted ends with its session.
                    self.expire(index);
                }
            }
            Some(action) => peer.action = Some(action),
            None => {}
        }
        true
    }

    fn lose_list_reply(&mut self, index: usize, action: &Action) -> bool {
        match self.apply(index, action) {
            Some(Event::Entered(node, _)) => self.report(index, Event::Entered(node, Sight::Nothing)),
            _ => false,
        }
    }

    fn apply_late(&mut self, index: usize) -> bool {
        let role = self.role_of(index);
        match self.peer(index).late.take() {
            Some(Late::Create(id)) => self.server.create(index, id, role).is_some(),
            Some(Late::CreateQueue(id)) => self.server.create_queue(index, id, role).is_some(),
            None => false,
        }
    }

    fn deliver(&mut self, index: usize, action: &Action) -> bool {
        match self.apply(index, action) {
            Some(event) => self.report(index, event),
            None => false,
        }
    }

    /// Creates the queue's node together with the contender's.
    fn create_queue(&mut self, index: usize, action: &Action) -> Event {
        let Action::Enter(id) = action else { panic!("{action:?} creates no contender") };
        self.peer(index).memory.forget();
        match self.server.create_queue(index, *id, self.role_of(index)) {
            Some(node) => Event::Entered(node, Sight::Alone),
            None => Event::QueueExists,
        }
    }

    /// Performs an action on the server and returns its event, or `None` if the peer has to wait.
    fn apply(&mut self, index: usize, action: &Action) -> Option<Event> {
        if matches!(action, Action::Locate(_)) && self.peers[index].fence == Fence::Tight {
            // The sync in front of the list fences the create of an older connection.
            self.peer(index).late = None;
        }
        match action {
            Action::Prepare => {
                self.server.create_parent(index);
                Some(Event::Prepared)
            }
            Action::Enter(id) => Some(match self.server.create(index, *id, self.role_of(index)) {
                Some(node) => Event::Entered(node, self.sight(index)),
                None => {
                    self.peer(index).memory.forget();
                    Event::ParentMissing
                }
            }),
            Action::Locate(id) => {
                let children = self.server.list().unwrap_or_default();
                let mine = |name: &String| Contender::parse(name).is_some_and(|c| c.is_of(*id));
                let mine = children.into_iter().filter(mine).filter_map(|name| self.server.stat(&name));
                let mine = mine.collect::<Vec<_>>();
                // As the driver does, which asks whose the nodes of the connection are.
                let is_own = |node: &Node| node.owner == Server::session_of(index);
                Some(if mine.iter().all(is_own) { Event::Located(mine) } else { Event::SessionLost })
            }
            Action::List => Some(Event::Listed(self.server.list().unwrap_or_default())),
            Action::Watch(ahead) => {
                let is_gone = match &ahead.obstacle {
                    // The end of the own node is noticed first.
                    Obstacle::Sole(name) if self.own_node(index).is_some() => {
                        return self.server.stat(name).is_none().then_some(Event::Inherited);
                    }
                    Obstacle::Contender(name) | Obstacle::Sole(name) => self.server.stat(name).is_none(),
                    Obstacle::Anyone => !self.is_behind(index),
                };
                is_gone.then_some(Event::PredecessorGone)
            }
            Action::Downgrade(replacement) => Some(match self.server.replace(index, replacement) {
                true => Event::Downgraded(replacement.new.clone()),
                false => Event::OwnNodeGone,
            }),
            Action::Delete(names) => {
                names.iter().for_each(|name| self.server.delete(index, name));
                Some(Event::Deleted)
            }
            Action::Hold(_) | Action::Finish(_) => None,
        }
    }

    fn expel(&mut self, index: usize) -> bool {
        if let Some(node) = self.own_node(index) {
            self.server.outsider_deletes(&node.name);
        }
        true
    }

    /// Ends the session that the peer has at present.
    fn expire(&mut self, index: usize) -> bool {
        let peer = self.peer(index);
        peer.late = None;
        match peer.session {
            Session::Replaced => {
                peer.session = Session::ReplacementExpired;
                self.server.expire_replacement(index);
            }
            _ => {
                peer.session = Session::Expired;
                self.server.expire(index);
            }
        }
        true
    }
}

fn is_request(action: &Action) -> bool {
    !matches!(action, Action::Hold(_) | Action::Finish(_))
}
