//! The nodes that stand in the queues for long. It is pure.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The nodes in the queues, and the time at which each was seen first.
#[derive(Default)]
pub(super) struct Standing(BTreeMap<String, Instant>);

impl Standing {
    /// Takes a look at all queues, and returns the nodes that have been in every look for [`LONG`].
    pub(super) fn look<'a>(&mut self, nodes: impl Iterator<Item = &'a String>, now: Instant) -> Vec<&'a str> {
        let before = std::mem::take(&mut self.0);
        let mut long = Vec::new();
        for node in nodes {
            let since = before.get(node).copied().unwrap_or(now);
            self.0.insert(node.clone(), since);
            if now.duration_since(since) >= LONG {
                long.push(node.as_str());
            }
        }
        long
    }
}

/// Longer than a call waits for a lock.
const LONG: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_stands_for_long_if_no_look_lacks_it() {
        let (mut standing, start) = (Standing::default(), Instant::now());
        let mut look = |after, nodes: &[&str]| {
            let nodes: Vec<_> = nodes.iter().map(|node| (*node).to_owned()).collect();
            let long = standing.look(nodes.iter(), start + Duration::from_secs(after));
            long.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(look(0, &["a", "b"]), [""; 0]);
        assert_eq!(look(14, &["a", "c"]), [""; 0]);
        assert_eq!(look(15, &["a", "b", "c"]), ["a"]);
        assert_eq!(look(29, &["a", "b", "c"]), ["a", "c"]);
        assert_eq!(look(30, &["b"]), ["b"]);
    }
}
