//! Sets watches on nodes and on lists of children.

use futures_util::future::TryFutureExt;
use zookeeper_client as zk;

use crate::session::clock::Ack;
use crate::session::connection::Live;
use crate::session::fault::Fault;
use crate::session::watches::Watch;

use super::{Children, Ops};

/// A node that is watched.
pub(crate) struct Watched {
    pub(crate) watch: Watch,
    pub(crate) data: Vec<u8>,
    /// The session that owns an ephemeral node, or zero.
    pub(crate) owner: i64,
    /// The server time at which the node was created, in milliseconds.
    pub(crate) created_ms: i64,
    /// The connection that has answered.
    pub(crate) connection: u64,
}

impl Ops {
    /// Watches an existing node for its deletion and for changes of its data.
    ///
    /// The watch is set by reading the data. A watch set by `exists` on a node that is gone would
    /// stay forever (CURATOR-107).
    pub(crate) async fn watch_node(&self, path: &str) -> Result<Watched, Fault> {
        let client = self.client().await?;
        let sent = self.clock.now();
        let watched = client.get_and_watch_data(path).await;
        let (data, stat, watcher) = self.note(Ack::Read, sent, watched)?;
        Ok(Watched {
            watch: Watch::of(watcher, &client),
            data,
            owner: stat.ephemeral_owner,
            created_ms: stat.ctime,
            connection: client.number,
        })
    }

    /// Issues a list of children, with a watch.
    pub(super) fn listing<'a>(
        &self,
        client: &'a Live,
        dir: &'a str,
    ) -> impl Future<Output = Result<Children, zk::Error>> + Send + use<'a> {
        let request = client.list_and_watch_children(dir);
        request.map_ok(|(names, watcher)| Children { names, watch: Watch::of(watcher, client) })
    }
}
