//! Performs the requests about znodes. No other module performs ZooKeeper I/O.
//!
//! Every answer moves the lease clock, including a refusal by the server. The client library issues
//! a request when its method is called, before the future is polled. Requests issued together
//! therefore travel in one round trip, and are processed in that order.

mod data;
mod entry;
mod length;

use std::sync::Arc;

use futures_util::future::join;
use tokio::sync::watch;
use zookeeper_client as zk;

use crate::error::{Permission, Refusal};
use crate::path::NodePath;
use crate::queue::acquisition::Node;
use crate::queue::contender::{Contender, ContenderId};
use crate::queue::predicate::Role;

use super::clock::{Ack, Instant, LeaseClock};
use super::counts::Tally;
use super::request_error::RequestError;
use crate::connection::security::{NodeAcl, NodeAcls};
use crate::connection::{Live, Watch};

pub(crate) use zookeeper_client::Stat;

pub(crate) use self::data::{Guarded, Guards, Write};
pub(crate) use self::entry::{Entry, NewNode};

use self::length::Step;

/// A list of children.
pub(crate) struct Children {
    pub(crate) names: Vec<String>,
    /// The watch that signals a change, if they are watched.
    pub(crate) watch: Option<Watch>,
    /// The connection on which the server listed them.
    pub(crate) connection: u64,
}

impl Children {
    fn of(listed: Result<(Vec<String>, Option<Watch>), zk::Error>, client: &Live) -> Result<Self, zk::Error> {
        let (names, watch) = match listed {
            Err(zk::Error::NoNode) => Default::default(),
            listed => listed?,
        };
        Ok(Self { names, watch, connection: client.number })
    }
}

/// The data of a node, and the stat that was read with it.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) data: Vec<u8>,
    pub(crate) stat: Stat,
}

/// A node that is watched.
pub(crate) struct Watched {
    pub(crate) watch: Watch,
    pub(crate) read: Read,
    /// The connection that has answered.
    pub(crate) connection: u64,
}

pub(crate) struct Requests {
    channel: watch::Sender<Channel>,
    clock: LeaseClock,
    acls: NodeAcls,
    tally: Arc<Tally>,
}

/// The way of requests to the servers.
pub(super) enum Channel {
    Open(Arc<Live>),
    /// Requests wait for the next connection.
    Broken,
    /// Requests are refused. The session is closed once those under way are done.
    Closed,
}

impl Requests {
    pub(super) fn new(channel: Channel, clock: LeaseClock, acls: NodeAcls, tally: Arc<Tally>) -> Self {
        Self { channel: watch::Sender::new(channel), clock, acls, tally }
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(crate) fn clock(&self) -> &LeaseClock {
        &self.clock
    }

    /// Changes how requests come to the servers, unless the session is to be closed.
    pub(super) fn set_channel(&self, channel: Channel) {
        self.channel.send_if_modified(|present| {
            let is_open = !matches!(present, Channel::Closed);
            if is_open {
                *present = channel;
            }
            is_open
        });
    }

    /// Waits until the session is to be closed.
    pub(super) async fn closed(&self) {
        self.channel.subscribe().wait_for(|channel| matches!(channel, Channel::Closed)).await.ok();
    }

    /// Takes note of the first answer on a connection.
    pub(super) fn note_fence(&self, sent: Instant) {
        self.note(Ack::Write, sent, Ok::<(), RequestError>(())).ok();
    }

    /// Finds all nodes of an acquisition, including those whose creation had an unknown outcome.
    pub(crate) async fn locate(&self, dir: &str, id: ContenderId) -> Result<Vec<Node>, RequestError> {
        let (caught_up, listed) = join(self.catch_up(), self.names(dir)).await;
        caught_up?;
        let mine = |name: &String| Contender::parse(name).is_some_and(|contender| contender.is_of(id));
        let mut nodes = Vec::new();
        for name in listed?.into_iter().filter(mine) {
            let stat = self.stat(&format!("{dir}/{name}")).await?;
            nodes.extend(stat.map(|stat| Node { name, zxid: stat.czxid, owner: stat.ephemeral_owner }));
        }
        Ok(nodes)
    }

    /// Lists the children of a node, and watches them. A node that does not exist has none, and is not watched.
    pub(crate) async fn list(&self, dir: &str) -> Result<Children, RequestError> {
        let list = async |client: &Live| {
            let listed = client.list_and_watch_children(dir).await;
            let listed = listed.map(|(names, watcher)| (names, Some(Watch::of(watcher, client))));
            Children::of(listed, client)
        };
        self.send(Ack::Read, list).await
    }

    /// Lists the queue of a contender of this role. Only one that claims a permit watches it, because it may wait for any of
    /// those in front. An event costs the server and the client as much as a request.
    pub(crate) async fn list_for(&self, role: Role, dir: &str) -> Result<Children, RequestError> {
        match role {
            Role::Permit => self.list(dir).await,
            _ => self.list_unwatched(dir).await,
        }
    }

    async fn list_unwatched(&self, dir: &str) -> Result<Children, RequestError> {
        let list = async |client: &Live| {
            let listed = client.list_children(dir).await;
            Children::of(listed.map(|names| (names, None)), client)
        };
        self.send(Ack::Read, list).await
    }

    /// Watches an existing node for its deletion and for changes of its data.
    ///
    /// The watch is set by reading the data. A watch set by `exists` on a node that is gone would
    /// stay forever (CURATOR-107).
    pub(crate) async fn watch_node(&self, path: &str) -> Result<Watched, RequestError> {
        let watch = async |client: &Live| {
            let (data, stat, watcher) = client.get_and_watch_data(path).await?;
            let (watch, read) = (Watch::of(watcher, client), Read { data, stat });
            Ok::<_, zk::Error>(Watched { watch, read, connection: client.number })
        };
        self.send(Ack::Read, watch).await
    }

    /// Lists the names of children, and sets no watch. A node that does not exist has none.
    pub(crate) async fn names(&self, dir: &str) -> Result<Vec<String>, RequestError> {
        self.list_unwatched(dir).await.map(|children| children.names)
    }

    /// Returns a node, or `None` if it does not exist.
    pub(crate) async fn read(&self, path: &str) -> Result<Option<Read>, RequestError> {
        match self.send(Ack::Read, async |client| client.get_data(path).await).await {
            Ok((data, stat)) => Ok(Some(Read { data, stat })),
            Err(RequestError::NoNode) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Describes a node as the server knows it, which may lag behind the others. Returns `None` if there is no node.
    pub(crate) async fn stat(&self, path: &str) -> Result<Option<Stat>, RequestError> {
        self.send(Ack::Read, async |client| client.check_stat(path).await).await
    }

    /// Does the same after the server has caught up.
    pub(crate) async fn present_stat(&self, path: &str) -> Result<Option<Stat>, RequestError> {
        let (caught_up, stat) = join(self.catch_up(), self.stat(path)).await;
        caught_up?;
        stat
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<(), RequestError> {
        self.delete_and_tell(path, || {}).await
    }

    /// Deletes a node, and tells when the request has been issued.
    pub(super) async fn delete_and_tell(
        &self,
        path: &str,
        issued: impl FnOnce(),
    ) -> Result<(), RequestError> {
        let client = self.client().await?;
        let sent = Instant::now();
        let deleted = client.delete(path, None);
        issued();
        match self.note(Ack::Write, sent, deleted.await) {
            Err(RequestError::NoNode) => Ok(()),
            outcome => outcome.map_err(|error| error.lacking(Permission::Delete)),
        }
    }

    /// Creates a queue, its lock if that is another node, and the missing parents of the lock.
    pub(crate) async fn prepare(&self, lock: &NodePath, queue: &str) -> Result<(), RequestError> {
        let is_own = |path: &str| path.len() >= lock.full().len();
        self.make(queue, |path| if is_own(path) { &self.acls.own } else { &self.acls.parents }).await
    }

    /// Creates a parent and its missing ancestors.
    pub(crate) async fn prepare_parents(&self, dir: &str) -> Result<(), RequestError> {
        self.make(dir, |_| &self.acls.parents).await
    }

    /// Creates a container and its missing ancestors.
    ///
    /// Begins with the nearest node, because a client may be permitted to create nodes there and not further up.
    async fn make<'a>(&'a self, path: &str, acl: impl Fn(&str) -> &'a NodeAcl) -> Result<(), RequestError> {
        // The root has an empty path.
        let mut missing: Vec<_> = [path].into_iter().filter(|path| !path.is_empty()).collect();
        while let Some(path) = missing.last() {
            let made = self.create_unless_there((path, b""), zk::CreateMode::Container, acl(path)).await;
            match (made, path.rsplit_once('/')) {
                (Ok(()), _) => drop(missing.pop()),
                (Err(RequestError::NoNode), Some((parent, _))) if !parent.is_empty() => missing.push(parent),
                (Err(error), _) => return Err(error),
            }
        }
        Ok(())
    }

    /// Creates a node below an existing parent. A node that exists already stays as it is.
    async fn create_unless_there(
        &self,
        (path, data): (&str, &[u8]),
        mode: zk::CreateMode,
        acl: &NodeAcl,
    ) -> Result<(), RequestError> {
        length::check_create(path, data, acl.acls())?;
        let options = mode.with_acls(acl.acls());
        match self.send(Ack::Write, async |client| client.create(path, data, &options).await).await {
            Ok(_) | Err(RequestError::Refused(Refusal::NodeExists)) => Ok(()),
            Err(error) => Err(error.lacking(Permission::Create)),
        }
    }

    /// Sends a request that gets an answer of this kind and changes nothing.
    pub(crate) async fn heartbeat(&self, kind: Ack) -> Result<(), RequestError> {
        match kind {
            Ack::Read => self.stat("/").await.map(drop),
            Ack::Write => self.send(kind, async |client| check(client).await).await,
        }
    }

    /// Has the server catch up: commits a transaction that changes nothing. Everything that was proposed before it is
    /// visible to requests that are sent behind it. It is refused only by a quorum, and that serves as well.
    ///
    /// A `sync` would not do. A leader answers it at once, even if earlier proposals are not committed yet
    /// (`ProposalRequestProcessor`).
    async fn catch_up(&self) -> Result<(), RequestError> {
        unless_refused(self.heartbeat(Ack::Write).await)
    }

    /// Waits until there is a connection, or the session is over.
    pub(crate) async fn connected(&self) {
        self.client().await.ok();
    }

    /// Returns the present connection, or waits for the next one.
    async fn client(&self) -> Result<Arc<Live>, RequestError> {
        if let Channel::Open(connection) = &*self.channel.borrow() {
            return Ok(connection.clone());
        }
        let mut channel = self.channel.subscribe();
        match channel.wait_for(|channel| !matches!(channel, Channel::Broken)).await.as_deref() {
            Ok(Channel::Open(connection)) => Ok(connection.clone()),
            _ => Err(RequestError::SessionOver),
        }
    }

    /// Sends a request on the present connection, or on the next one.
    async fn send<T, E: Into<RequestError>>(
        &self,
        ack: Ack,
        request: impl AsyncFnOnce(&Live) -> Result<T, E>,
    ) -> Result<T, RequestError> {
        let client = self.client().await?;
        let sent = Instant::now();
        let outcome = request(&client).await;
        self.note(ack, sent, outcome)
    }

    /// Performs these steps in one transaction. A failure has the index of the step that was refused, if it was one.
    async fn transact(
        &self,
        client: &Live,
        steps: &[Step<'_>],
    ) -> Result<Vec<zk::MultiWriteResult>, (Option<usize>, RequestError)> {
        let mut writer = length::transaction(client, steps).map_err(|error| (None, error))?;
        let (sent, mut refused) = (Instant::now(), None);
        let outcome = writer.commit().await.map_err(|error| match error {
            zk::MultiWriteError::RequestFailed { source } => RequestError::from(source),
            zk::MultiWriteError::OperationFailed { index, source } => {
                refused = Some(index);
                let error = RequestError::from(source);
                match steps.get(index) {
                    Some(step) => error.lacking(step.permission()),
                    None => error,
                }
            }
        });
        self.note(Ack::Write, sent, outcome).map_err(|error| (refused, error))
    }

    /// Reports the outcome of a request to the lease clock; `sent` is no later than the time of sending.
    fn note<T, E: Into<RequestError>>(
        &self,
        ack: Ack,
        sent: Instant,
        outcome: Result<T, E>,
    ) -> Result<T, RequestError> {
        let outcome = outcome.map_err(|error| match ack {
            // Only requests that read the data or the children of a node can be denied.
            Ack::Read => error.into().lacking(Permission::Read),
            Ack::Write => error.into(),
        });
        self.clock.answered(ack, sent, &outcome);
        match ack {
            Ack::Read => self.tally.reads.add_one(),
            Ack::Write => self.tally.writes.add_one(),
        }
        outcome
    }
}

/// Has the server of a new connection catch up, so that it answers nothing that is older than the session knows.
pub(super) async fn fence(connection: &Live) -> Result<(), RequestError> {
    unless_refused(check(connection).await.map_err(RequestError::from))
}

/// Commits a transaction that changes nothing.
async fn check(connection: &Live) -> Result<(), zk::Error> {
    let mut writer = connection.new_multi_writer();
    writer.add_check_version("/", -1)?;
    writer.commit().await.map(drop).map_err(zk::Error::from)
}

/// A refusal of a quorum shows as much as its consent.
fn unless_refused(outcome: Result<(), RequestError>) -> Result<(), RequestError> {
    match outcome {
        Err(RequestError::NoNode | RequestError::Denied(_) | RequestError::Refused(_)) => Ok(()),
        outcome => outcome,
    }
}
