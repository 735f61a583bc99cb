//! The nodes of a session, as the servers have listed them.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use tokio::task::yield_now;

/// The nodes of a session, as the servers have listed them.
///
/// A set of the paths would need as much memory again as the list, which has the paths of all locks of a client.
#[derive(Debug)]
pub(super) struct Present {
    nodes: Vec<String>,
    /// The places of the nodes in the list, by the hashes of their paths.
    places: HashTable<usize>,
    hasher: RandomState,
}

impl Present {
    /// Takes a list, and lets other tasks run meanwhile.
    pub(super) async fn of(nodes: Vec<String>) -> Self {
        let (hasher, mut places) = (RandomState::new(), HashTable::with_capacity(nodes.len()));
        for (place, node) in nodes.iter().enumerate() {
            places.insert_unique(hasher.hash_one(node), place, |place| hasher.hash_one(&nodes[*place]));
            if place.is_multiple_of(AT_A_TIME) {
                yield_now().await;
            }
        }
        Self { nodes, places, hasher }
    }

    pub(super) fn contains(&self, node: &str) -> bool {
        self.places.find(self.hasher.hash_one(node), |place| self.nodes[*place] == node).is_some()
    }
}

/// The most nodes that are looked at without a pause for other tasks.
pub(super) const AT_A_TIME: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_nodes_of_the_list_are_present_and_no_others() {
        let path = |number: usize| format!("/locks/{number}");
        let present = Present::of((0..3 * AT_A_TIME).map(path).collect()).await;
        assert!((0..3 * AT_A_TIME).all(|number| present.contains(&path(number))));
        assert!(!present.contains(&path(3 * AT_A_TIME)) && !present.contains("/locks"));
        assert!(!Present::of(Vec::new()).await.contains("/locks/0"));
    }
}
