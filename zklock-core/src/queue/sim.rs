//! An exhaustive simulation: every schedule of a few contenders, with every fault at every step.
//!
//! The world consists of the contenders' state machines and of a server, which is the model inside
//! the embedded server. From each state, every event that could come next is tried: a request or
//! its reply is lost or refused, a lost create is applied late, even after the sync that should
//! fence it, an outsider deletes a node or the parent, a session expires, a caller cancels. A
//! budget limits the number of faults, so the state space is finite and is explored completely.

use std::rc::Rc;

use rustc_hash::FxHashSet;
use uuid::Uuid;

use super::acquisition::{Acquisition, Action, End, Event, Node, Sight};
use super::claim::{Claim, Role};
use super::contender::{Contender, ContenderId};
use super::turn::{self, Obstacle, Turn};
use numbers::Memory;
use server::{Server, View};

mod numbers;
mod server;

#[derive(Clone)]
struct World {
    server: Server,
    /// Shared with the worlds that this one was cloned from, and copied on write.
    peers: Vec<Rc<Peer>>,
    faults_left: usize,
}

/// The part of a world that distinguishes it from others.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    server: Rc<View>,
    peers: Vec<Rc<Peer>>,
    faults_left: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Peer {
    machine: Acquisition,
    /// The current action; `None` after the end.
    action: Option<Action>,
    session: Session,
    /// A create from a broken connection that the server has not applied yet.
    late: Option<ContenderId>,
    fence: Fence,
    cancelled: Cancelled,
    memory: Memory,
    link: Link,
    /// The claims of the acquisitions that follow this one, the next one last.
    later: Vec<Claim>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Session {
    Alive,
    Expired,
}

/// Whether the connection is still the one on which the peer was told what is in front of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Link {
    SinceTheList,
    Restored,
}

/// Whether a sync failed to fence a late create, which a correct server does not do.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Fence {
    Tight,
    Leaky,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Cancelled {
    No,
    Yes,
}

/// An event that can happen to one peer next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Deliver,
    LoseRequest,
    DelayCreate,
    LoseReply,
    LoseListReply,
    ApplyLateCreate,
    SpuriousWatchEvent,
    OutsiderDeletes,
    NoticeDeletion,
    Expire,
    NoticeExpiry,
    Cancel,
    Skip,
    Refuse,
    LocateTooEarly,
    OutsiderDeletesParent,
    Downgrade,
    EnterAgain,
    Reconnect,
}

const STEPS: [Step; 19] = [
    Step::Deliver,
    Step::LoseRequest,
    Step::DelayCreate,
    Step::LoseReply,
    Step::LoseListReply,
    Step::ApplyLateCreate,
    Step::SpuriousWatchEvent,
    Step::OutsiderDeletes,
    Step::NoticeDeletion,
    Step::Expire,
    Step::NoticeExpiry,
    Step::Cancel,
    Step::Skip,
    Step::Refuse,
    Step::LocateTooEarly,
    Step::OutsiderDeletesParent,
    Step::Downgrade,
    Step::EnterAgain,
    Step::Reconnect,
];

impl Step {
    /// Tells whether the peer's connection breaks, and another one takes its place.
    fn breaks_the_connection(self) -> bool {
        matches!(
            self,
            Self::LoseRequest | Self::DelayCreate | Self::LoseReply | Self::LoseListReply | Self::Reconnect
        )
    }

    /// Tells whether the step takes one fault from the budget.
    fn is_fault(self) -> bool {
        match self {
            Self::LoseRequest
            | Self::DelayCreate
            | Self::LoseReply
            | Self::LoseListReply
            | Self::SpuriousWatchEvent
            | Self::OutsiderDeletes
            | Self::Expire
            | Self::Refuse
            | Self::LocateTooEarly
            | Self::OutsiderDeletesParent
            | Self::Reconnect => true,
            Self::Deliver
            | Self::ApplyLateCreate
            | Self::NoticeDeletion
            | Self::NoticeExpiry
            | Self::Cancel
            | Self::Skip
            | Self::Downgrade
            | Self::EnterAgain => false,
        }
    }
}

impl World {
    /// Returns a world in which each peer makes acquisitions with these claims, one after the other.
    fn new(claims: &[&[Claim]], faults: usize) -> Self {
        let peer = |(index, claims): (usize, &&[Claim])| {
            let mut later: Vec<_> = claims.iter().rev().cloned().collect();
            let claim = later.pop().expect("each peer makes an acquisition");
            let (machine, action) =
                Acquisition::start(id_of(index, later.len()), claim, Server::session_of(index));
            let session = Session::Alive;
            let (late, fence, cancelled, memory) = (None, Fence::Tight, Cancelled::No, Memory::default());
            let link = Link::SinceTheList;
            Rc::new(Peer {
                machine,
                action: Some(action),
                session,
                late,
                fence,
                cancelled,
                memory,
                link,
                later,
            })
        };
        let peers = claims.iter().enumerate().map(peer).collect::<Vec<_>>();
        Self { server: Server::new(peers.len()), peers, faults_left: faults }
    }

    fn key(&self) -> Key {
        Key { server: self.server.view(), peers: self.peers.clone(), faults_left: self.faults_left }
    }

    /// Returns the world after `step` of peer `index`, or `None` if that step is impossible.
    fn after(&self, index: usize, step: Step) -> Option<Self> {
        // Most steps are impossible in most worlds, and a world is expensive to copy.
        if !self.may_take(index, step) {
            return None;
        }
        let mut world = self.clone();
        world.perform(index, step).then_some(world)
    }

    /// Tells whether the state of the peer and the budget allow the step. The server may still rule it out.
    fn may_take(&self, index: usize, step: Step) -> bool {
        let Peer { action: Some(action), session, late, fence, cancelled, link, .. } = &*self.peers[index]
        else {
            return step == Step::EnterAgain && self.may_enter_again(index);
        };
        if step.is_fault() && self.faults_left == 0 {
            return false;
        }
        match step {
            Step::NoticeExpiry => *session == Session::Expired,
            Step::Cancel => *cancelled == Cancelled::No,
            _ if *session == Session::Expired => false,
            Step::Deliver => !matches!(action, Action::Hold(_) | Action::Finish(_)),
            Step::Skip => *cancelled == Cancelled::Yes && is_request(action),
            Step::LoseRequest | Step::LoseReply | Step::Refuse => is_request(action),
            Step::DelayCreate | Step::LoseListReply => matches!(action, Action::Enter(_)),
            Step::ApplyLateCreate => late.is_some(),
            Step::SpuriousWatchEvent => matches!(action, Action::Watch(_)),
            Step::OutsiderDeletes => self.own_node(index).is_some(),
            Step::NoticeDeletion => {
                matches!(action, Action::Watch(_) | Action::Hold(_)) && self.own_node(index).is_none()
            }
            Step::Expire => true,
            Step::LocateTooEarly => {
                matches!(action, Action::Locate(_)) && late.is_some() && *fence == Fence::Tight
            }
            Step::OutsiderDeletesParent => self.server.has_parent() && self.server.nodes().is_empty(),
            Step::EnterAgain => false,
            // Where requests are under way, they are lost, and another step.
            Step::Reconnect => match action {
                Action::Watch(ahead) => {
                    matches!(ahead.obstacle, Obstacle::Sole(_)) && *link == Link::SinceTheList
                }
                _ => false,
            },
            Step::Downgrade => {
                let is_writer = self.role_of(index) == Role::Write && *cancelled == Cancelled::No;
                is_writer && matches!(action, Action::Hold(_))
            }
        }
    }

    fn take(&mut self, index: usize, step: Step) -> bool {
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
            Step::Skip => self.report(index, Event::Skipped),
            Step::LoseRequest => self.report(index, Event::Unknown),
            Step::DelayCreate => {
                if let Action::Enter(id) = action {
                    self.peer(index).late = Some(id);
                }
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
            Step::Reconnect => {
                self.peer(index).link = Link::Restored;
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
        let claim = peer.later.pop().expect("another acquisition follows");
        let (machine, action) =
            Acquisition::start(id_of(index, peer.later.len()), claim, Server::session_of(index));
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

    fn peer(&mut self, index: usize) -> &mut Peer {
        Rc::make_mut(&mut self.peers[index])
    }

    fn report(&mut self, index: usize, event: Event) -> bool {
        let peer = self.peer(index);
        peer.link = Link::SinceTheList;
        match peer.machine.on(event) {
            Some(Action::Finish(end)) => {
                peer.action = None;
                peer.memory.leave(peer.machine.last_number());
                self.check_end(index, end);
            }
            Some(action) => peer.action = Some(action),
            None => {}
        }
        true
    }

    fn check_end(&mut self, index: usize, end: End) {
        let peer = &self.peers[index];
        match (end, peer.session) {
            (End::Withdrawn | End::Unnumbered | End::Mixed(_), Session::Alive) => {
                let is_fenced = peer.late.is_none() || peer.fence == Fence::Leaky;
                assert!(is_fenced, "a contender ended before its create was fenced");
                assert_eq!(self.count_nodes_of(index), 0, "a contender that ended left a node");
            }
            // A node that cannot be deleted ends with its session.
            (End::Abandoned, Session::Alive) => drop(self.expire(index)),
            (End::Lost, Session::Expired) => assert_eq!(self.count_nodes_of(index), 0),
            unexpected => panic!("unexpected end: {:?}", unexpected.0),
        }
    }

    fn lose_list_reply(&mut self, index: usize, action: &Action) -> bool {
        match self.apply(index, action) {
            Some(Event::Entered(node, _)) => self.report(index, Event::Entered(node, Sight::Nothing)),
            _ => false,
        }
    }

    fn role_of(&self, index: usize) -> Role {
        self.peers[index].machine.claim().role()
    }

    fn apply_late(&mut self, index: usize) -> bool {
        let role = self.role_of(index);
        match self.peer(index).late.take() {
            Some(id) => self.server.create(index, id, role).is_some(),
            None => false,
        }
    }

    fn deliver(&mut self, index: usize, action: &Action) -> bool {
        match self.apply(index, action) {
            Some(event) => {
                let is_there = event != Event::Inherited || self.own_node(index).is_some();
                assert!(is_there, "a contender inherits the lock by a node that may have gone first");
                self.report(index, event)
            }
            None => false,
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
                let Some(children) = self.server.list() else {
                    return Some(Event::ParentMissing);
                };
                let mine = |name: &String| Contender::parse(name).is_some_and(|c| c.is_of(*id));
                let mine = children.into_iter().filter(mine);
                Some(Event::Located(mine.filter_map(|name| self.server.stat(&name)).collect()))
            }
            Action::List => Some(self.server.list().map_or(Event::ParentMissing, Event::Listed)),
            Action::Watch(ahead) => {
                let (is_gone, event) = match &ahead.obstacle {
                    Obstacle::Contender(name) => (self.server.stat(name).is_none(), Event::PredecessorGone),
                    Obstacle::Sole(name) => (self.server.stat(name).is_none(), self.inheritance(index)?),
                    Obstacle::Anyone => (!self.is_behind(index), Event::PredecessorGone),
                };
                is_gone.then_some(event)
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

    /// Returns the event of the end of the only predecessor, or `None` if the end of the own node is noticed first.
    ///
    /// On one connection, the events come in the order of the changes, and the own one is looked at first.
    /// A new connection may tell of both in any order.
    fn inheritance(&self, index: usize) -> Option<Event> {
        match (self.peers[index].link, self.own_node(index)) {
            (Link::Restored, _) => Some(Event::PredecessorGone),
            (Link::SinceTheList, Some(_)) => Some(Event::Inherited),
            (Link::SinceTheList, None) => None,
        }
    }

    fn is_behind(&self, index: usize) -> bool {
        let children = self.server.list().unwrap_or_default();
        let machine = &self.peers[index].machine;
        let contenders = turn::contenders(&children, machine.claim().also_behind());
        let turn = machine.node().map(|node| Turn::of(&contenders, &node.name, machine.claim()));
        matches!(turn, Some(Turn::Behind(_)))
    }

    fn expel(&mut self, index: usize) -> bool {
        if let Some(node) = self.own_node(index) {
            self.server.outsider_deletes(&node.name);
        }
        true
    }

    fn expire(&mut self, index: usize) -> bool {
        self.peer(index).session = Session::Expired;
        self.peer(index).late = None;
        self.server.expire(index);
        true
    }

    fn count_nodes_of(&self, index: usize) -> usize {
        self.server.nodes().iter().filter(|node| node.owner == Server::session_of(index)).count()
    }

    /// Returns the node that the contender regards as its own, if it exists.
    fn own_node(&self, index: usize) -> Option<Node> {
        let known = self.peers[index].machine.node()?;
        let owner = Server::session_of(index);
        self.server.nodes().iter().find(|node| node.owner == owner && node.name == known.name).cloned()
    }

    /// Checks mutual exclusion as the server sees it: a holder counts only if its node exists.
    fn check_exclusion(&self) {
        let nodes = self.server.nodes();
        let exists = |held: &String| nodes.iter().any(|node| node.name == *held);
        let holders: Vec<_> = self.peers.iter().filter(|peer| peer.held_names().iter().any(exists)).collect();
        let most = match holders.first().map(|holder| holder.machine.claim()) {
            Some(Claim::Permit { of }) => *of as usize,
            Some(Claim::Place(_)) if holders.iter().all(|holder| holder.is_reader()) => holders.len(),
            Some(Claim::Place(_)) | None => 1,
        };
        assert!(holders.len() <= most, "{} contenders hold the lock", holders.len());
    }

    /// Checks that every contender gets the lock or leaves if no more faults occur, and that no node is left.
    ///
    /// The recovery of a world is always the same, so it ends at a world that is known to recover.
    fn check_progress(mut self, recovering: &mut FxHashSet<Key>) {
        self.faults_left = 0;
        let mut passed = Vec::new();
        while passed.len() < LONGEST_RECOVERY {
            let key = self.key();
            let has_ended = self.peers.iter().all(|peer| peer.action.is_none());
            if has_ended {
                assert_eq!(*self.server.nodes(), []);
            }
            if has_ended || recovering.contains(&key) {
                return recovering.extend(passed);
            }
            passed.push(key);
            let moved = (0..self.peers.len()).any(|index| {
                self.take(index, Step::Deliver)
                    || self.take(index, Step::NoticeDeletion)
                    || self.take(index, Step::NoticeExpiry)
                    || (self.peers[index].held().is_some() && self.take(index, Step::Cancel))
            });
            assert!(moved, "no peer can take a step");
        }
        panic!("the peers did not finish");
    }
}

impl Peer {
    /// Returns the names of the nodes by which the peer can hold the lock.
    fn held_names(&self) -> Vec<String> {
        match &self.action {
            Some(Action::Hold(node)) => vec![node.name.clone()],
            Some(Action::Downgrade(replacement)) => {
                vec![replacement.old.name.clone(), replacement.new.clone()]
            }
            _ => Vec::new(),
        }
    }

    /// Tells whether the peer lets readers in. A writer whose downgrade is under way already does.
    fn is_reader(&self) -> bool {
        let is_downgrading = matches!(self.action, Some(Action::Downgrade(_)));
        is_downgrading || self.machine.claim().role() == Role::Read
    }

    fn held(&self) -> Option<&Node> {
        match &self.action {
            Some(Action::Hold(node)) => Some(node),
            _ => None,
        }
    }
}

/// A number of steps that exceeds any recovery without further faults.
const LONGEST_RECOVERY: usize = 200;

fn is_request(action: &Action) -> bool {
    !matches!(action, Action::Hold(_) | Action::Finish(_))
}

/// Returns the identity of the acquisition of this peer that so many others follow.
fn id_of(index: usize, later: usize) -> ContenderId {
    ContenderId::new(Uuid::from_u64_pair(index as u64, (1 + later as u64) << 20))
}

/// Explores every reachable state and returns their number.
fn explore(claims: &[Claim], faults: usize) -> usize {
    let claims: Vec<_> = claims.iter().map(std::slice::from_ref).collect();
    explore_rounds(&claims, faults)
}

/// Explores every reachable state of peers that make several acquisitions each, and returns their number.
fn explore_rounds(claims: &[&[Claim]], faults: usize) -> usize {
    let start = World::new(claims, faults);
    let mut seen = FxHashSet::from_iter([start.key()]);
    let mut recovering = FxHashSet::default();
    let mut open = vec![start];
    while let Some(world) = open.pop() {
        world.check_exclusion();
        for index in 0..claims.len() {
            for next in STEPS.iter().filter_map(|step| world.after(index, *step)) {
                if seen.insert(next.key()) {
                    open.push(next);
                }
            }
        }
        world.check_progress(&mut recovering);
    }
    seen.len()
}

fn mutexes(count: usize) -> Vec<Claim> {
    vec![Claim::place(Role::Exclusive); count]
}

#[test]
fn two_contenders_exclude_each_other_and_leave_nothing_under_any_four_faults() {
    let states = explore(&mutexes(2), 4);
    assert!(states > 100_000, "only {states} states were reached");
}

#[test]
fn three_contenders_exclude_each_other_and_leave_nothing_under_any_two_faults() {
    let states = explore(&mutexes(3), 2);
    assert!(states > 100_000, "only {states} states were reached");
}

#[test]
fn the_simulated_queue_comes_to_the_end_of_its_numbers() {
    let claims = mutexes(1);
    let mut world = World::new(&[&claims[..]; 3], 0);
    for index in [0, 0, 0, 1, 2, 2] {
        assert!(world.take(index, Step::Deliver));
    }
    let names: Vec<_> = world.server.nodes().iter().map(|node| node.name.clone()).collect();
    let sequences: Vec<_> = names.iter().map(|name| Contender::parse(name).unwrap().sequence).collect();
    assert_eq!(sequences.iter().map(ToString::to_string).collect::<Vec<_>>(), ["2147483645", "2147483646"]);
    assert!(world.peers[0].held().is_some());
    assert!(world.peers[2].action.is_none(), "the contender without a unique number has left");
}

#[test]
fn writers_exclude_everybody_and_let_readers_in_under_several_faults() {
    let states = explore(&[Role::Write, Role::Read].map(Claim::place), 3)
        + explore(&[Role::Write, Role::Write].map(Claim::place), 2);
    assert!(states > 100_000, "only {states} states were reached");
}

#[test]
fn a_reader_and_two_writers_exclude_each_other_under_any_fault() {
    let states = explore(&[Role::Read, Role::Write, Role::Write].map(Claim::place), 1);
    assert!(states > 20_000, "only {states} states were reached");
}

#[test]
fn three_contenders_never_hold_more_than_two_permits_under_any_two_faults() {
    let states = explore(&vec![Claim::Permit { of: 2 }; 3], 2);
    assert!(states > 100_000, "only {states} states were reached");
}

fn places<const N: usize>(roles: [Role; N]) -> [Claim; N] {
    roles.map(Claim::place)
}

#[test]
fn mutexes_that_are_taken_again_exclude_each_other_although_parents_are_made_anew() {
    let (twice, once) = (places([Role::Exclusive; 2]), places([Role::Exclusive]));
    let states = explore_rounds(&[&twice, &once], 2) + explore_rounds(&[&twice, &twice], 1);
    assert!(states > 20_000, "only {states} states were reached");
}

#[test]
fn writers_that_were_readers_before_exclude_everybody() {
    let (turns, reads) = (places([Role::Read, Role::Write]), places([Role::Read]));
    let back = places([Role::Write, Role::Read]);
    let states = explore_rounds(&[&turns, &reads], 2)
        + explore_rounds(&[&back, &back], 1)
        + explore_rounds(&[&turns, &back], 1);
    assert!(states > 20_000, "only {states} states were reached");
}

#[test]
fn each_role_behind_one_of_each_other_inherits_from_it_and_excludes_the_others_under_several_faults() {
    let kinds = [Role::Read, Role::Write];
    let mut states = 0;
    for (first, second) in kinds.into_iter().flat_map(|first| kinds.map(|second| (first, second))) {
        let (again, once) = (places([first, second]), places([second]));
        states += explore_rounds(&[&again, &once], 1);
    }
    assert!(states > 20_000, "only {states} states were reached");
}

#[test]
fn a_lock_that_is_taken_again_alone_is_held_without_a_list_until_its_numbers_are_used_up() {
    let claims = places([Role::Exclusive; 3]);
    let mut world = World::new(&[&claims], 0);
    // The first create finds no parent.
    for requests in [3, 1] {
        for _ in 0..requests {
            assert!(world.peers[0].held().is_none() && world.take(0, Step::Deliver));
        }
        assert!(world.peers[0].held().is_some());
        assert!(
            world.take(0, Step::Cancel) && world.take(0, Step::Deliver) && world.take(0, Step::EnterAgain)
        );
    }
    assert!(world.take(0, Step::Deliver));
    assert_eq!(world.peers[0].action, Some(Action::List));
}
