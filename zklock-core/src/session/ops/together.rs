//! Creates contenders in several queues by one transaction, and deletes several nodes by one.

use std::iter;
use std::sync::atomic::Ordering;

use futures_util::future::{OptionFuture, join_all};
use tokio::join;
use zookeeper_client as zk;

use crate::error::Permission;
use crate::queue::acquisition::Node;
use crate::queue::contender::Sequence;
use crate::session::clock::{Ack, Moment};
use crate::session::fault::Fault;

use super::entry::{Entry, Flight, Newcomer, Queue};
use super::request::Transaction;
use super::{Children, Ops};

/// A contender that is created together with others, and the requests in the same flight.
pub(crate) struct Member<'a> {
    pub(crate) newcomer: Newcomer<'a>,
    pub(crate) flight: Flight,
    /// The number that the contender gets unless another client has been in the queue.
    pub(crate) expected: Option<Sequence>,
}

/// The answers to the requests in the flight of one member, as far as they are of use.
struct Surroundings {
    children: Option<Children>,
    /// The zxid of the last change of the children, if the list shows only one.
    last_change: Option<i64>,
    queue: Option<Queue>,
}

/// The zxid of a node, and its owner if that is known.
type Stat = Result<(i64, Option<i64>), Fault>;

/// The node of a member, as the transaction reports it.
struct Created {
    path: String,
    /// `None` from servers before 3.7.2 and 3.8.2 (ZOOKEEPER-4026, ZOOKEEPER-4667).
    stat: Option<zk::Stat>,
}

/// The outcome of creating several contenders.
pub(crate) enum Entrance {
    Entered(Vec<Entry>),
    /// None was created, because the node whose data was to be set has another name than expected, or may not be
    /// written.
    Overtaken,
    Failed(Fault),
}

impl Ops {
    /// Creates a contender for each member, or none, and sends the requests of their flights in the same round trip.
    ///
    /// `session` is the session of the connection. Servers that leave the stats out may not tell the owner of the nodes.
    pub(crate) async fn enter_together(&self, members: &[Member<'_>], session: i64) -> Entrance {
        let client = match self.client() {
            Ok(client) => client,
            Err(over) => return Entrance::Failed(over),
        };
        let mut writer = match self.creates(&client, members) {
            Ok(writer) => writer,
            Err(fault) => return Entrance::Failed(fault),
        };
        let sent = self.clock.now();
        let created = writer.commit();
        let around = join_all(members.iter().map(|member| self.look_around(&client, member, sent)));
        let (created, around) = join!(created, around);
        let obstacle = match &created {
            Err(zk::MultiWriteError::OperationFailed { index, source }) if *index >= members.len() => {
                Some(source)
            }
            _ => None,
        };
        if let Some(zk::Error::NoAuth) = obstacle {
            self.is_write_denied.store(true, Ordering::Relaxed);
        }
        let is_overtaken = obstacle.is_some();
        let created = created.map_err(|error| Fault::of_transaction(error, |_| Permission::Create));
        let results = match self.note(Ack::Write, sent, created) {
            Err(_) if is_overtaken => return Entrance::Overtaken,
            Err(fault) => return Entrance::Failed(fault),
            Ok(results) => results,
        };
        let (created, told) = read(results);
        if created.len() != members.len() {
            return Entrance::Failed(Fault::Unknown("the server answered another transaction".into()));
        }
        let stats = self.stats(&client, (&created, told), &around).await;
        let entry = |((created, stat), around): ((Created, Stat), Surroundings)| Entry {
            node: stat.map(|(zxid, owner)| created.node(zxid, owner.unwrap_or(session))),
            children: around.children,
            queue: around.queue,
        };
        Entrance::Entered(iter::zip(iter::zip(created, stats), around).map(entry).collect())
    }

    /// Returns the transaction that creates the contenders.
    ///
    /// A server that leaves the stats of new nodes out tells that of a node whose data is set. The transaction therefore
    /// sets the data of the first node whose name is expected, and is refused if the node gets another name.
    fn creates<'a>(
        &self,
        client: &'a zk::Client,
        members: &[Member<'_>],
    ) -> Result<zk::MultiWriter<'a>, Fault> {
        let mut transaction = Transaction::new(client);
        for Member { newcomer, .. } in members {
            let kind = (zk::CreateMode::EphemeralSequential, self.acls.own.acls());
            transaction.create(&newcomer.path(), newcomer.data, kind)?;
        }
        if !self.omits_stats.load(Ordering::Relaxed) || self.is_write_denied.load(Ordering::Relaxed) {
            return transaction.checked();
        }
        let expected = members.iter().find_map(|member| Some((&member.newcomer, member.expected?)));
        if let Some((newcomer, number)) = expected {
            transaction.set_data(&format!("{}{number}", &*newcomer.path()), newcomer.data, None)?;
        }
        transaction.checked()
    }

    /// Issues the requests in the flight of one member.
    fn look_around<'a>(
        &'a self,
        client: &'a zk::Client,
        Member { newcomer, flight, .. }: &Member<'a>,
        sent: Moment,
    ) -> impl Future<Output = Surroundings> + Send + use<'a> {
        let dir = newcomer.dir;
        let list = match flight {
            Flight::Nothing => None,
            Flight::List | Flight::ListAndWatch => Some(self.listing_with_stat(client, dir)),
        };
        let watch = match flight {
            Flight::Nothing | Flight::List => None,
            Flight::ListAndWatch => self.watching(client, dir),
        };
        async move {
            let (listed, watched) = join!(OptionFuture::from(list), OptionFuture::from(watch));
            let listed = listed.and_then(|listed| self.note(Ack::Read, sent, listed).ok());
            let is_single = |(children, _): &&(Children, zk::Stat)| children.names.len() == 1;
            let last_change = listed.as_ref().filter(is_single).map(|(_, stat)| stat.pzxid);
            Surroundings {
                children: listed.map(|(children, _)| children),
                last_change,
                queue: watched.and_then(|watched| self.note(Ack::Read, sent, watched).ok()),
            }
        }
    }

    /// Returns the zxid and the owner of each node, as far as they are known. `told` is a stat that the transaction has
    /// told.
    ///
    /// The nodes have one zxid, because one transaction has created them. A node that is alone in its queue can have the
    /// zxid of the last change there instead: that is greater than those of all earlier contenders, and smaller than those
    /// of all later ones.
    async fn stats(
        &self,
        client: &zk::Client,
        (created, told): (&[Created], Option<zk::Stat>),
        around: &[Surroundings],
    ) -> Vec<Stat> {
        let of = |stat: &zk::Stat| (stat.czxid, Some(stat.ephemeral_owner));
        let complete = created.iter().find_map(|created| created.stat.as_ref());
        self.omits_stats.store(complete.is_none(), Ordering::Relaxed);
        let mut common = complete.or(told.as_ref()).map(of).map(Ok);
        let is_unknown = |around: &Surroundings| around.last_change.is_none();
        if let (None, Some(nth)) = (&common, around.iter().position(is_unknown)) {
            common = Some(self.stat_of(client, &created[nth].path).await.map(|stat| of(&stat)));
        }
        let stat = |around: &Surroundings| match (&common, around.last_change) {
            (Some(common), _) => common.clone(),
            (None, last_change) => last_change.map(|zxid| (zxid, None)).ok_or_else(gone),
        };
        around.iter().map(stat).collect()
    }

    /// Returns the stat of a node that was created. A failure does not tell whether it was.
    async fn stat_of(&self, client: &zk::Client, path: &str) -> Result<zk::Stat, Fault> {
        let sent = self.clock.now();
        match self.note(Ack::Read, sent, client.check_stat(path).await) {
            Ok(stat) => stat.ok_or_else(gone),
            Err(Fault::SessionOver) => Err(Fault::SessionOver),
            Err(fault) => Err(Fault::Unknown(format!("the stat of a new node is not known: {fault:?}"))),
        }
    }

    /// Deletes these nodes by one transaction. Fails if one of them does not exist, or may not be deleted: none is
    /// deleted then.
    pub(crate) async fn delete_together(&self, paths: &[String]) -> Result<(), Fault> {
        let client = self.client()?;
        let mut transaction = Transaction::new(&client);
        for path in paths {
            transaction.delete(path, None)?;
        }
        let mut writer = transaction.checked()?;
        let sent = self.clock.now();
        let deleted = writer.commit().await;
        let deleted = deleted.map_err(|error| Fault::of_transaction(error, |_| Permission::Delete));
        self.note(Ack::Write, sent, deleted).map(drop)
    }
}

impl Created {
    fn node(self, zxid: i64, owner: i64) -> Node {
        let name = self.path.rsplit('/').next().unwrap_or_default().into();
        Node { name, zxid, owner }
    }
}

/// Returns the created nodes, and the stat of one whose data was set.
fn read(results: Vec<zk::MultiWriteResult>) -> (Vec<Created>, Option<zk::Stat>) {
    let (mut created, mut told) = (Vec::with_capacity(results.len()), None);
    for result in results {
        match result {
            zk::MultiWriteResult::Create { path, stat } => {
                created.push(Created { path, stat: Some(stat).filter(|stat| !stat.is_invalid()) });
            }
            zk::MultiWriteResult::SetData { stat } => told = Some(stat),
            _ => {}
        }
    }
    (created, told)
}

fn gone() -> Fault {
    Fault::Unknown("a new node is gone".into())
}
