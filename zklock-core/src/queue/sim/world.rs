//! The contenders and their server, at one moment.

use std::rc::Rc;

use uuid::Uuid;

use super::numbers::Memory;
use super::server::{Server, View};
use crate::queue::acquisition::{Acquisition, Action, Node};
use crate::queue::contender::ContenderId;
use crate::queue::predicate::{Predicate, Role};
use crate::queue::turn::{self, Turn};

#[derive(Clone)]
pub(super) struct World {
    pub(super) server: Server,
    /// Shared with the worlds that this one was cloned from, and copied on write.
    pub(super) peers: Vec<Rc<Peer>>,
    pub(super) faults_left: usize,
}

/// The part of a world that distinguishes it from others.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Key {
    server: Rc<View>,
    peers: Vec<Rc<Peer>>,
    faults_left: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Peer {
    pub(super) machine: Acquisition,
    /// The current action; `None` after the end.
    pub(super) action: Option<Action>,
    pub(super) session: Session,
    /// A create from a broken connection that the server has not applied yet.
    pub(super) late: Option<Late>,
    pub(super) fence: Fence,
    pub(super) cancelled: Cancelled,
    pub(super) memory: Memory,
    /// The predicates of the acquisitions that follow this one, the next one last.
    pub(super) later: Vec<Predicate>,
}

/// A create that the server has not applied yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Late {
    Create(ContenderId),
    /// With the queue's node.
    CreateQueue(ContenderId),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Session {
    Alive,
    Expired,
    /// It has expired, and the server has given the client another one without telling it.
    Replaced,
    /// The other one has expired as well.
    ReplacementExpired,
}

/// Whether a sync failed to fence a late create, which a correct server does not do.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Fence {
    Tight,
    Leaky,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Cancelled {
    No,
    Yes,
}

impl World {
    /// Returns a world in which each peer makes acquisitions with these predicates, one after the other.
    pub(super) fn new(predicates: &[&[Predicate]], faults: usize) -> Self {
        let peer = |(index, predicates): (usize, &&[Predicate])| {
            let mut later: Vec<_> = predicates.iter().rev().cloned().collect();
            let predicate = later.pop().expect("each peer makes an acquisition");
            let (machine, action) =
                Acquisition::start(id_of(index, later.len()), predicate, Server::session_of(index));
            let session = Session::Alive;
            let (late, fence, cancelled, memory) = (None, Fence::Tight, Cancelled::No, Memory::default());
            Rc::new(Peer { machine, action: Some(action), session, late, fence, cancelled, memory, later })
        };
        let peers = predicates.iter().enumerate().map(peer).collect::<Vec<_>>();
        Self { server: Server::new(peers.len()), peers, faults_left: faults }
    }

    pub(super) fn key(&self) -> Key {
        Key { server: self.server.view(), peers: self.peers.clone(), faults_left: self.faults_left }
    }

    pub(super) fn peer(&mut self, index: usize) -> &mut Peer {
        Rc::make_mut(&mut self.peers[index])
    }

    pub(super) fn role_of(&self, index: usize) -> Role {
        self.peers[index].machine.predicate().role()
    }

    /// Returns the node that the contender regards as its own, if it exists.
    pub(super) fn own_node(&self, index: usize) -> Option<Node> {
        let known = self.peers[index].machine.node()?;
        self.server.nodes().iter().find(|node| node.owner == known.owner && node.name == known.name).cloned()
    }

    pub(super) fn count_nodes_of(&self, index: usize) -> usize {
        let sessions = [Server::session_of(index), self.server.replacement_of(index)];
        self.server.nodes().iter().filter(|node| sessions.contains(&node.owner)).count()
    }

    pub(super) fn is_behind(&self, index: usize) -> bool {
        let children = self.server.list().unwrap_or_default();
        let machine = &self.peers[index].machine;
        let contenders = turn::contenders(&children, machine.predicate().also_behind());
        let turn = machine.node().map(|node| Turn::of(&contenders, &node.name, machine.predicate()));
        matches!(turn, Some(Turn::Behind(_)))
    }
}

impl Peer {
    /// Returns the names of the nodes by which the peer can hold the lock.
    pub(super) fn held_names(&self) -> Vec<String> {
        match &self.action {
            Some(Action::Hold(node)) => vec![node.name.clone()],
            Some(Action::Downgrade(replacement)) => {
                vec![replacement.old.name.clone(), replacement.new.clone()]
            }
            _ => Vec::new(),
        }
    }

    /// Tells whether the peer holds the lock with a node of a session that it does not know.
    pub(super) fn holds_by_another_session(&self, session: i64) -> bool {
        !self.held_names().is_empty() && self.machine.node().is_some_and(|node| node.owner != session)
    }

    /// Tells whether the peer lets readers in. A writer whose downgrade is under way already does.
    pub(super) fn is_reader(&self) -> bool {
        let is_downgrading = matches!(self.action, Some(Action::Downgrade(_)));
        is_downgrading || self.machine.predicate().role() == Role::Read
    }

    pub(super) fn held(&self) -> Option<&Node> {
        match &self.action {
            Some(Action::Hold(node)) => Some(node),
            _ => None,
        }
    }
}

/// Returns the identity of the acquisition of this peer that so many others follow.
pub(super) fn id_of(index: usize, later: usize) -> ContenderId {
    ContenderId::new(Uuid::from_u64_pair(index as u64, (1 + later as u64) << 20))
}
