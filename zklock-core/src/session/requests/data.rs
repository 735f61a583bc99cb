//! Performs the requests that read and write the data of nodes.

use std::sync::Arc;

use tokio::join;
use zookeeper_client as zk;

use crate::connection::Live;
use crate::error::Permission;
use crate::session::clock::{Ack, Instant};
use crate::session::request_error::RequestError;

use super::Requests;
use super::length::{Step, check_set_data};

/// The nodes that one write checks: it is applied only if all of them exist.
#[derive(Debug)]
pub(crate) struct Guards(Vec<Arc<str>>);

impl Guards {
    /// Returns the guards of a write under leases, for `lease::share` alone.
    ///
    /// A write of an earlier holder would pass the checks of a later one of the same nodes. So every write is counted,
    /// and the permit does that.
    pub(crate) fn checking(nodes: Vec<Arc<str>>) -> Self {
        Self(nodes)
    }

    /// Returns the guards of a write that needs no lease.
    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    /// Returns a check that each of the nodes exists.
    fn checks(&self) -> impl Iterator<Item = Step<'_>> {
        self.0.iter().map(|guard| Step::Check(guard))
    }
}

/// A write that is applied only if all of its guard nodes exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    SetData(Vec<u8>),
    /// Sets the data of a node that has this version.
    Replace {
        version: i32,
        data: Vec<u8>,
    },
    Create(Vec<u8>),
    /// Creates the node, and this many of its parents as persistent nodes without data.
    CreateBelow {
        parents: usize,
        data: Vec<u8>,
    },
    Delete,
}

/// The outcome of a request that is applied only if all of its guard nodes exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guarded<T> {
    Applied(T),
    /// The request was not applied: the guard node with this index does not exist.
    Unguarded(usize),
}

impl Requests {
    /// Writes to `path` in one transaction with a check that all of `guards` exist.
    ///
    /// Returns the server time at which data was set, in milliseconds. That of a create is not known, because servers
    /// before 3.7.2 and 3.8.2 do not return it for one in a transaction (ZOOKEEPER-4026).
    pub(crate) async fn guarded(
        &self,
        guards: Guards,
        path: &str,
        write: &Write,
    ) -> Result<Guarded<Option<i64>>, RequestError> {
        let client = self.client().await?;
        let (own, above) = (self.acls.own.acls(), self.acls.parents.acls());
        let persistent = |path, data, acls| Step::Create(path, data, zk::CreateMode::Persistent, acls);
        let mut steps: Vec<_> = guards.checks().collect();
        match write {
            Write::SetData(data) => steps.push(Step::SetData(path, data, None)),
            Write::Replace { version, data } => steps.push(Step::SetData(path, data, Some(*version))),
            Write::Create(data) => steps.push(persistent(path, data, own)),
            Write::CreateBelow { parents, data } => {
                let parents = parents_of(path, *parents).into_iter().rev();
                steps.extend(parents.map(|parent| persistent(parent, b"", above)));
                steps.push(persistent(path, data, own));
            }
            Write::Delete => steps.push(Step::Delete(path, None)),
        }
        self.guarded_by(&guards, &client, &steps).await
    }

    /// Reads the data of a node, and looks behind that whether all of `guards` exist, in one round trip. The data is `None`
    /// if there is no node.
    ///
    /// A server answers the requests of a session in their order, and a name is never given twice. Guards that exist
    /// behind the read existed at its time.
    pub(crate) async fn read_guarded(
        &self,
        guards: Guards,
        path: &str,
    ) -> Result<Guarded<Option<Vec<u8>>>, RequestError> {
        let client = self.client().await?;
        let checks: Vec<_> = guards.checks().collect();
        let sent = Instant::now();
        let read = client.get_data(path);
        let (read, looked) = join!(read, self.guarded_by(&guards, &client, &checks));
        let read = self.note(Ack::Read, sent, read);
        match (looked?, read) {
            (Guarded::Unguarded(index), _) => Ok(Guarded::Unguarded(index)),
            (Guarded::Applied(_), Ok((data, _))) => Ok(Guarded::Applied(Some(data))),
            (Guarded::Applied(_), Err(RequestError::NoNode)) => Ok(Guarded::Applied(None)),
            (Guarded::Applied(_), Err(error)) => Err(error),
        }
    }

    /// Performs steps that begin with the checks of `guards`. Returns the time at which the last one has set data.
    async fn guarded_by(
        &self,
        guards: &Guards,
        client: &Live,
        steps: &[Step<'_>],
    ) -> Result<Guarded<Option<i64>>, RequestError> {
        match self.transact(client, steps).await {
            Ok(results) => Ok(Guarded::Applied(match results.last() {
                Some(zk::MultiWriteResult::SetData { stat }) => Some(stat.mtime),
                _ => None,
            })),
            Err((Some(index), RequestError::NoNode)) if index < guards.0.len() => {
                Ok(Guarded::Unguarded(index))
            }
            Err((_, error)) => Err(error),
        }
    }

    /// Replaces the data of a node. If a version is given, the node must have it.
    pub(crate) async fn write(
        &self,
        path: &str,
        data: &[u8],
        version: Option<i32>,
    ) -> Result<(), RequestError> {
        check_set_data(path, data)?;
        let written = self.send(Ack::Write, async |client| client.set_data(path, data, version).await).await;
        written.map(drop).map_err(|error| error.lacking(Permission::Write))
    }

    /// Creates a persistent node below an existing parent. A node that exists already stays as it is.
    pub(crate) async fn seed(&self, path: &str, data: &[u8]) -> Result<(), RequestError> {
        self.create_unless_there((path, data), zk::CreateMode::Persistent, &self.acls.own).await
    }
}

/// Returns the nearest parents of a node, up to this number, beginning with the nearest one.
fn parents_of(path: &str, count: usize) -> Vec<&str> {
    let parents = path.rmatch_indices('/').map(|(end, _)| &path[..end]);
    parents.filter(|parent| !parent.is_empty()).take(count).collect()
}

#[cfg(feature = "metrics")]
#[cfg(test)]
mod tests {
    use zklock_testkit::EmbeddedServer;

    use crate::client::config::Config;
    use crate::session::Session;
    use crate::tasks::Tasks;

    use super::*;

    async fn open() -> (EmbeddedServer, Arc<Session>) {
        let server = EmbeddedServer::start().unwrap();
        let settings = Config::new(server.connect_string()).validated().unwrap();
        (server, settings.opening.open(&Tasks::started()).await.unwrap())
    }

    #[tokio::test]
    async fn a_write_whose_guard_is_gone_is_counted() {
        let (_server, session) = open().await;
        let requests = session.requests();
        let guards = Guards::checking(vec!["/gone".into()]);
        let write = Write::Create(Vec::new());
        assert_eq!(requests.guarded(guards, "/a", &write).await.unwrap(), Guarded::Unguarded(0));
        assert_eq!((requests.tally().reads.get(), requests.tally().writes.get()), (0, 2), "behind the fence");
    }

    #[tokio::test]
    async fn each_request_for_the_parents_of_a_lock_is_counted() {
        let (_server, session) = open().await;
        let requests = session.requests();
        // `c`, `b` and `a` from below, of which the last one is created, and then the others.
        requests.prepare_parents("/a/b/c").await.unwrap();
        assert_eq!((requests.tally().reads.get(), requests.tally().writes.get()), (0, 6));
        requests.prepare_parents("/a/b/c").await.unwrap();
        assert_eq!(requests.tally().writes.get(), 7);
    }
}
