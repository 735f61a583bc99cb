//! Performs the requests about znodes. No other module performs ZooKeeper I/O.
//!
//! Every answer moves the lease clock, including a refusal by the server. The client library issues
//! a request when its method is called, before the future is polled. Requests issued together
//! therefore travel in one round trip, and are processed in that order.

mod data;
mod entry;
mod founding;
mod listing;
mod parents;
mod request;
mod watching;

use std::sync::{Arc, PoisonError, RwLock};

use futures_util::future::join;
use zookeeper_client as zk;

use crate::error::{Permission, Refusal};
use crate::queue::acquisition::Node;
use crate::queue::contender::{Contender, ContenderId};

use super::acl::NodeAcls;
use super::clock::{Ack, LeaseClock, Moment};
use super::fault::Fault;
use super::notice::{Budget, Watch};
#[cfg(any(feature = "sasl-digest", feature = "sasl-gssapi"))]
use super::standing::{self, Standing};
use super::tally::Tally;

pub(crate) use self::data::{Base, Glimpse, Guarded, Guards, Stamped, Write};
pub(crate) use self::entry::{Entry, Flight, Newcomer, Queue};
pub(crate) use self::founding::Unfounded;
pub(crate) use self::listing::Described;
pub(crate) use self::watching::Watched;

use self::request::Transaction;

/// A list of children, with the watch that signals a change.
pub(crate) struct Children {
    pub(crate) names: Vec<String>,
    pub(crate) watch: Watch,
}

/// A part of a node's stat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stat {
    /// The session that owns an ephemeral node, or zero.
    pub(crate) owner: i64,
    /// The zxid of its creation.
    pub(crate) zxid: i64,
    pub(crate) children: u32,
}

pub(crate) struct Ops {
    /// `None` after [`close`](Self::close). The library closes the session when the last handle is dropped.
    client: RwLock<Option<Arc<zk::Client>>>,
    clock: LeaseClock,
    watched: Budget,
    acls: NodeAcls,
    tally: Arc<Tally>,
}

impl Ops {
    pub(crate) fn new(client: zk::Client, clock: LeaseClock, acls: NodeAcls, tally: Arc<Tally>) -> Self {
        let client = RwLock::new(Some(Arc::new(client)));
        Self { client, clock, watched: Budget::default(), acls, tally }
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the operations of a session that answers no request.
    #[cfg(test)]
    pub(super) fn staged(clock: LeaseClock, acls: NodeAcls) -> Self {
        let (client, watched, tally) = Default::default();
        Self { client, clock, watched, acls, tally }
    }

    pub(crate) fn clock(&self) -> &LeaseClock {
        &self.clock
    }

    /// Drops this handle of the session, which is closed once the requests under way are done.
    pub(crate) fn close(&self) {
        self.client.write().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Finds all nodes of an acquisition, including those whose creation had an unknown outcome.
    pub(crate) async fn locate(&self, dir: &str, id: ContenderId) -> Result<Vec<Node>, Fault> {
        let (caught_up, listed) = join(self.catch_up(), self.names(dir)).await;
        caught_up?;
        let mine = |name: &String| Contender::parse(name).is_some_and(|contender| contender.is_of(id));
        let mut nodes = Vec::new();
        for name in listed?.into_iter().filter(mine) {
            let stat = self.stat(&format!("{dir}/{name}")).await?;
            nodes.extend(stat.map(|Stat { owner, zxid, .. }| Node { name, zxid, owner }));
        }
        Ok(nodes)
    }

    pub(crate) async fn list(&self, dir: &str) -> Result<Children, Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        let listed = self.listing(&client, dir).await;
        self.note(Ack::Read, sent, listed)
    }

    /// Describes a node as the server knows it, which may lag behind the others. Returns `None` if there is no node.
    pub(crate) async fn stat(&self, path: &str) -> Result<Option<Stat>, Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        let stat = self.note(Ack::Read, sent, client.check_stat(path).await)?;
        Ok(stat.map(|stat| Stat {
            owner: stat.ephemeral_owner,
            zxid: stat.czxid,
            children: stat.num_children.try_into().unwrap_or_default(),
        }))
    }

    /// Does the same after the server has caught up.
    pub(crate) async fn present_stat(&self, path: &str) -> Result<Option<Stat>, Fault> {
        let (caught_up, stat) = join(self.catch_up(), self.stat(path)).await;
        caught_up?;
        stat
    }

    /// Lists the ephemeral nodes of the connection's session whose paths start with `prefix`, as the server knows them.
    /// Returns `None` if the server does not know the request, which ZooKeeper 3.6 introduced.
    pub(crate) async fn ephemerals(&self, prefix: &str) -> Result<Option<Vec<String>>, Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        match client.list_ephemerals(prefix).await {
            Err(zk::Error::Unimplemented) => Ok(None),
            listed => self.note(Ack::Read, sent, listed).map(Some),
        }
    }

    /// Does the same after the server has caught up.
    pub(crate) async fn present_ephemerals(&self, prefix: &str) -> Result<Option<Vec<String>>, Fault> {
        let (caught_up, listed) = join(self.catch_up(), self.ephemerals(prefix)).await;
        // A server that does not know the request closes the connection behind its answer, so the transaction may have
        // none.
        if let Ok(None) = listed {
            return Ok(None);
        }
        caught_up?;
        listed
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<(), Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        match self.note(Ack::Write, sent, client.delete(path, None).await) {
            Err(Fault::NoNode) => Ok(()),
            outcome => outcome.map_err(|fault| fault.lacking(Permission::Delete)),
        }
    }

    /// Replaces the exclusive node with a reader's node in one transaction, if the former has this version.
    ///
    /// If the new name exists already, an earlier request of this acquisition has been applied,
    /// which is success.
    pub(crate) async fn replace(
        &self,
        old: &str,
        version: i32,
        (new, data): (&str, &[u8]),
    ) -> Result<(), Fault> {
        let client = self.client()?;
        let mut transaction = Transaction::new(&client);
        transaction.create(new, data, (zk::CreateMode::Ephemeral, self.acls.own.acls()))?;
        transaction.delete(old, Some(version))?;
        let mut writer = transaction.checked()?;
        let sent = self.clock.now();
        let needed = |index| if index == 0 { Permission::Create } else { Permission::Delete };
        let committed = writer.commit().await.map_err(|error| Fault::of_transaction(error, needed));
        let outcome = match committed {
            Err(Fault::Refused(Refusal::NodeExists)) => Ok(()),
            outcome => outcome.map(drop),
        };
        self.note(Ack::Write, sent, outcome)
    }

    /// Sends a request that gets an answer of this kind and changes nothing.
    pub(crate) async fn heartbeat(&self, kind: Ack) -> Result<(), Fault> {
        if kind == Ack::Read {
            return self.stat("/").await.map(drop);
        }
        let client = self.client()?;
        let mut writer = client.new_multi_writer();
        writer.add_check_version("/", -1)?;
        let sent = self.clock.now();
        let committed = writer.commit().await.map(drop).map_err(zk::Error::from);
        self.note(kind, sent, committed)
    }

    /// Asks whether the server knows the user of the connection.
    #[cfg(any(feature = "sasl-digest", feature = "sasl-gssapi"))]
    pub(super) async fn standing(&self) -> Result<Standing, Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        let told = standing::ask(&client).await;
        self.note(Ack::Read, sent, told)
    }

    /// Has the server catch up: commits a transaction that changes nothing. Everything that was proposed before it is
    /// visible to requests that are sent behind it. It is refused only by a quorum, and that serves as well.
    ///
    /// A `sync` would not do. A leader answers it at once, even if earlier proposals are not committed yet
    /// (`ProposalRequestProcessor`).
    async fn catch_up(&self) -> Result<(), Fault> {
        match self.heartbeat(Ack::Write).await {
            Err(Fault::NoNode | Fault::Denied(_) | Fault::Refused(_)) => Ok(()),
            outcome => outcome,
        }
    }

    fn client(&self) -> Result<Arc<zk::Client>, Fault> {
        self.client.read().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Fault::SessionOver)
    }

    /// Reports the outcome of a request to the lease clock; `sent` is no later than the time of sending.
    fn note<T, E: Into<Fault>>(&self, ack: Ack, sent: Moment, outcome: Result<T, E>) -> Result<T, Fault> {
        let outcome = outcome.map_err(|error| match ack {
            // Only requests that read the data or the children of a node can be denied.
            Ack::Read => error.into().lacking(Permission::Read),
            Ack::Write => error.into(),
        });
        self.clock.answered(ack, sent, &outcome);
        self.tally.note_request(ack);
        outcome
    }
}
