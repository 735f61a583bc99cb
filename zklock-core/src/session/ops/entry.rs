//! Creates contenders.

use futures_util::future::{OptionFuture, TryFutureExt};
use tokio::join;
use zookeeper_client as zk;

use crate::error::Permission;
use crate::queue::acquisition::Node;
use crate::queue::contender::ContenderId;
use crate::queue::predicate::Role;
use crate::session::clock::Ack;
use crate::session::connection::Live;
use crate::session::fault::Fault;
use crate::session::watches::Watch;

use super::request::Length;
use super::{Children, Ops};

/// A contender to be created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newcomer<'a> {
    /// The path of the queue.
    pub(crate) dir: &'a str,
    pub(crate) id: ContenderId,
    pub(crate) role: Role,
    pub(crate) data: &'a [u8],
}

impl Entry {
    /// Returns the outcomes of a create that failed.
    fn failed(fault: Fault) -> Self {
        Self { node: Err(fault), children: None, queue: None }
    }
}

impl Newcomer<'_> {
    /// Returns the path to create, to which the server appends the number.
    pub(crate) fn path(&self) -> String {
        self.id.node_path(self.dir, self.role)
    }
}

/// The requests that are sent together with a create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flight {
    Nothing,
    List,
    /// A list, and a watch on the data of the queue's node.
    ListAndWatch,
}

/// The outcomes of creating a contender, and of the requests in the same flight.
pub(crate) struct Entry {
    pub(crate) node: Result<Node, Fault>,
    pub(crate) children: Option<Children>,
    pub(crate) queue: Option<Queue>,
}

/// The node of a queue, with the watch that signals a change of its data or its deletion.
pub(crate) struct Queue {
    pub(crate) watch: Watch,
    /// The zxid of its creation.
    pub(crate) zxid: i64,
}

impl Ops {
    /// Creates a contender, and sends the requests of its flight in the same round trip.
    pub(crate) async fn enter(&self, newcomer: Newcomer<'_>, flight: Flight) -> Entry {
        let Newcomer { dir, data, .. } = newcomer;
        let client = match self.client().await {
            Ok(client) => client,
            Err(over) => return Entry::failed(over),
        };
        let path = newcomer.path();
        let acls = self.acls.own.acls();
        if let Err(fault) = Length::of_create(&path, data, acls).check() {
            return Entry::failed(fault);
        }
        let options = zk::CreateMode::EphemeralSequential.with_acls(acls);
        let sent = self.clock.now();
        let create = client.create(&path, data, &options);
        let list = match flight {
            Flight::Nothing => None,
            Flight::List | Flight::ListAndWatch => Some(self.listing(&client, dir)),
        };
        let watch = match flight {
            Flight::Nothing | Flight::List => None,
            Flight::ListAndWatch => Some(watching(&client, dir)),
        };
        let (created, listed, watched) = join!(create, OptionFuture::from(list), OptionFuture::from(watch));
        let created = self.note(Ack::Write, sent, created);
        let created = created.map_err(|fault| fault.lacking(Permission::Create));
        let node = created.map(|(stat, sequence)| Node {
            // The server prints the number as a signed 32-bit number, and the library widens it.
            name: format!("{}{:010}", &path[dir.len() + 1..], sequence.into_i64()),
            zxid: stat.czxid,
            owner: stat.ephemeral_owner,
        });
        let children = listed.and_then(|listed| self.note(Ack::Read, sent, listed).ok());
        let queue = watched.and_then(|watched| self.note(Ack::Read, sent, watched).ok());
        Entry { node, children, queue }
    }
}

/// Issues a read of the queue's node with a watch.
fn watching<'a>(
    client: &'a Live,
    dir: &'a str,
) -> impl Future<Output = Result<Queue, zk::Error>> + Send + use<'a> {
    let read = client.get_and_watch_data(dir);
    read.map_ok(|(_, stat, watcher)| Queue { watch: Watch::of(watcher, client), zxid: stat.czxid })
}
