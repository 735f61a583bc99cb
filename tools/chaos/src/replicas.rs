//! Looks at the queues of all servers: a comparison of the servers, which ZooKeeper promises to be replicas of each other,
//! and a search for nodes of Curator that stand in a queue for long.
//!
//! Uses only `injection`, `fleet`, `outsider`, `workload`, `settings` and `bell`.

mod comparison;
mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
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
    /// Begins to look, about once in a second, and notes the differences, and the nodes of Curator that stand for long.
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
        let mut queues = BTreeMap::<_, Vec<_>>::new();
        for node in self.standing.look(present.keys(), Instant::now()) {
            queues.entry(node.rsplit_once('/').map(|(queue, _)| queue)).or_default().push(node);
        }
        for mut nodes in queues.into_values() {
            nodes.sort_by_key(|node| node.rsplit('-').next());
            // Those behind a node of zklock may wait for it.
            let _ = nodes.into_iter().try_for_each(|node| self.note_of_curator(field, node, present[node]));
        }
    }

    /// Returns the nodes in all queues at a server.
    async fn nodes(&mut self, server: usize) -> io::Result<BTreeSet<String>> {
        let mut conversation = self.conversation(server).await?;
        let nodes = outsider::nodes(&mut conversation, self.queues.keys()).await?;
        self.servers[server].1 = Some(conversation);
        Ok(nodes)
    }

    /// Takes the connection to a server, so that one that fails is not used again.
    async fn conversation(&mut self, server: usize) -> io::Result<Conversation> {
        let (address, open) = &mut self.servers[server];
        match open.take() {
            Some(conversation) => Ok(conversation),
            None => outsider::open(*address).await,
        }
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

    /// Notes a node that stands for long, if it is one of Curator. Breaks off if it is not known to be one.
    fn note_of_curator(&mut self, field: &Field, node: &str, server: usize) -> ControlFlow<()> {
        let owner = field.runtime.block_on(self.owner(server, node));
        let Ok(Some((session, Owner { number, library: Library::Curator }))) = owner else {
            return ControlFlow::Break(());
        };
        if self.told.insert(format!("{node} stands")) {
            let whose = format!("session {session:x} of process {number}, which uses Curator");
            field.chronicle.say(&format!("{node} stands for long, and is of {whose}"));
        }
        let queue = node.rsplit_once('/').and_then(|(queue, _)| self.queues.get(queue));
        for lock in queue.into_iter().flatten() {
            let (lock, node) = ((*lock).to_owned(), node.to_owned());
            field.chronicle.note(Event::NodeStands { lock, node, library: Library::Curator });
        }
        ControlFlow::Continue(())
    }

    /// Returns the session that a node belongs to at a server, and the process behind it if that is known.
    async fn owner(&mut self, server: usize, node: &str) -> io::Result<Option<(i64, Owner)>> {
        let mut conversation = self.conversation(server).await?;
        let session = outsider::owner(&mut conversation, node).await?;
        self.servers[server].1 = Some(conversation);
        Ok(session.and_then(|session| Some((session, *self.owners.get(&session)?))))
    }
}

/// The pause between two looks at all servers.
const PAUSE: Duration = Duration::from_secs(1);
