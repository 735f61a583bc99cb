//! The properties that hold in every world.

use std::rc::Rc;

use super::server::Server;
use super::world::{Fence, Peer, Session, World};
use crate::queue::acquisition::End;
use crate::queue::predicate::Predicate;

impl World {
    pub(super) fn check_end(&self, index: usize, end: &End) {
        let peer = &self.peers[index];
        match (end, peer.session) {
            (End::Withdrawn | End::Unnumbered | End::Mixed(_), Session::Alive | Session::Replaced) => {
                let is_fenced = peer.late.is_none() || peer.fence == Fence::Leaky;
                assert!(is_fenced, "a contender ended before its create was fenced");
                assert_eq!(self.count_nodes_of(index), 0, "a contender that ended left a node");
            }
            (End::Abandoned, Session::Alive | Session::Replaced) => {}
            (End::Lost, Session::Expired | Session::ReplacementExpired) => {
                assert_eq!(self.count_nodes_of(index), 0);
            }
            // The client closes a session that it did not ask for as soon as it sees it, and its nodes end with it.
            (End::Lost, Session::Replaced) => {}
            unexpected => panic!("unexpected end: {:?}", unexpected.0),
        }
    }

    /// Checks mutual exclusion. A holder counts while its node exists, because its lease ends before the session does.
    /// That is not so for a node of another session, the holder of which counts until it is told.
    pub(super) fn check_exclusion(&self) {
        let nodes = self.server.nodes();
        let exists = |held: &String| nodes.iter().any(|node| node.name == *held);
        let holds = |(index, peer): &(usize, &Rc<Peer>)| {
            peer.held_names().iter().any(exists) || peer.holds_by_another_session(Server::session_of(*index))
        };
        let holders: Vec<_> = self.peers.iter().enumerate().filter(holds).map(|(_, peer)| peer).collect();
        let most = match holders.first().map(|holder| holder.machine.predicate()) {
            Some(Predicate::Permit { of }) => *of as usize,
            Some(Predicate::Place(_)) if holders.iter().all(|holder| holder.is_reader()) => holders.len(),
            Some(Predicate::Place(_)) | None => 1,
        };
        assert!(holders.len() <= most, "{} contenders hold the lock", holders.len());
    }
}
