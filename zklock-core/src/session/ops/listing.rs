//! Performs the requests that list and describe the children of nodes, and set no watch.

use zookeeper_client as zk;

use crate::session::clock::Ack;
use crate::session::fault::Fault;

use super::Ops;

/// The name and data of a node, and the part of its stat that describes a contender.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    pub(crate) name: String,
    pub(crate) owner: i64,
    pub(crate) zxid: i64,
    pub(crate) created_ms: i64,
    pub(crate) data: Vec<u8>,
}

impl Described {
    fn new(name: String, data: Vec<u8>, stat: zk::Stat) -> Self {
        Self { name, owner: stat.ephemeral_owner, zxid: stat.czxid, created_ms: stat.ctime, data }
    }
}

impl Ops {
    /// Lists the names of children, and sets no watch.
    pub(crate) async fn names(&self, dir: &str) -> Result<Vec<String>, Fault> {
        let client = self.client().await?;
        let sent = self.clock.now();
        self.note(Ack::Read, sent, client.list_children(dir).await)
    }

    /// Describes these children of a node. Those that vanish meanwhile are left out.
    pub(crate) async fn describe_each(
        &self,
        dir: &str,
        mut names: impl Iterator<Item = String>,
    ) -> Result<Vec<Described>, Fault> {
        let client = self.client().await?;
        let mut described = Vec::new();
        loop {
            let sent = self.clock.now();
            // The reads are issued together, so that most queues take only one more round trip.
            let some = names.by_ref().take(AT_A_TIME);
            let reads: Vec<_> = some.map(|name| (client.get_data(&format!("{dir}/{name}")), name)).collect();
            if reads.is_empty() {
                return Ok(described);
            }
            for (read, name) in reads {
                match self.note(Ack::Read, sent, read.await) {
                    Ok((data, stat)) => described.push(Described::new(name, data, stat)),
                    Err(Fault::NoNode) => {}
                    Err(fault) => return Err(fault),
                }
            }
        }
    }
}

/// At most this many reads of one list are under way, so that the reads that prove leases wait for no more.
const AT_A_TIME: usize = 256;
