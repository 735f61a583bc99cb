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

use tokio::join;
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
        let client = self.client()?;
        let sent = self.clock.now();
        let (caught_up, listed) = join!(catch_up(&client), client.list_children(dir));
        self.caught_up(sent, caught_up)?;
        let listed = self.note(Ack::Read, sent, listed)?;
        let mine = |name: &String| Contender::parse(name).is_some_and(|contender| contender.is_of(id));
        let mut nodes = Vec::new();
        for name in listed.into_iter().filter(mine) {
            let sent = self.clock.now();
            let stat = client.check_stat(&format!("{dir}/{name}")).await;
            let stat = self.note(Ack::Read, sent, stat)?;
            nodes.extend(stat.map(|stat| Node { name, zxid: stat.czxid, owner: stat.ephemeral_owner }));
        }
        Ok(nodes)
    }

    pub(crate) async fn list(&self, dir: &str) -> Result<Children, Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        let listed = self.listing(&client, dir).await;
        self.note(Ack::Read, sent, listed)
    }

    pub(crate) async fn exists(&self, path: &str) -> Result<bool, Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        self.note(Ack::Read, sent, client.check_stat(path).await).map(|stat| stat.is_some())
    }

    /// Returns the owner of a node, or `None` if the node does not exist, after the server has caught up.
    pub(crate) async fn owner(&self, path: &str) -> Result<Option<i64>, Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        let (caught_up, stat) = join!(catch_up(&client), client.check_stat(path));
        self.caught_up(sent, caught_up)?;
        self.note(Ack::Read, sent, stat).map(|stat| stat.map(|stat| stat.ephemeral_owner))
    }

    /// Returns the owner of a node as the server knows it, which may lag behind the others.
    pub(crate) async fn owner_here(&self, path: &str) -> Result<Option<i64>, Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        let stat = self.note(Ack::Read, sent, client.check_stat(path).await)?;
        Ok(stat.map(|stat| stat.ephemeral_owner))
    }

    /// Lists the ephemeral nodes of the connection's session whose paths start with `prefix`, after the server
    /// has caught up. Returns `None` if the server does not know the request, which ZooKeeper 3.6 introduced.
    pub(crate) async fn ephemerals(&self, prefix: &str) -> Result<Option<Vec<String>>, Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        let (caught_up, listed) = join!(catch_up(&client), client.list_ephemerals(prefix));
        // Such a server closes the connection behind its answer, so the transaction may have none.
        if let Err(zk::Error::Unimplemented) = listed {
            return Ok(None);
        }
        self.caught_up(sent, caught_up)?;
        self.note(Ack::Read, sent, listed).map(Some)
    }

    /// Does the same in one request, as the server knows them, which may lag behind the others.
    pub(crate) async fn ephemerals_here(&self, prefix: &str) -> Result<Option<Vec<String>>, Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        match client.list_ephemerals(prefix).await {
            Err(zk::Error::Unimplemented) => Ok(None),
            listed => self.note(Ack::Read, sent, listed).map(Some),
        }
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
        let client = self.client()?;
        let sent = self.clock.now();
        match kind {
            Ack::Read => self.note(kind, sent, client.check_stat("/").await).map(drop),
            Ack::Write => self.note(kind, sent, catch_up(&client).await),
        }
    }

    /// Asks whether the server knows the user of the connection.
    #[cfg(any(feature = "sasl-digest", feature = "sasl-gssapi"))]
    pub(super) async fn standing(&self) -> Result<Standing, Fault> {
        let client = self.client()?;
        let sent = self.clock.now();
        let told = standing::ask(&client).await;
        self.note(Ack::Read, sent, told)
    }

    /// Reports the outcome of [`catch_up`]. It is refused only by a quorum, and that serves as well.
    fn caught_up(&self, sent: Moment, outcome: Result<(), zk::Error>) -> Result<(), Fault> {
        match self.note(Ack::Write, sent, outcome) {
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

/// Commits a transaction that changes nothing. Everything that was proposed before it is visible to requests that
/// are sent behind it.
///
/// A `sync` would not do. A leader answers it at once, even if earlier proposals are not committed yet
/// (`ProposalRequestProcessor`).
fn catch_up(client: &zk::Client) -> impl Future<Output = Result<(), zk::Error>> + Send + use<'_> {
    let mut writer = client.new_multi_writer();
    let added = writer.add_check_version("/", -1);
    let committed = writer.commit();
    async move {
        added?;
        committed.await.map(drop).map_err(zk::Error::from)
    }
}
