//! Sets watches on nodes and on lists of children.

use futures_util::future::{Either, FutureExt, TryFutureExt};
use zookeeper_client as zk;

use crate::session::clock::Ack;
use crate::session::fault::Fault;
use crate::session::notice::{Change, Kind, OWN_INTERVAL, Share, Subject, Watch};

use super::{Children, Ops};

/// A node that is watched.
pub(crate) struct Watched {
    pub(crate) watch: Watch,
    pub(crate) data: Vec<u8>,
    /// The session that owns an ephemeral node, or zero.
    pub(crate) owner: i64,
    /// The server time at which the node was created, in milliseconds.
    pub(crate) created_ms: i64,
}

impl Watched {
    fn new(data: Vec<u8>, stat: &zk::Stat, watch: Watch) -> Self {
        Self { watch, data, owner: stat.ephemeral_owner, created_ms: stat.ctime }
    }
}

impl Ops {
    /// Watches an existing node for its deletion and for changes of its data. Returns `None`, without a
    /// request, if there is no room for a watch.
    ///
    /// The watch is set by reading the data. A watch set by `exists` on a node that is gone would
    /// stay forever (CURATOR-107).
    pub(crate) async fn watch_node(&self, subject: Subject, path: &str) -> Result<Option<Watched>, Fault> {
        let client = self.client()?;
        let Some(share) = self.watched.share(subject, Kind::Data, path) else {
            return Ok(None);
        };
        let sent = self.clock.now();
        let watched = client.get_and_watch_data(path).await;
        let (data, stat, watcher) = self.note(Ack::Read, sent, watched)?;
        Ok(Some(Watched::new(data, &stat, change(watcher, share))))
    }

    /// Does the same with an own node, and polls it if there is no room for a watch.
    pub(crate) async fn watch_or_poll(&self, path: &str) -> Result<Watched, Fault> {
        if let Some(watched) = self.watch_node(Subject::Own, path).await? {
            return Ok(watched);
        }
        let client = self.client()?;
        let sent = self.clock.now();
        let (data, stat) = self.note(Ack::Read, sent, client.get_data(path).await)?;
        Ok(Watched::new(data, &stat, Watch::Pause(OWN_INTERVAL)))
    }

    /// Reserves room for a watch. Returns `None` if there is none.
    pub(crate) fn room(&self, subject: Subject, kind: Kind, path: &str) -> Option<Share> {
        self.watched.share(subject, kind, path)
    }

    /// Issues a list of children, with a watch if the budget allows one.
    pub(super) fn listing<'a>(
        &self,
        client: &'a zk::Client,
        dir: &'a str,
    ) -> impl Future<Output = Result<Children, zk::Error>> + Send + use<'a> {
        match self.watched.share(Subject::Own, Kind::Children, dir) {
            Some(share) => {
                let request = client.list_and_watch_children(dir);
                Either::Left(
                    request.map_ok(|(names, watcher)| Children { names, watch: change(watcher, share) }),
                )
            }
            None => {
                let request = client.list_children(dir);
                let watch = Watch::Pause(OWN_INTERVAL);
                Either::Right(request.map_ok(|names| Children { names, watch }))
            }
        }
    }
}

/// Returns the watch of the client library as one that gives its share back.
pub(super) fn change(watcher: zk::OneshotWatcher, share: Share) -> Watch {
    let fires = watcher.changed().map(|event| match event.event_type {
        zk::EventType::NodeDeleted => Change::Deleted,
        _ => Change::Other,
    });
    Watch::event(fires, share)
}
