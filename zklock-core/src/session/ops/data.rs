//! Requests about the data of nodes.

use std::sync::Arc;

use zookeeper_client as zk;

use crate::session::clock::Ack;
use crate::session::fault::Fault;
use crate::session::notice::{Subject, Watch};

use super::Ops;

/// A write that is applied only while a node exists.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    SetData(Vec<u8>),
    Create(Vec<u8>),
    Delete,
}

/// What came of such a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guarded {
    Applied,
    /// It was not applied: the guard with this index does not exist.
    Unguarded(usize),
}

/// A node's stat and data, as far as others may want to know them.
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

/// The data of a node, with what was known of it then.
pub(crate) struct Read {
    pub(crate) data: Vec<u8>,
    pub(crate) version: i32,
    pub(crate) children: i32,
}

/// The data of a node, with the watch that tells when it changes or the node goes.
pub(crate) struct Watched {
    pub(crate) data: Vec<u8>,
    pub(crate) watch: Watch,
}

impl Ops {
    /// Writes to `path` in one transaction with a check that all of `guards` exist.
    ///
    pub(crate) async fn guarded(
        &self,
        guards: &[Arc<str>],
        path: &str,
        write: &Write,
    ) -> Result<Guarded, Fault> {
        let client = self.client()?;
        let mut writer = client.new_multi_writer();
        for guard in guards {
            writer.add_check_version(guard, -1)?;
        }
        match write {
            Write::SetData(data) => writer.add_set_data(path, data, None)?,
            Write::Create(data) => {
                writer.add_create(path, data, &zk::CreateMode::Persistent.with_acls(self.acl.acls()))?;
            }
            Write::Delete => writer.add_delete(path, None)?,
        }
        let sent = self.clock.now();
        match writer.commit().await {
            Err(zk::MultiWriteError::OperationFailed { index, source: zk::Error::NoNode })
                if index < guards.len() =>
            {
                self.clock.answered(Ack::Write, sent, &Ok(()));
                Ok(Guarded::Unguarded(index))
            }
            outcome => {
                let outcome = outcome.map_err(zk::Error::from);
                self.note(Ack::Write, sent, outcome).map(|_| Guarded::Applied)
            }
        }
    }

    /// Describes the contenders of a lock; those that vanish meanwhile are left out.
    pub(crate) async fn describe(
        &self,
        dir: &str,
        is_contender: impl Fn(&str) -> bool,
    ) -> Result<Vec<Described>, Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        let names = match self.note(Ack::Read, sent, client.list_children(dir).await) {
            Err(Fault::NoNode) => return Ok(Vec::new()),
            listed => listed?,
        };
        let sent = self.clock.now();
        let contenders = names.into_iter().filter(|name| is_contender(name));
        // Issued together, so that the whole queue takes one more round trip.
        let reads: Vec<_> =
            contenders.map(|name| (client.get_data(&format!("{dir}/{name}")), name)).collect();
        let mut described = Vec::with_capacity(reads.len());
        for (read, name) in reads {
            match self.note(Ack::Read, sent, read.await) {
                Ok((data, stat)) => described.push(Described::new(name, data, stat)),
                Err(Fault::NoNode) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(described)
    }

    /// The data of a node; `None` if there is no node.
    pub(crate) async fn read(&self, path: &str) -> Result<Option<Read>, Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        match self.note(Ack::Read, sent, client.get_data(path).await) {
            Ok((data, stat)) => Ok(Some(Read { data, version: stat.version, children: stat.num_children })),
            Err(Fault::NoNode) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// The data of a node that exists, and a watch on it.
    pub(crate) async fn read_and_watch(&self, path: &str) -> Result<Watched, Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        match self.watched.share(Subject::Own, path) {
            Some(share) => {
                let read = client.get_and_watch_data(path).await;
                let (data, _, watcher) = self.note(Ack::Read, sent, read)?;
                Ok(Watched { data, watch: Watch::Event(watcher, share) })
            }
            None => {
                let (data, _) = self.note(Ack::Read, sent, client.get_data(path).await)?;
                Ok(Watched { data, watch: Watch::Pause(Subject::Own) })
            }
        }
    }

    /// Replaces the data of a node, whatever its version or only this one.
    pub(crate) async fn write(&self, path: &str, data: &[u8], version: Option<i32>) -> Result<(), Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        self.note(Ack::Write, sent, client.set_data(path, data, version).await).map(drop)
    }

    /// Creates a persistent node below a parent that exists; one that is there already stays as it is.
    pub(crate) async fn seed(&self, path: &str, data: &[u8]) -> Result<(), Fault> {
        let client = self.client()?;
        let options = zk::CreateMode::Persistent.with_acls(self.acl.acls());
        let sent = self.clock.now();
        let outcome = match client.create(path, data, &options).await {
            Err(zk::Error::NodeExists) => Ok(()),
            outcome => outcome.map(drop),
        };
        self.note(Ack::Write, sent, outcome)
    }
}
