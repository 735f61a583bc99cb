//! Creates contenders, and queues together with their first one, and replaces them.

use futures_util::future::OptionFuture;
use tokio::join;
use zookeeper_client as zk;
use zookeeper_client::MultiWriteResult::Create as Created;

use crate::error::{Permission, Refusal};
use crate::queue::acquisition::Node;
use crate::queue::predicate::Role;
use crate::session::clock::{Ack, Instant};
use crate::session::queues::Way;
use crate::session::request_error::RequestError;

use super::length::{Step, check_create};
use super::{Children, Requests, Watched};

/// A contender to be created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewNode<'a> {
    /// The path of the queue.
    pub(crate) dir: &'a str,
    /// The path to create, to which the server appends the number.
    pub(crate) path: &'a str,
    pub(crate) role: Role,
    pub(crate) data: &'a [u8],
}

/// A contender that was created, and what the requests in the same round trip have shown.
pub(crate) struct Entry {
    pub(crate) node: Node,
    pub(crate) children: Option<Children>,
    /// The node of the queue.
    pub(crate) queue: Option<Watched>,
}

impl Requests {
    /// Creates a contender, and sends the other requests of its way into the queue in the same round trip.
    pub(in crate::session) async fn enter(&self, new: NewNode<'_>, way: Way) -> Result<Entry, RequestError> {
        let NewNode { dir, path, data, .. } = new;
        let client = self.client().await?;
        let acls = self.acls.own.acls();
        check_create(path, data, acls)?;
        let options = zk::CreateMode::EphemeralSequential.with_acls(acls);
        let sent = Instant::now();
        let create = client.create(path, data, &options);
        let lists = matches!(way, Way::List | Way::ListAndWatch);
        // Issued by their first poll, which comes at once and in this order.
        let list = OptionFuture::from(lists.then(|| self.list_for(new.role, dir)));
        let watch = OptionFuture::from((way == Way::ListAndWatch).then(|| self.watch_node(dir)));
        let (created, listed, watched) = join!(biased; create, list, watch);
        let created = self.note(Ack::Write, sent, created);
        let (stat, sequence) = created.map_err(|error| error.lacking(Permission::Create))?;
        let node = Node {
            // The server prints the number as a signed 32-bit number, and the library widens it.
            name: format!("{}{:010}", &path[dir.len() + 1..], sequence.into_i64()),
            zxid: stat.czxid,
            owner: stat.ephemeral_owner,
        };
        Ok(Entry { node, children: listed.and_then(Result::ok), queue: watched.and_then(Result::ok) })
    }

    /// Creates a queue and its first contender.
    ///
    /// All nodes of a transaction have one zxid, and that of the queue is in the answer of any server. Servers before 3.7.2
    /// and 3.8.2 leave the contender's stat out (ZOOKEEPER-4026).
    pub(crate) async fn create_queue(&self, new: NewNode<'_>) -> Result<Node, RequestError> {
        let client = self.client().await?;
        let acls = self.acls.own.acls();
        let steps = [
            Step::Create(new.dir, b"", zk::CreateMode::Container, acls),
            Step::Create(new.path, new.data, zk::CreateMode::EphemeralSequential, acls),
        ];
        match &self.transact(&client, &steps).await.map_err(|(_, error)| error)?[..] {
            [Created { stat: queue, .. }, Created { path, stat }] => {
                let is_told = stat.czxid == queue.czxid;
                let owner = if is_told { stat.ephemeral_owner } else { client.session_id().0 };
                Ok(Node { name: path[new.dir.len() + 1..].to_owned(), zxid: queue.czxid, owner })
            }
            _ => Err(RequestError::Unknown("the server answered another transaction".into())),
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
    ) -> Result<(), RequestError> {
        let client = self.client().await?;
        let create = Step::Create(new, data, zk::CreateMode::Ephemeral, self.acls.own.acls());
        match self.transact(&client, &[create, Step::Delete(old, Some(version))]).await {
            Ok(_) | Err((_, RequestError::Refused(Refusal::NodeExists))) => Ok(()),
            Err((_, error)) => Err(error),
        }
    }
}
