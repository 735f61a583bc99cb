//! The end of a world in which no more faults occur.

use std::collections::HashSet;

use super::step::Step;
use super::world::{Key, World};

/// A number of steps that exceeds any recovery without further faults.
const LONGEST_RECOVERY: usize = 200;

impl World {
    /// Checks that every contender gets the lock or leaves if no more faults occur, and that no node is left.
    ///
    /// The recovery of a world is always the same, so it ends at a world that is known to recover.
    pub(super) fn check_progress(mut self, recovering: &mut HashSet<Key>) {
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
