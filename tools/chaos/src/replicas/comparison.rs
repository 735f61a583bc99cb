//! The comparison of what each server has. It is pure.

use std::collections::BTreeSet;

/// A node that one server has and another one does not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Difference {
    pub(super) node: String,
    pub(super) has: usize,
    pub(super) lacks: usize,
}

/// The latest look at each server.
///
/// The names of nodes are unique, so that a node is created once and deleted once. Each look shows all changes that were
/// committed before it began, because the server has committed a transaction since. Servers that are replicas can
/// therefore not have a node, then lack it, and then have it.
pub(super) struct Comparison {
    latest: Vec<BTreeSet<String>>,
    /// The nodes that a server had at its latest look, and that another one did not have since.
    lacking: Vec<BTreeSet<Difference>>,
}

impl Comparison {
    pub(super) fn new(servers: usize) -> Self {
        Self { latest: vec![BTreeSet::new(); servers], lacking: vec![BTreeSet::new(); servers] }
    }

    /// Takes a look at a server, and returns the differences that it proves.
    pub(super) fn look(&mut self, server: usize, nodes: BTreeSet<String>) -> Vec<Difference> {
        let lacking = std::mem::take(&mut self.lacking[server]);
        let proven = lacking.into_iter().filter(|difference| nodes.contains(&difference.node)).collect();
        for (has, latest) in self.latest.iter().enumerate().filter(|(has, _)| *has != server) {
            let missing = latest.difference(&nodes).cloned();
            self.lacking[has].extend(missing.map(|node| Difference { node, has, lacks: server }));
        }
        self.latest[server] = nodes;
        proven
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(comparison: &mut Comparison, server: usize, nodes: &[&str]) -> Vec<(String, usize, usize)> {
        let nodes = nodes.iter().map(|node| (*node).to_owned()).collect();
        let differences = comparison.look(server, nodes).into_iter();
        differences.map(|Difference { node, has, lacks }| (node, has, lacks)).collect()
    }

    #[test]
    fn a_node_that_comes_or_goes_between_two_looks_is_no_difference() {
        let mut servers = Comparison::new(2);
        for (server, nodes) in
            [(0, &["a"][..]), (1, &["a", "b"]), (0, &["b"]), (1, &["b"]), (0, &[]), (1, &[])]
        {
            assert_eq!(look(&mut servers, server, nodes), []);
        }
    }

    #[test]
    fn a_node_that_one_server_has_before_and_after_another_one_lacks_it_is_a_difference() {
        let mut servers = Comparison::new(3);
        look(&mut servers, 0, &["a", "b"]);
        assert_eq!(look(&mut servers, 1, &["b"]), []);
        assert_eq!(look(&mut servers, 2, &["a", "b"]), []);
        assert_eq!(look(&mut servers, 0, &["a", "b"]), [("a".to_owned(), 0, 1)]);
        assert_eq!(look(&mut servers, 1, &["b"]), []);
        let both = [("a".to_owned(), 2, 1)];
        assert_eq!(look(&mut servers, 2, &["a", "b"]), both);
    }

    #[test]
    fn a_node_that_comes_back_at_a_server_that_was_away_is_a_difference() {
        let mut servers = Comparison::new(2);
        look(&mut servers, 0, &["a"]);
        for _ in 0..3 {
            assert_eq!(look(&mut servers, 1, &[]), []);
        }
        assert_eq!(look(&mut servers, 0, &["a"]), [("a".to_owned(), 0, 1)]);
    }
}
