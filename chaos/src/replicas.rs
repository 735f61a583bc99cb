//! Looks at the queues of all servers: a comparison of the servers, which ZooKeeper promises to be replicas of each other,
//! and a search for nodes that stand in a queue for long.
//!
//! Uses only `injection`, `fleet`, `outsider`, `workload`, `settings` and `bell`.

mod comparison;
mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use zklock_testkit::Conversation;
use zklock_testkit::history::{Event, Library};

use crate::bell::Bell;
use crate::fleet::{Connections, Owner};
use crate::injection::Field;
use crate::outsider;
use crate::settings::NAMESPACE;
use crate::workload::Workload;

use self::comparison::{Comparison, Difference};
use self::standing::Standing;

/// The looks at all servers.
pub(crate) struct Replicas {
    thread: JoinHandle<()>,
    end: Bell,
}

impl Replicas {
    /// Begins to look, about once in a second, and notes the differences and the nodes that stand for long.
    pub(crate) fn begin(field: &Field, connections: Connections) -> io::Result<Self> {
        let (field, end) = (field.clone(), Bell::default());
        let goes_on = end.clone();
        let look = move || {
            let mut looks = Looks::new(&field, connections);
            while !goes_on.has_rung() {
                looks.round(&field);
                goes_on.wait(PAUSE);
            }
        };
        let thread = thread::Builder::new().name("replicas".to_owned()).spawn(look)?;
        Ok(Self { thread, end })
    }

    /// Ends the looks, and waits for the last one.
    pub(crate) fn end(self) -> io::Result<()> {
        self.end.ring();
        self.thread.join().map_err(|_| io::Error::other("the thread that compares the servers panicked"))
    }
}

struct Looks {
    servers: Vec<(SocketAddr, Option<Conversation>)>,
    /// The queues, each with the locks that cannot be taken while it stands still.
    queues: BTreeMap<String, Vec<&'static str>>,
    comparison: Comparison,
    standing: Standing,
    connections: Connections,
    /// The processes behind all sessions that were seen so far.
    owners: BTreeMap<i64, Owner>,
    /// The nodes that a line of the log is about, each with what it says.
    told: BTreeSet<String>,
}

impl Looks {
    fn new(field: &Field, connections: Connections) -> Self {
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
        let (standing, owners, told) = Default::default();
        Self { servers, queues, comparison, standing, connections, owners, told }
    }

    /// Looks at each server that answers.
    fn round(&mut self, field: &Field) {
        self.owners.extend(self.connections.sessions());
        // The nodes, each with a server that has it.
        let mut present = BTreeMap::new();
        let mut answers = 0;
        for server in 0..self.servers.len() {
            let Ok(nodes) = field.runtime.block_on(self.nodes(server)) else { continue };
            answers += 1;
            present.extend(nodes.iter().map(|node| (node.clone(), server)));
            for difference in self.comparison.look(server, nodes) {
                self.note(field, difference);
            }
        }
        if answers == 0 {
            return;
        }
        for node in self.standing.look(present.keys(), Instant::now()) {
            self.note_standing(field, node, present[node]);
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
        if self.told.insert(format!("{node} differs")) {
            field.chronicle.say(&format!("the servers differ: {has} has {node}, and {lacks} does not"));
        }
        for lock in self.queues.get(queue).into_iter().flatten() {
            let [node, has, lacks] = [&node, &has, &lacks].map(String::clone);
            field.chronicle.note(Event::ServersDiffer { lock: (*lock).to_owned(), node, has, lacks });
        }
    }

    /// Notes a node that stands for long, if it is one of Curator. A node of zklock serves many calls, so that its age shows
    /// nothing.
    fn note_standing(&mut self, field: &Field, node: &str, server: usize) {
        let Some((queue, _)) = node.rsplit_once('/') else { return };
        let (_, Some(conversation)) = &mut self.servers[server] else { return };
        let Ok(Some(session)) = field.runtime.block_on(outsider::owner(conversation, node)) else { return };
        let Some(Owner { number, library: Library::Curator }) = self.owners.get(&session) else { return };
        if self.told.insert(format!("{node} stands")) {
            let whose = format!("session {session:x} of process {number}, which uses Curator");
            field.chronicle.say(&format!("{node} stands for long, and is of {whose}"));
        }
        for lock in self.queues.get(queue).into_iter().flatten() {
            let (lock, node) = ((*lock).to_owned(), node.to_owned());
            field.chronicle.note(Event::NodeStands { lock, node, library: Library::Curator });
        }
    }
}

/// The pause between two looks at all servers.
const PAUSE: Duration = Duration::from_secs(1);
