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

use std::sync::Arc;

use futures_util::future::join;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use zookeeper_client as zk;

use crate::error::{Permission, Refusal};
use crate::queue::acquisition::Node;
use crate::queue::contender::{Contender, ContenderId};

use super::acl::NodeAcls;
use super::clock::{Ack, LeaseClock, Moment};
use super::connection::Live;
use super::fault::Fault;
use super::tally::Tally;
use super::uptime::Origin;
use super::watches::Watch;

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
    access: watch::Sender<Access>,
    /// Cancelled when the session is to be closed.
    closed: CancellationToken,
    clock: LeaseClock,
    acls: NodeAcls,
    tally: Arc<Tally>,
}

/// How requests come to the servers.
enum Access {
    Open(Arc<Live>),
    /// Requests wait for the next connection.
    Broken,
    Closed,
}

impl Ops {
    pub(super) fn new(connection: Arc<Live>, clock: LeaseClock, acls: NodeAcls, tally: Arc<Tally>) -> Self {
        let access = watch::Sender::new(Access::Open(connection));
        Self { access, closed: CancellationToken::new(), clock, acls, tally }
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the operations of a session that answers no request.
    #[cfg(test)]
    pub(super) fn staged(clock: LeaseClock, acls: NodeAcls) -> Self {
        let access = watch::Sender::new(Access::Closed);
        Self { access, closed: CancellationToken::new(), clock, acls, tally: Arc::default() }
    }

    pub(crate) fn clock(&self) -> &LeaseClock {
        &self.clock
    }

    /// Sends requests through this connection from now on.
    pub(super) fn connect(&self, connection: Arc<Live>) {
        self.reach(Access::Open(connection));
    }

    /// Lets requests wait for the next connection.
    pub(super) fn disconnect(&self) {
        self.reach(Access::Broken);
    }

    fn reach(&self, access: Access) {
        self.access.send_if_modified(|present| {
            let is_open = !matches!(present, Access::Closed);
            if is_open {
                *present = access;
            }
            is_open
        });
    }

    /// Refuses later requests. The session is closed once those under way are done.
    pub(super) fn close(&self) {
        self.access.send_replace(Access::Closed);
        self.closed.cancel();
    }

    /// Waits until the session is to be closed.
    pub(super) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Takes note of the first answer on a connection.
    pub(super) fn note_fence(&self, sent: Origin) {
        let sent = self.clock.at(sent);
        self.note(Ack::Write, sent, Ok::<(), Fault>(())).ok();
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
        let client = self.client().await?;
        let sent = self.clock.now();
        let listed = self.listing(&client, dir).await;
        self.note(Ack::Read, sent, listed)
    }

    /// Describes a node as the server knows it, which may lag behind the others. Returns `None` if there is no node.
    pub(crate) async fn stat(&self, path: &str) -> Result<Option<Stat>, Fault> {
        let client = self.client().await?;
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

    pub(crate) async fn delete(&self, path: &str) -> Result<(), Fault> {
        let client = self.client().await?;
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
        let client = self.client().await?;
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
        let client = self.client().await?;
        let sent = self.clock.now();
        self.note(kind, sent, check(&client).await)
    }

    /// Has the server catch up: commits a transaction that changes nothing. Everything that was proposed before it is
    /// visible to requests that are sent behind it. It is refused only by a quorum, and that serves as well.
    ///
    /// A `sync` would not do. A leader answers it at once, even if earlier proposals are not committed yet
    /// (`ProposalRequestProcessor`).
    async fn catch_up(&self) -> Result<(), Fault> {
        unless_refused(self.heartbeat(Ack::Write).await)
    }

    /// Returns the present connection, or waits for the next one.
    async fn client(&self) -> Result<Arc<Live>, Fault> {
        if let Access::Open(connection) = &*self.access.borrow() {
            return Ok(connection.clone());
        }
        let mut access = self.access.subscribe();
        match access.wait_for(|access| !matches!(access, Access::Broken)).await.as_deref() {
            Ok(Access::Open(connection)) => Ok(connection.clone()),
            _ => Err(Fault::SessionOver),
        }
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

/// Has the server of a new connection catch up, so that it answers nothing that is older than the session knows.
pub(super) async fn fence(connection: &Live) -> Result<(), Fault> {
    unless_refused(check(connection).await.map_err(Fault::from))
}

/// Commits a transaction that changes nothing.
async fn check(connection: &Live) -> Result<(), zk::Error> {
    let mut writer = connection.new_multi_writer();
    writer.add_check_version("/", -1)?;
    writer.commit().await.map(drop).map_err(zk::Error::from)
}

/// A refusal of a quorum shows as much as its consent.
fn unless_refused(outcome: Result<(), Fault>) -> Result<(), Fault> {
    match outcome {
        Err(Fault::NoNode | Fault::Denied(_) | Fault::Refused(_)) => Ok(()),
        outcome => outcome,
    }
}
