//! The comparison of the servers, which ZooKeeper promises to be replicas of each other.
//!
//! Uses only `injection`, `outsider`, `workload` and `settings`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use zklock_testkit::Conversation;
use zklock_testkit::history::Event;

use crate::injection::Field;
use crate::outsider;
use crate::settings::NAMESPACE;
use crate::workload::Workload;

/// The looks at all servers, until the bell of the run rings.
pub(crate) struct Replicas(JoinHandle<()>);

impl Replicas {
    /// Begins to look, about once in a second, and notes the differences.
    pub(crate) fn begin(field: &Field) -> io::Result<Self> {
        let field = field.clone();
        let look = move || {
            let mut looks = Looks::new(&field);
            while !field.end.has_rung() {
                looks.round(&field);
                field.end.wait(PAUSE);
            }
        };
        Ok(Self(thread::Builder::new().name("replicas".to_owned()).spawn(look)?))
    }

    /// Waits for the last look.
    pub(crate) fn end(self) -> io::Result<()> {
        self.0.join().map_err(|_| io::Error::other("the thread that compares the servers panicked"))
    }
}

struct Looks {
    servers: Vec<(SocketAddr, Option<Conversation>)>,
    /// The queues, each with the locks that cannot be taken while it stands still.
    queues: BTreeMap<String, Vec<&'static str>>,
    comparison: Comparison,
    told: BTreeSet<String>,
}

impl Looks {
    fn new(field: &Field) -> Self {
        let servers: Vec<_> =
            field.ensemble.servers().iter().map(|server| (server.address(), None)).collect();
        let queues = field.workloads.iter().flat_map(|workload| {
            let queues = workload.queues();
            let locks: Vec<_> = queues.iter().map(|(lock, _)| *lock).collect();
            let stuck = move |lock| if *workload == Workload::Multi { locks.clone() } else { vec![lock] };
            queues.into_iter().map(move |(lock, queue)| (format!("{NAMESPACE}{queue}"), stuck(lock)))
        });
        let queues = queues.collect();
        let comparison = Comparison::new(servers.len());
        Self { servers, queues, comparison, told: BTreeSet::new() }
    }

    /// Looks at each server that answers.
    fn round(&mut self, field: &Field) {
        for server in 0..self.servers.len() {
            if let Ok(nodes) = field.runtime.block_on(self.nodes(server)) {
                for difference in self.comparison.look(server, nodes) {
                    self.note(field, difference);
                }
            }
        }
    }

    /// Returns the nodes in all queues at a server.
    async fn nodes(&mut self, server: usize) -> io::Result<BTreeSet<String>> {
        let (address, open) = &mut self.servers[server];
        // A connection that fails is not used again.
        let mut conversation = match open.take() {
            Some(conversation) => conversation,
            None => outsider::open(*address).await?,
        };
        let nodes = outsider::nodes(&mut conversation, self.queues.keys()).await?;
        *open = Some(conversation);
        Ok(nodes)
    }

    fn note(&mut self, field: &Field, Difference { node, has, lacks }: Difference) {
        let Some((queue, _)) = node.rsplit_once('/') else { return };
        let [has, lacks] = [has, lacks].map(|server| self.servers[server].0.to_string());
        if self.told.insert(node.clone()) {
            field.chronicle.say(&format!("the servers differ: {has} has {node}, and {lacks} does not"));
        }
        for lock in self.queues.get(queue).into_iter().flatten() {
            let [node, has, lacks] = [&node, &has, &lacks].map(String::clone);
            field.chronicle.note(Event::ServersDiffer { lock: (*lock).to_owned(), node, has, lacks });
        }
    }
}

/// A node that one server has and another one does not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Difference {
    node: String,
    has: usize,
    lacks: usize,
}

/// The latest look at each server.
///
/// The names of nodes are unique, so that a node is created once and deleted once. Each look shows all changes that were
/// committed before it began, because the server has committed a transaction since. Servers that are replicas can
/// therefore not have a node, then lack it, and then have it.
struct Comparison {
    latest: Vec<BTreeSet<String>>,
    /// The nodes that a server had at its latest look, and that another one did not have since.
    lacking: Vec<BTreeSet<Difference>>,
}

impl Comparison {
    fn new(servers: usize) -> Self {
        Self { latest: vec![BTreeSet::new(); servers], lacking: vec![BTreeSet::new(); servers] }
    }

    /// Takes a look at a server, and returns the differences that it proves.
    fn look(&mut self, server: usize, nodes: BTreeSet<String>) -> Vec<Difference> {
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

/// The pause between two looks at all servers.
const PAUSE: Duration = Duration::from_secs(1);

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
