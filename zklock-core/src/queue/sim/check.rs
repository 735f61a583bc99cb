//! The properties that hold in every world.

use std::sync::Arc;

use super::world::{Fence, Session, World};
use crate::queue::acquisition::End;
use crate::queue::claim::Claim;

impl World {
    pub(super) fn check_end(&self, index: usize, end: &End) {
        let peer = &self.peers[index];
        match (end, peer.session) {
            (End::Withdrawn | End::Unnumbered | End::Mixed(_), Session::Alive) => {
                let is_fenced = peer.late.is_none() || peer.fence == Fence::Leaky;
                assert!(is_fenced, "a contender ended before its create was fenced");
                assert_eq!(self.count_nodes_of(index), 0, "a contender that ended left a node");
            }
            (End::Abandoned, Session::Alive) => {}
            (End::Lost, Session::Expired) => assert_eq!(self.count_nodes_of(index), 0),
            unexpected => panic!("unexpected end: {:?}", unexpected.0),
        }
    }

    /// Checks mutual exclusion as the server sees it: a holder counts only if its node exists.
    pub(super) fn check_exclusion(&self) {
        let nodes = self.server.nodes();
        let exists = |held: &Arc<str>| nodes.iter().any(|node| node.name == *held);
        let holders: Vec<_> = self.peers.iter().filter(|peer| peer.held_names().iter().any(exists)).collect();
        let most = match holders.first().map(|holder| holder.machine.claim()) {
            Some(Claim::Permit { of }) => *of as usize,
            Some(Claim::Place(_)) if holders.iter().all(|holder| holder.is_reader()) => holders.len(),
            Some(Claim::Place(_)) | None => 1,
        };
        assert!(holders.len() <= most, "{} contenders hold the lock", holders.len());
    }
}
