//! Detects that an own node is gone although this client did not delete it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::Session;
use super::drive::Driver;
use super::fault::Fault;
use super::notice::{Change, OWN_INTERVAL, Subject, Watch};

impl Driver {
    /// Resolves when the own node, at this path, is gone. Never resolves if that cannot be known.
    ///
    /// A contender that waited long watches its own node already. For others, listing the children also set a
    /// watch, which takes no extra request and fires when the own node is deleted. If it fires for another
    /// reason, or if the contender knew without a list that it was first, a watch on the own node is set after
    /// [`MOMENT`]. Most locks are released within that time, and that watch is not needed.
    pub(crate) fn own_node_gone(&mut self, path: String) -> impl Future<Output = ()> + use<> {
        let (session, children, absence) = (self.session.clone(), self.children.take(), self.absence.take());
        async move {
            match (absence, children) {
                // The other watch is kept, because dropping it would cost a request to remove it.
                (Some(absence), _children) => return absence.await,
                (None, Some(children)) => children.changed().await,
                (None, None) => {}
            }
            sleep(MOMENT).await;
            gone(session, path).await;
        }
    }
}

/// Resolves when the node with this watch is gone.
pub(super) async fn gone_from(session: Arc<Session>, path: String, mut watch: Watch) {
    if watch.change().await == Change::Other {
        gone(session, path).await;
    }
}

/// Resolves when the node is gone. Never resolves if the server refuses the watch or the session is over.
pub(super) async fn gone(session: Arc<Session>, path: String) {
    loop {
        let fault = match session.ops().watch(Subject::Own, &path).await {
            Ok(Some(watch)) => {
                watch.changed().await;
                continue;
            }
            Ok(None) => match session.ops().exists(&path).await {
                Ok(true) => {
                    sleep(OWN_INTERVAL).await;
                    continue;
                }
                Ok(false) => return,
                Err(fault) => fault,
            },
            Err(fault) => fault,
        };
        match fault {
            Fault::NoNode => return,
            Fault::Unknown(_) => sleep(PAUSE).await,
            Fault::Denied | Fault::Refused(_) | Fault::SessionOver => std::future::pending().await,
        }
    }
}

/// The delay before a holder requests a watch on its own node.
const MOMENT: Duration = Duration::from_millis(5);
/// The pause between attempts to set a watch.
const PAUSE: Duration = Duration::from_secs(1);
